"""`manage.py check_false_alarms CORPUS`: does the promise of the novelty detectors hold here?"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from benchmark.management.named_corpus import named_corpus
from benchmark.models import Corpus, Dialogue
from scoring import conformal, encoders
from scoring.corpora import by_outside_name, dialogue_vectors, turns_of
from scoring.novelty_halves import (
    DETECTORS,
    EXACT,
    ConformantDialogues,
    WatchedHalves,
    watch_halves,
)
from scoring.onset_methods import ObservedTurn
from scoring.turn_vectors import scored_turns

ALPHAS = (0.05, 0.10, 0.20)
PERCENT_DECIMALS = 4


class Command(BaseCommand):
    help = (
        "Draw many random halves of the conformant dialogues of each workflow, fit the novelty "
        "detectors on one half, watch the other, and show the mean share of conformant dialogues "
        "that are flagged. Only the exact form promises a share; the others are shown beside it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the corpus with the conformant dialogues")
        parser.add_argument("--encoder", help=f"one of: {', '.join(encoders.names())}")
        parser.add_argument(
            "--alpha", type=float, nargs="+", default=list(ALPHAS), help="between 0 and 1"
        )
        parser.add_argument("--splits", type=int, default=200, help="random halves (default 200)")
        parser.add_argument("--seed", type=int, default=0, help="of the halves (default 0)")
        parser.add_argument("--json", action="store_true", help="one JSON object as the last line")

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = named_corpus(options["slug"])
        if options["splits"] < 1:
            raise CommandError("--splits must be at least 1")
        if options["seed"] < 0:
            raise CommandError("--seed must be 0 or more")
        for alpha in options["alpha"]:
            if not 0 < alpha < 1:
                raise CommandError(f"--alpha is {alpha:g}; it must lie between 0 and 1")
        try:
            encoder = encoders.get(options["encoder"] or settings.ENCODER)
            found = self._watched(corpus, encoder, options)
        except (ValueError, encoders.EncoderUnavailable) as error:
            raise CommandError(str(error)) from error
        report = {
            "corpus": corpus.slug,
            "encoder": encoder.revision,
            "splits": options["splits"],
            "seed": options["seed"],
            "workflows": len(found),
            **_report(list(found.values()), options["alpha"]),
            "by_workflow": {
                name: _report([one], options["alpha"]) for name, one in sorted(found.items())
            },
        }
        self._table(report)
        if options["json"]:
            self.stdout.write(json.dumps(report, allow_nan=False))

    def _watched(
        self, corpus: Corpus, encoder: encoders.Encoder, options: dict[str, Any]
    ) -> dict[str, WatchedHalves]:
        keys = _conformant(corpus)
        if not keys:
            raise CommandError(
                f"Corpus {corpus.slug} has no workflow with two conformant dialogues that have an "
                "assistant turn; there is nothing to part."
            )
        found = {}
        names = tqdm(sorted(keys), unit=" workflows", disable=not sys.stderr.isatty())
        for name in names:
            dialogues = ConformantDialogues(_observed(keys[name], encoder))
            # Seeded by name: a workflow's figures do not depend on the others.
            seed = [options["seed"], *name.encode()]
            found[name] = watch_halves(
                dialogues, options["alpha"], splits=options["splits"], seed=seed
            )
        return found

    def _table(self, report: dict[str, Any]) -> None:
        self.stdout.write(
            f"{report['corpus']}, {report['encoder']}: {report['dialogues']} conformant dialogues "
            f"watched in each of {report['splits']} halves of {report['workflows']} workflows"
        )
        for row in report["rows"]:
            mark = "" if row["detector"] == EXACT else "  (no promise)"
            self.stdout.write(
                f"  alpha {row['alpha']:<5g} {row['detector']:<16} flagged {row['mean']:6.2f} % "
                f"(standard error {row['standard_error']:.2f}; halves {row['least']:.1f} to "
                f"{row['most']:.1f}), expected {row['expectation']:.2f} %{mark}"
            )


def _conformant(corpus: Corpus) -> dict[str, list[int]]:
    """Dialogues by workflow, whatever half they are in; only workflows with two or more."""
    dialogues = (
        Dialogue.objects.filter(corpus=corpus, workflow__isnull=False, forks__isnull=True)
        .conformant()
        .filter(n_assistant_turns__gt=0)
    )
    names = dict(dialogues.values_list("pk", "workflow__name"))
    keys: dict[str, list[int]] = defaultdict(list)
    for pk in by_outside_name(dialogues):
        keys[names[pk]].append(pk)
    return {name: pks for name, pks in keys.items() if len(pks) > 1}


def _observed(keys: Sequence[int], encoder: encoders.Encoder) -> list[list[ObservedTurn]]:
    turns = turns_of(keys)
    vectors = dialogue_vectors(encoder, turns)
    found = []
    for pk in keys:
        places = scored_turns(turns[pk].roles, turns[pk].texts)
        numbers = [turns[pk].numbers[i] for i in places]
        one = vectors[pk]
        rows = zip(numbers, one.roles, one.texts, one.vectors, strict=True)
        found.append([ObservedTurn(*row) for row in rows])
    return found


def _report(found: Sequence[WatchedHalves], alphas: Sequence[float]) -> dict[str, Any]:
    """Shares in percent over all dialogues watched; spreads are between halves."""
    dialogues = sum(one.watched for one in found)
    rows = []
    for i, alpha in enumerate(alphas):
        expected = sum(one.watched * conformal.expectation(one.known, alpha) for one in found)
        for j, detector in enumerate(DETECTORS):
            shares = 100 * sum(one.flagged[:, i, j] for one in found) / dialogues
            error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else 0.0
            row = {
                "mean": shares.mean(),
                "standard_error": error,
                "least": shares.min(),
                "most": shares.max(),
                "expectation": 100 * expected / dialogues,
            }
            rounded = {key: round(float(value), PERCENT_DECIMALS) for key, value in row.items()}
            rows.append({"alpha": alpha, "detector": detector, **rounded})
    return {"dialogues": dialogues, "rows": rows}
