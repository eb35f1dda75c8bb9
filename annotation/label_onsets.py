"""Tables of who finds the first wrong step: people, judges and baselines that read nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_intervals import RESAMPLES, share
from annotation.label_onset_measures import (
    BASELINES,
    FIRST,
    LAST,
    NO_ANSWER,
    NO_REFERENCE,
    WITHIN,
    Truth,
    fixed_guess,
    guess_of,
    guessed,
    truth_of,
)
from annotation.label_pairs import Run, in_order
from annotation.label_type_tables import left_out, number, percent

FARTHEST = 5
MOST_ARCHIVES = 8


def rows_of(truth: Truth, predictors: Sequence[str], within: Sequence[int]) -> list[dict[str, Any]]:
    """One row per predictor, then one per baseline."""
    rows = []
    for name in predictors:
        guess = guess_of(truth, name)
        n = int(guess.labelled.sum())
        rows.append({"predictor": name, "kind": "rater", "runs": n} | guessed(truth, guess, within))
    for name, baseline in BASELINES.items():
        row = {"predictor": name, "kind": "baseline", "runs": len(truth)}
        rows.append(row | baseline(truth, within))
    return rows


def figures(
    runs: Iterable[Run],
    reference: str,
    predictors: Sequence[str] = (),
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    within: Sequence[int] = WITHIN,
    groups: Mapping[int, str] | None = None,
) -> list[Figure]:
    """The first wrong step of each run as `reference` names it, against predictors and baselines.

    `groups` maps keys of runs to a group (a model, say); without it runs are grouped by `archives`.
    Groups have a table of their own where there are two or more.
    """
    given = [run for run in in_order(runs) if reference in run.labels]
    truth = truth_of(given, reference, resamples=resamples, seed=seed)
    out = len(given) - len(truth)
    note = left_out(out, len(given), f"where no step is named by {reference}")
    found = [
        _onsets_figure(truth, reference, predictors, within, note),
        _offsets_figure(truth, reference, predictors, note),
    ]
    parts = _parts(truth, groups, reference, resamples, seed)
    if len(parts) > 1:
        found.insert(1, _groups_figure(parts, reference, predictors, within, note))
    return found


def archives(runs: Sequence[Run]) -> list[str]:
    """Which archive of its corpus each run is from: what stands before the slash of its name.

    Names that make more than MOST_ARCHIVES are paths, not archives; the corpus stands for them.
    """
    names = [run.external_id.partition("/") for run in runs]
    found = [
        first if slash else run.corpus for (first, slash, _), run in zip(names, runs, strict=True)
    ]
    return found if len(set(found)) <= MOST_ARCHIVES else [run.corpus for run in runs]


def _parts(
    truth: Truth, groups: Mapping[int, str] | None, reference: str, resamples: int, seed: int
) -> dict[str, Truth]:
    """The runs of each group, in rising order of the groups; one group is no group."""
    of = archives(truth.runs)
    if groups is not None:
        of = [groups.get(run.pk, run.corpus) for run in truth.runs]
    members: dict[str, list[Run]] = {name: [] for name in sorted(set(of))}
    for run, name in zip(truth.runs, of, strict=True):
        members[name].append(run)
    if len(members) < 2:
        return {}
    return {
        name: truth_of(runs, reference, resamples=resamples, seed=seed)
        for name, runs in members.items()
    }


def _columns(within: Sequence[int], short: bool = False) -> tuple[Column, ...]:
    steps = tuple(
        percent(f"within_{w}", "Exact step" if not w else f"Within {w} step{'s' * (w > 1)}")
        for w in within
    )
    first = (
        Column("predictor", "Predictor"),
        Column("runs", "Runs", "count"),
        *steps,
        percent("agent", "Agent"),
    )
    if short:
        return first
    return (
        *first,
        percent("unanswered", "No step named"),
        percent("before", "Too early"),
        percent("after", "Too late"),
        number("distance", "Mean steps away"),
    )


def _onsets_figure(
    truth: Truth, reference: str, predictors: Sequence[str], within: Sequence[int], note: str
) -> Figure:
    title = f"The first wrong step, as named by {reference}"
    columns, drawn = _columns(within), Drawn("points", "predictor", f"within_{within[0]}")
    if not len(truth):
        return Figure("onsets", title, columns, (), 0, reason=NO_REFERENCE, drawn=drawn)
    rows = rows_of(truth, predictors, within)
    return Figure("onsets", title, columns, rows, len(truth), note=note, drawn=drawn)


def _groups_figure(
    parts: Mapping[str, Truth],
    reference: str,
    predictors: Sequence[str],
    within: Sequence[int],
    note: str,
) -> Figure:
    columns = (Column("group", "Group"), *_columns(within, short=True))
    rows = [
        {"group": name} | row
        for name, truth in parts.items()
        for row in rows_of(truth, predictors, within)
    ]
    title = f"The first wrong step, as named by {reference}, by group of runs"
    drawn = Drawn("points", "predictor", f"within_{within[0]}", "group")
    n = sum(len(truth) for truth in parts.values())
    return Figure("onsets-groups", title, columns, rows, n, note=note, drawn=drawn)


def _offsets_figure(truth: Truth, reference: str, predictors: Sequence[str], note: str) -> Figure:
    """How many steps too early or too late each predictor is."""
    columns = (
        Column("predictor", "Predictor"),
        Column("offset", "Steps late"),
        Column("runs", "Runs", "count"),
        percent("share", "Of answers"),
    )
    title = f"How far from the first wrong step of {reference}"
    drawn = Drawn("heat", "predictor", "share", "offset")
    guesses = [guess_of(truth, name) for name in predictors]
    rows = []
    for guess in [*guesses, *(fixed_guess(truth, name) for name in (FIRST, LAST))]:
        answered = guess.labelled & (guess.step > 0)
        away = np.clip((guess.step - truth.step)[answered], -FARTHEST - 1, FARTHEST + 1)
        counts, n = Counter(away.tolist()), int(answered.sum())
        rows += [
            {"predictor": guess.name, "offset": _offset_word(at), "runs": counts[at]}
            | {"share": share(counts[at], n, NO_ANSWER)}
            for at in range(-FARTHEST - 1, FARTHEST + 2)
        ]
    if not len(truth):
        return Figure("onset-offsets", title, columns, (), 0, reason=NO_REFERENCE, drawn=drawn)
    return Figure("onset-offsets", title, columns, rows, len(truth), note=note, drawn=drawn)


def _offset_word(away: int) -> str:
    if abs(away) <= FARTHEST:
        return f"{away:+d}" if away else "0"
    return f"under -{FARTHEST}" if away < 0 else f"over +{FARTHEST}"
