"""The agent runs of a corpus: filters, keyset pages, the same few statements at any size."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.db.models import Count, Q
from django.db.models.functions import Substr
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.label_records import COMPONENTS, RATER_KINDS, TYPES
from benchmark.models import Corpus, LabelSet, Trajectory, TrajectorySignal
from benchmark.run_filters import LABELLED, SAYS, Choices, choices_of, narrow_runs, warnings_of
from benchmark.views.paging import choice, keyset

# Names that a refusal lists; a corpus may have thousands.
NAMED_AT_MOST = 12
# A list to choose from that is longer becomes a field to type in, with suggestions.
LONGEST_LIST = 60
# Filters that stand in a fold, which is open where one of them is set.
MORE_FILTERS = ("agent", "rater", "says", "type", "component", "signal", "warning")


@dataclass(slots=True)
class Said:
    """What the raters of one kind say of a run, first blind answers only."""

    n: int = 0
    yes: int = 0
    types: set[str] = field(default_factory=set)

    @property
    def in_order(self) -> list[str]:
        return [name for name in TYPES if name in self.types]


@require_safe
def trajectories(request: HttpRequest, slug: str) -> HttpResponse:
    corpus = get_object_or_404(Corpus, slug=slug)
    choices = choices_of(corpus)
    shown = read_filters(request, choices)
    rows = narrow_runs(corpus.trajectories.all(), shown)
    lean = rows.defer("task", "response", "expected", "meta", "digest")
    page = keyset(request, lean.annotate(task_head=Substr("task", 1, 200)))
    return render(
        request,
        "benchmark/trajectories.html",
        {
            "corpus": corpus,
            "page": page,
            "rows": beside(page.rows),
            "n": rows.count(),
            "shown": shown,
            "narrowed": any(shown.values()),
            "kept": urlencode({name: value for name, value in shown.items() if value}),
            "more": [name for name in MORE_FILTERS if shown[name]],
            "choices": choices,
            "types": TYPES,
            "components": COMPONENTS,
            "longest": LONGEST_LIST,
        },
    )


def beside(runs: Sequence[Trajectory]) -> list[tuple[Trajectory, list[Said], dict[str, int]]]:
    """Runs with what raters of each kind say and counts of signals; two statements."""
    keys = [run.pk for run in runs]
    said: dict[tuple[int, str], Said] = defaultdict(Said)
    sets = LabelSet.objects.filter(trajectory__in=keys, post_reveal=False, trial=1).order_by()
    for pk, kind, present, *types in sets.values_list(
        "trajectory_id", "rater__kind", "present", *TYPES
    ):
        cell = said[pk, kind]
        cell.n += 1
        cell.yes += present
        cell.types |= {name for name, held in zip(TYPES, types, strict=True) if held}
    signals: dict[int, dict[str, int]] = defaultdict(lambda: {"n": 0, "yes": 0, "no": 0})
    held = TrajectorySignal.objects.filter(trajectory__in=keys).order_by()
    for pk, value in held.values_list("trajectory_id", "value"):
        signals[pk]["n"] += 1
        signals[pk]["yes"] += value is True
        signals[pk]["no"] += value is False
    order = ("published", "judge", "person")
    none: dict[str, int] = {}
    return [
        (run, [said.get((run.pk, kind), Said()) for kind in order], signals.get(run.pk, none))
        for run in runs
    ]


def read_filters(request: HttpRequest, choices: Choices) -> dict[str, str]:
    """The filters of the query string; BadRequest for a word that no filter knows."""
    return {
        "q": request.GET.get("q", "").replace("\x00", "").strip()[:200],
        "model": known(request, "model", choices.model),
        "question": known(request, "question", choices.question),
        "agent": known(request, "agent", choices.agent),
        "rater": known(request, "rater", choices.rater),
        "says": choice(request, "says", SAYS),
        "type": known(request, "type", TYPES),
        "component": known(request, "component", COMPONENTS),
        "labelled": choice(request, "labelled", LABELLED),
        "signal": known(request, "signal", choices.signal),
        "warning": known(request, "warning", choices.warning),
    }


def known(request: HttpRequest, name: str, allowed: Sequence[str]) -> str:
    """The word in the query string under `name`, "" when absent.

    Raises BadRequest for another word, naming what comes near it and what is allowed.
    """
    text = request.GET.get(name, "")
    if not text or text in allowed:
        return text
    if not allowed:
        raise BadRequest(f"{name} is {text[:40]!r}; the runs of this corpus have none.")
    near = difflib.get_close_matches(text[:200], allowed[:5000], n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    more = len(allowed) - NAMED_AT_MOST
    listed = ", ".join(allowed[:NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")
    raise BadRequest(f"{name} is {text[:40]!r}; it must be one of {listed}.{meant}")


def run_summary(corpus: Corpus) -> dict[str, Any]:
    """Models, raters and warnings of the runs of a corpus with their counts; three statements."""
    runs = corpus.trajectories.order_by().values_list("model")
    models = runs.annotate(n=Count("pk"), asked=Count("question", distinct=True))
    labels = LabelSet.objects.filter(trajectory__corpus=corpus).order_by()
    raters = labels.values("rater__name", "rater__kind", "rater__simulated").annotate(
        runs=Count("trajectory", distinct=True),
        labels=Count("pk"),
        yes=Count("pk", filter=Q(present=True)),
    )
    kinds = {kind: at for at, kind in enumerate(RATER_KINDS)}
    return {
        "models": sorted(models),
        "raters": sorted(raters, key=lambda r: (kinds[r["rater__kind"]], r["rater__name"])),
        "warnings": warnings_of(corpus),
    }
