"""The figures of a report on labels of runs, in the sections in which they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation import label_onsets
from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_pairs import Run
from annotation.label_tables import figures, several_rater_figures, single_rater_figures
from annotation.people_labels import EACH, PEOPLE, Combined, combined
from annotation.review_rows import ReviewRow, runs_of
from annotation.review_tables import conduct_figures, share_of

STUDY_VIEWS = REVIEWS, LABELS = ("reviews", "labels")
# More raters than these are no longer compared two by two: the pairs would fill the page.
MOST_RATERS = 12
TIED = "Of {n} runs as many people say yes as no; they are left out."
EACH_NOTE = "Each review counts by itself, so a run that two people reviewed is counted twice."
Tasks = Mapping[int, Sequence[int | None]]


@dataclass(frozen=True, slots=True)
class Section:
    """Figures under one heading; `name` stands before theirs in addresses, `note` is for readers.

    Names are unique over all sections: `prefix`-`figure`.
    """

    name: str
    title: str
    figures: Sequence[Figure]
    note: str = ""

    def named(self) -> dict[str, Figure]:
        """The figures by their name in addresses."""
        return {f"{self.name}-{figure.name}": figure for figure in self.figures}

    @property
    def empty(self) -> list[Figure]:
        """The figures without a row."""
        return [figure for figure in self.figures if not figure.rows]


def coverage_figure(runs: Sequence[Run], unread: Mapping[str, int]) -> Figure:
    """Who labelled how many of the runs, and how much they say."""
    labels = [label for run in runs for label in run.labels.values()]
    by_rater = Counter(label.rater for label in labels)
    kinds = {label.rater: label for label in labels}
    columns = (
        Column("rater", "Rater"),
        Column("kind", "Kind"),
        Column("model", "Model"),
        Column("runs", "Runs", "count"),
        Column("coverage", "Of all runs", "share"),
        Column("rate", "See a hallucination", "estimate", percent=True),
        Column("typed", "Say which types", "count"),
        Column("placed", "Name a step", "count"),
        Column("unread", "Unreadable answers", "count"),
    )
    rows = []
    for name in sorted({*by_rater, *unread}):
        mine = [label for label in labels if label.rater == name]
        seen = [label for label in mine if label.present]
        rows.append(
            {
                "rater": name,
                "kind": kinds[name].kind if name in kinds else "judge",
                "model": kinds[name].model if name in kinds else "",
                "runs": len(mine),
                "coverage": len(mine) / len(runs) if runs else None,
                "rate": share_of(len(seen), len(mine), "no answer could be read"),
                "typed": sum(bool(label.types) for label in seen),
                "placed": sum(label.onset is not None for label in seen),
                "unread": unread.get(name, 0),
            }
        )
    rows.sort(key=lambda row: (row["kind"], -row["runs"], row["rater"]))
    return Figure(
        "coverage",
        "Who labelled how many runs",
        columns,
        rows,
        len(runs),
        note="Blind first answers, without simulated seats. n counts the runs that are kept.",
        reason="" if rows else "no run has a label yet",
        drawn=Drawn("bars", "rater", "coverage"),
    )


def pair_section(found: Combined, one: str, other: str, *, seed: int, name: str) -> Section:
    """Two raters compared; with reviews that stand for themselves also reviewer by reviewer."""
    pools = found.pools if found.pools and PEOPLE in (one, other) else None
    shown = figures(found.runs, one, other, seed=seed, pools=pools)
    shown += label_onsets.figures(found.runs, one, [other], seed=seed)
    return Section(name, f"{other} against {one}", shown, _note(found, one, other))


def _note(found: Combined, *raters: str) -> str:
    """What a reader must know of how several people became one."""
    if PEOPLE not in raters:
        return ""
    if found.pools:
        return EACH_NOTE
    return TIED.format(n=found.tied) if found.tied else ""


def single_section(
    found: Combined, rater: str, *, seed: int, name: str, tasks: Tasks | None = None
) -> Section:
    """What one rater says of runs; by task too where `tasks` numbers the tasks of any run's steps,
    by key of the run as it is stored."""
    numbers = {key: tasks[run] for key, run in found.keys.items() if run in tasks} if tasks else {}
    return Section(
        name,
        f"Labels of {rater}",
        single_rater_figures(found.runs, rater, seed=seed, tasks=numbers or None),
        _note(found, rater),
    )


def study_sections(
    rows: Sequence[ReviewRow],
    agents: Mapping[int, tuple[str, ...]],
    *,
    seed: int,
    rule: str = EACH,
    views: Collection[str] = STUDY_VIEWS,
    tasks: Tasks | None = None,
) -> list[Section]:
    """The report of one group of a study of runs.

    The view "reviews" holds people among themselves, against the judge, the comparison and the
    work; "labels" what people say of the runs.
    """
    runs = runs_of(rows, agents)
    people = sorted({row.person for row in rows if row.counted})
    found = combined(runs, people, rule)
    sections: list[Section] = []
    if REVIEWS in views:
        sections += _review_sections(rows, runs, people, found, seed)
    if LABELS in views and people:
        sections.append(single_section(found, PEOPLE, seed=seed, name="said", tasks=tasks))
    return sections


def _review_sections(
    rows: Sequence[ReviewRow],
    runs: Sequence[Run],
    people: Sequence[str],
    found: Combined,
    seed: int,
) -> list[Section]:
    judges = sorted({name for run in runs for name in run.labels if name not in people})
    sections = [among_section(runs, people, seed=seed)] if len(people) > 1 else []
    for place, judge in enumerate(judges):
        name = f"judge-{place + 1}" if place else "judge"
        sections.append(pair_section(found, PEOPLE, judge, seed=seed, name=name))
    note = "Given after the blind answers were frozen. Post-reveal answers enter no agreement."
    work = Section("work", "Beside the judge, and the work", conduct_figures(rows), note)
    return [*sections, work]


def among_section(runs: Sequence[Any], people: Collection[str], *, seed: int) -> Section:
    """People among themselves, over the runs that several have reviewed."""
    few = len(people) <= MOST_RATERS
    shown = several_rater_figures(runs, sorted(people), seed=seed, pairs=few)
    note = "" if few else f"{len(people)} people are too many for a table of every two."
    return Section("people", "People among themselves", shown, note)
