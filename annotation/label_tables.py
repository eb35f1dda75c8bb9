"""Everything that two raters' labels, or one rater's, say of runs, as tables.

`figures` compares two raters, `single_rater_figures` describes one, `several_rater_figures` shows
how three or more agree. All are pure: labels in, tables out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from annotation import label_onsets
from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_binary import binary
from annotation.label_cascades import cascade_lengths_figure, cascades_figure, evidence_figure
from annotation.label_group_tables import models_figure, pools_figure
from annotation.label_intervals import NO_RUN, RESAMPLES, share
from annotation.label_location_tables import (
    evidence_figure as evidence_agreement_figure,
)
from annotation.label_location_tables import (
    first_step_figure,
    location_figure,
)
from annotation.label_pairs import LabelPairs, Run, labelled_by, pairs_of
from annotation.label_place_tables import (
    components_figure,
    fifths_figure,
    placed,
    steps_figure,
    tasks_figure,
    type_components_figure,
    type_fifths_figure,
)
from annotation.label_several_tables import several_rater_figures
from annotation.label_single_tables import (
    distribution_figure,
    flags_figure,
    model_types_figure,
    rates_figure,
    sizes_figure,
    together_figure,
)
from annotation.label_structure import (
    agent_types_figure,
    agents_figure,
    aggregators_figure,
    steps_against_runs_figure,
)
from annotation.label_type_tables import (
    crossed_figure,
    missed_figure,
    number,
    percent,
    sets_figure,
    types_figure,
)

__all__ = ["figures", "several_rater_figures", "single_rater_figures"]


# Percentile intervals of a handful of clusters cover less than they say.
FEW = 10


def figures(
    runs: Iterable[Run],
    one: str,
    other: str,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    pools: Mapping[int, str] | None = None,
) -> list[Figure]:
    """Every comparison of two raters over the runs both have labelled, `one` as the reference.

    `pools` maps keys of runs to the pool they belong to (a reviewer, a group of runs); with it
    comes agreement per pool. Raises ValueError where both names are the same.
    """
    pairs = pairs_of(runs, one, other, seed=seed, resamples=resamples)
    found = [
        table_figure(pairs),
        binary_figure(pairs),
        models_figure(pairs),
        types_figure(pairs),
        sets_figure(pairs),
        missed_figure(pairs),
        crossed_figure(pairs),
        location_figure(pairs),
        first_step_figure(pairs),
        steps_against_runs_figure(pairs),
        evidence_agreement_figure(pairs),
    ]
    if pools is not None:
        found.insert(3, pools_figure(pairs, pools))
    return found


def single_rater_figures(
    runs: Iterable[Run],
    rater: str,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    tasks: Mapping[int, Sequence[int | None]] | None = None,
) -> list[Figure]:
    """Everything one rater says of the runs they have labelled.

    `tasks` maps keys of runs to the task number of each of their steps (None: no task); with it
    come the places by task. Raises ValueError where a place or the tasks do not fit the steps.
    """
    kept, labels, draws = labelled_by(runs, rater, seed=seed, resamples=resamples)
    where = placed(kept, labels, draws)
    found = [
        rates_figure(kept, labels),
        distribution_figure(labels, draws),
        sizes_figure(labels),
        together_figure(labels),
        model_types_figure(kept, labels),
        flags_figure(labels),
        components_figure(where),
        type_components_figure(where),
        steps_figure(where),
        fifths_figure(where),
        type_fifths_figure(where),
    ]
    if tasks is not None:
        found.append(tasks_figure(where, tasks))
    return [
        *found,
        agents_figure(where),
        agent_types_figure(where),
        aggregators_figure(where),
        cascades_figure(where),
        cascade_lengths_figure(where),
        evidence_figure(where),
        *_onset_figures(kept, rater, seed, resamples),
    ]


def _onset_figures(runs: Sequence[Run], rater: str, seed: int, resamples: int) -> list[Figure]:
    """What guessing the first step this rater names is worth; nothing where none is named."""
    found = label_onsets.figures(runs, rater, seed=seed, resamples=resamples)
    return [figure for figure in found if figure.rows and figure.name != "onset-offsets"]


def table_figure(pairs: LabelPairs) -> Figure:
    """The two-by-two table."""
    one, other = pairs.one.rater, pairs.other.rater
    columns = (
        Column("one", one),
        Column("other", other),
        Column("runs", "Runs", "count"),
        percent("share", "Share"),
    )
    title = f"Hallucination seen by {one} and by {other}"
    counts, _ = binary(pairs.draws, pairs.one.present, pairs.other.present)
    cells = zip(
        ("yes", "yes", "no", "no"), ("yes", "no", "yes", "no"), counts.values(), strict=True
    )
    n = len(pairs)
    rows = [{"one": a, "other": b, "runs": k, "share": share(k, n)} for a, b, k in cells]
    drawn = Drawn("heat", "other", "runs", "one")
    return Figure(
        "table", title, columns, rows if n else (), n, reason="" if n else NO_RUN, drawn=drawn
    )


def binary_figure(pairs: LabelPairs) -> Figure:
    """Precision, recall and the coefficients of agreement on whether there is a hallucination."""
    _, found = binary(pairs.draws, pairs.one.present, pairs.other.present)
    columns = (Column("measure", "Measure"), number("value", "Value"))
    title = f"Whether a run hallucinates: {pairs.other.rater} against {pairs.one.rater}"
    words = _measure_words(pairs.one.rater, pairs.other.rater)
    rows = [{"measure": words[name], "value": found[name]} for name in words]
    n, drawn = len(pairs), Drawn("points", "measure", "value")
    note = (
        f"Reference: {pairs.one.rater}. Shares have Wilson intervals; F1 and the "
        f"coefficients have bootstrap intervals over {pairs.draws.clusters} questions"
        f"{_few(pairs.draws.clusters)}."
    )
    if not n:
        return Figure("agreement", title, columns, (), 0, reason=NO_RUN, drawn=drawn)
    return Figure("agreement", title, columns, rows, n, note=note, drawn=drawn)


def _few(questions: int) -> str:
    return ", which are so few that the intervals are too narrow" if 1 < questions < FEW else ""


def _measure_words(one: str, other: str) -> Mapping[str, str]:
    return {
        "rate_one": f"rate of {one}",
        "rate_other": f"rate of {other}",
        "agreement": "agreement",
        "precision": "precision",
        "recall": "recall",
        "specificity": "specificity",
        "f1": "F1",
        "kappa": "kappa",
        "ac1": "AC1",
        "alpha": "alpha",
    }


def by_name(found: Sequence[Figure]) -> dict[str, Figure]:
    """Figures by their names."""
    return {figure.name: figure for figure in found}
