"""Runs of a corpus with their signals and the labels of one rater, as the pure parts take them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark.label_records import SIGNALS, LabelRecord
from benchmark.labelling import LabelledRun, labelled_runs
from benchmark.models import Corpus, TrajectorySignal, TrajectoryStep
from scoring.prefix_signals import SeenStep
from scoring.run_monitor import Watched
from scoring.seen_runs import PEOPLE, truths
from scoring.signals import Signals, signals_of

# The sixth flag of AssetOpsBench's judge, which is its label.
VERDICT = "hallucinations"


@dataclass(frozen=True, slots=True)
class Material:
    """Runs of a corpus as monitors take them, and what there is to choose from.

    `raters` are the names whose labels can be the outcome, with how many runs each has labelled;
    `sources` those who computed signals, with how many runs each; `names` the signals of `source`.
    """

    runs: tuple[Watched, ...]
    raters: tuple[tuple[str, int], ...]
    rater: str
    sources: tuple[tuple[str, int], ...]
    source: str
    names: tuple[str, ...]

    def table(self) -> Signals:
        """The signals of the runs that have a label, in the order of `names`."""
        labelled = [run for run in self.runs if run.present is not None]
        return signals_of(
            [run.signals for run in labelled], [bool(run.present) for run in labelled], self.names
        )


def material(
    corpus: Corpus, *, rater: str = "", source: str = "", with_steps: bool = True
) -> Material:
    """Everything a page of signals needs of `corpus`, in constant queries.

    `rater` is the name of a rater or "majority of people"; without one, or `source`, whoever has
    most is taken. Where two sources compute a signal of the same name they are kept apart by
    choosing one source. Raises ValueError for a name that is not there.
    """
    raters = truths([corpus])
    sources = _sources(corpus)
    rater = _chosen("rater", rater, [name for name, _ in raters])
    source = _chosen("source", source, [name for name, _ in sources], blank=True)
    runs = corpus.trajectories.all()
    labelled = labelled_runs(runs, [] if rater in ("", PEOPLE) else [rater])
    signals = _signals(corpus, source)
    steps = _steps(corpus) if with_steps else {}
    watched = tuple(
        _watched(run, _label(run, rater), signals.get(run.pk, {}), steps.get(run.pk, ()))
        for run in labelled
    )
    found = {name for values in signals.values() for name in values}
    if source == rater:
        # The judge's own verdict would be held against itself.
        found.discard(VERDICT)
    names = (*(n for n in SIGNALS if n in found), *sorted(found - set(SIGNALS)))
    return Material(watched, tuple(raters), rater, tuple(sources), source, names)


def _chosen(what: str, name: str, known: Sequence[str], *, blank: bool = False) -> str:
    if not name and not (blank and "" in known):
        return known[0] if known else ""
    if name not in known:
        there = ", ".join(known) or "none"
        raise ValueError(f"{what} is {name!r:.80}; there are: {there}")
    return name


def _sources(corpus: Corpus) -> list[tuple[str, int]]:
    rows = TrajectorySignal.objects.filter(trajectory__corpus=corpus)
    counts: Counter[str] = Counter()
    for source, _ in set(rows.values_list("source", "trajectory_id")):
        counts[source] += 1
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def _signals(corpus: Corpus, source: str) -> Mapping[int, dict[str, bool | None]]:
    found: dict[int, dict[str, bool | None]] = defaultdict(dict)
    rows = TrajectorySignal.objects.filter(trajectory__corpus=corpus, source=source)
    for pk, name, value in rows.values_list("trajectory_id", "name", "value"):
        found[pk][name] = value
    return found


def _steps(corpus: Corpus) -> Mapping[int, list[SeenStep]]:
    found: dict[int, list[SeenStep]] = defaultdict(list)
    rows = TrajectoryStep.objects.filter(trajectory__corpus=corpus)
    fields = ("agent", "thought", "action", "observation", "response", "meta")
    for pk, *step in rows.order_by("trajectory_id", "position").values_list(
        "trajectory_id", *fields
    ):
        found[pk].append(SeenStep(*step))
    return found


def _label(run: LabelledRun, rater: str) -> LabelRecord | bool | None:
    if rater != PEOPLE:
        return run.labels.get(rater)
    said = [label.present for label in run.labels.values() if label.kind == "person"]
    yes = sum(said)
    return None if 2 * yes == len(said) else 2 * yes > len(said)


def _watched(
    run: LabelledRun,
    label: LabelRecord | bool | None,
    signals: Mapping[str, bool | None],
    steps: Sequence[SeenStep],
) -> Watched:
    record = label if isinstance(label, LabelRecord) else None
    present = record.present if record else label if isinstance(label, bool) else None
    onset = record.onset if record else None
    return Watched(run.pk, run.external_id, steps, signals, present, onset, run.model)
