"""Prompts, raters and judge answers of a release become rows again, once.

Raters come before the labels that name them, judge answers after the labels they were read as.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.validators import slug_re
from django.db import transaction

from benchmark.label_records import RATER_KINDS
from benchmark.models import Corpus, JudgeAnswer, JudgePrompt, LabelSet, Rater, Trajectory
from benchmark.records import BadRecord

Row = Mapping[str, Any]
READ = JudgeAnswer.Status.READ


@transaction.atomic
def restore_raters(prompts: Iterable[Row], raters: Iterable[Row]) -> None:
    """Make the raters of a release that are not here, with their prompts.

    Raises BadRecord where a prompt's name is no slug (its page could not be linked), a prompt of
    this name and version has other words here, or a rater of this name is another one.
    """
    for row in prompts:
        if not slug_re.fullmatch(row["name"]):
            reason = "the name of a prompt holds letters, digits, - and _ only"
            raise BadRecord(row["where"], f"{reason}; it is {row['name']!r:.80}")
        prompt, _ = JudgePrompt.objects.get_or_create(
            name=row["name"],
            version=row["version"],
            defaults={
                "variant": row["axes"],
                **{name: row[name] for name in ("text", "digest", "variant_set")},
            },
        )
        if prompt.digest != row["digest"] or prompt.text != row["text"]:
            which = f"{row['name']} version {row['version']}"
            raise BadRecord(row["where"], f"the prompt {which} is here with other words")
    for row in raters:
        _restore_rater(row)


def _restore_rater(row: Row) -> None:
    if row["kind"] not in RATER_KINDS:
        raise BadRecord(row["where"], f"kind must be one of {', '.join(RATER_KINDS)}")
    prompt = None
    if row["prompt"]:
        held = JudgePrompt.objects.filter(name=row["prompt"], version=row["prompt_version"])
        prompt = held.first()
        if prompt is None:
            raise BadRecord(row["where"], f"the prompt {row['prompt']} is not in the release")
    names = ("kind", "model", "simulated", "meta")
    rater, _ = Rater.objects.get_or_create(
        name=row["name"], defaults={"prompt": prompt, **{name: row[name] for name in names}}
    )
    if (rater.kind, rater.model, rater.prompt) != (row["kind"], row["model"], prompt):
        raise BadRecord(row["where"], f"the rater {row['name']} is here already, and is another")


@transaction.atomic
def restore_answers(corpora: Mapping[str, Corpus], rows: Iterable[Row]) -> Counter[str]:
    """Store the judge answers of a release; how many were "new" and "unchanged".

    `corpora` gives the corpus for each name in the rows. Raises BadRecord where the run, the rater
    or the label an answer was read as is not there, or another answer is.
    """
    raters = dict(Rater.objects.values_list("name", "pk"))
    counts: Counter[str] = Counter()
    for row in rows:
        run = Trajectory.objects.filter(
            corpus=corpora.get(row["corpus"]), format=row["format"], external_id=row["trajectory"]
        ).first()
        if run is None or row["rater"] not in raters:
            missing = row["trajectory"] if run is None else row["rater"]
            raise BadRecord(row["where"], f"{missing} is not there")
        counts["new" if _store_answer(run, raters[row["rater"]], row) else "unchanged"] += 1
    return counts


def _store_answer(run: Trajectory, rater: int, row: Row) -> bool:
    digest = hashlib.sha256(row["raw"].encode("utf-8", "surrogatepass")).hexdigest()
    key = {"trajectory": run, "rater_id": rater, "trial": row["trial"]}
    held = JudgeAnswer.objects.filter(**key).first()
    if held:
        if held.digest != digest:
            raise BadRecord(row["where"], f"another answer on {run.external_id} is here already")
        return False
    labels = LabelSet.objects.filter(**key, stage="").first() if row["status"] == READ else None
    if row["status"] == READ and labels is None:
        raise BadRecord(row["where"], f"what was read of {run.external_id} is not among the labels")
    if row["status"] != READ and not row["reason"]:
        raise BadRecord(row["where"], "an answer that was not read needs a reason")
    JudgeAnswer.objects.create(
        **key,
        raw=row["raw"],
        digest=digest,
        status=row["status"],
        reason=row["reason"],
        labels=labels,
        meta=row["meta"],
    )
    return True
