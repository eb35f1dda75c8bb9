"""Labels and signals of agent runs become rows, and rows become labels again.

A label is known by its run, rater, trial and stage. The first stands: whoever brings the same again
changes nothing, and whoever brings another is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, QuerySet

from benchmark.label_records import (
    FLAGS,
    PERSON,
    TYPES,
    LabelRecord,
    PlaceRecord,
    SignalRecord,
)
from benchmark.models import (
    LabelPlace,
    LabelSet,
    Rater,
    Trajectory,
    TrajectorySignal,
    TrajectoryStep,
)
from benchmark.records import BadRecord
from benchmark.storing import insert

NEW, UNCHANGED = "new", "unchanged"
# A label that a person gave on an item counts as the item does: not once it has been left before
# its end, when somebody else may have it, nor opened again or practice. Others always count.
_ITEM = {"ended": "", "post_reveal": False, "item__kind": "main"}
_KEPT = Q(review=None) | Q(**{f"review__assignment__{name}": v for name, v in _ITEM.items()})
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """A run with the blind labels that were asked for, by rater name, as statistics need it.

    `labels` holds the first trial of each rater. `agents` are the agents of its steps, in order.
    """

    pk: int
    external_id: str
    corpus: str
    model: str
    question: str
    n_steps: int
    agents: tuple[str, ...]
    labels: Mapping[str, LabelRecord]


def rater_of(record: LabelRecord) -> Rater:
    """The rater that `record` names, made when it is new.

    Raises BadRecord when the name belongs to a rater of another kind.
    """
    rater, _ = Rater.objects.get_or_create(
        name=record.rater, defaults={"kind": record.kind, "model": record.model}
    )
    if rater.kind != record.kind:
        raise BadRecord("rater", f"{record.rater} is here already, as {rater.get_kind_display()}")
    return rater


@transaction.atomic
def store_label(
    trajectory: Trajectory, record: LabelRecord, *, rater: Rater | None = None
) -> LabelSet:
    """Store one label; the stored one when it is there already and says the same.

    Raises BadRecord where a place names a step the run does not have, or another label of this
    rater, trial and stage is stored.
    """
    rater = rater or rater_of(record)
    held = LabelSet.objects.filter(
        trajectory=trajectory, rater=rater, trial=record.trial, stage=record.stage
    ).first()
    if held:
        if not same(records_of([held])[held.pk], record):
            reason = f"{record.rater} has labelled it before, with another answer"
            raise BadRecord(trajectory.external_id, reason)
        return held
    steps = dict(trajectory.steps.values_list("position", "pk"))
    row = _row(trajectory.pk, rater, record)
    row.save()
    insert(LabelPlace, list(_places(row, record, steps, trajectory.external_id)))
    return row


def store_labels(pairs: Sequence[tuple[int, LabelRecord]]) -> list[str | BadRecord]:
    """Store many labels of runs given by key, in constant queries per 500; one outcome per pair.

    Raises nothing: what cannot be stored is a BadRecord in its place, the rest is stored.
    """
    outcomes: list[str | BadRecord] = []
    for start in range(0, len(pairs), AT_ONCE):
        with transaction.atomic():
            outcomes += _store_part(pairs[start : start + AT_ONCE])
    return outcomes


def store_signals(pairs: Sequence[tuple[int, SignalRecord]], *, update: bool = False) -> int:
    """Store signals of runs given by key; returns how many are new or, with `update`, changed.

    A stored signal stays as it is unless `update` is set.
    """
    rows = [
        TrajectorySignal(trajectory_id=pk, name=s.name, value=s.value, source=s.source)
        for pk, s in pairs
    ]
    keys = {row.trajectory_id for row in rows}
    held = {
        (s.trajectory_id, s.name, s.source): s
        for s in TrajectorySignal.objects.filter(trajectory__in=keys)
    }
    fresh = {(r.trajectory_id, r.name, r.source): r for r in rows}
    new = [row for key, row in fresh.items() if key not in held]
    insert(TrajectorySignal, new)
    changed = []
    if update:
        for key, row in fresh.items():
            if key in held and held[key].value != row.value:
                held[key].value = row.value
                changed.append(held[key])
        TrajectorySignal.objects.bulk_update(changed, ["value"], batch_size=AT_ONCE)
    return len(new) + len(changed)


def records_of(rows: Iterable[LabelSet] | QuerySet[LabelSet]) -> dict[int, LabelRecord]:
    """Label sets as records, by key: two queries, whatever their number."""
    held = list(rows)
    raters = Rater.objects.in_bulk({row.rater_id for row in held})
    places: dict[int, list[PlaceRecord]] = defaultdict(list)
    stored = LabelPlace.objects.filter(labels__in=[row.pk for row in held]).order_by("pk")
    for labels, *place in stored.values_list(
        "labels", "step__position", "component", "type", "cause", "evidence__position"
    ):
        places[labels].append(PlaceRecord(*place))
    return {
        row.pk: LabelRecord(
            rater=raters[row.rater_id].name,
            present=row.present,
            types=tuple(row.types),
            flags=tuple(row.flags),
            places=tuple(places[row.pk]),
            rationale=row.rationale,
            kind=raters[row.rater_id].kind,
            model=raters[row.rater_id].model,
            trial=row.trial,
            post_reveal=row.post_reveal,
            stage=row.stage,
            meta=row.meta,
        )
        for row in held
    }


def counted_labels(trajectories: QuerySet[Trajectory]) -> QuerySet[LabelSet]:
    """Labels of the runs that statistics, detectors and signals count: the blind first trials of
    raters who are not simulated, without what was left, withdrawn, opened again or practice."""
    blind = {"post_reveal": False, "trial": 1, "rater__simulated": False}
    within = trajectories.order_by().values("pk")
    return LabelSet.objects.filter(_KEPT, trajectory__in=within, **blind)


def labelled_runs(
    trajectories: QuerySet[Trajectory], raters: Sequence[str] = ()
) -> list[LabelledRun]:
    """Runs with the labels that count (`counted_labels`), in the order of the keys; four queries.

    `raters` restricts the labels to these names. Runs without a label are kept.
    """
    runs = trajectories.order_by("pk").select_related("corpus")
    fields = ("pk", "external_id", "corpus__slug", "model", "question", "n_steps")
    rows = list(runs.values_list(*fields))
    keys = {row[0] for row in rows}
    within = {"trajectory__in": trajectories.order_by().values("pk")}
    agents: dict[int, list[str]] = defaultdict(list)
    steps = TrajectoryStep.objects.filter(**within).order_by("trajectory_id", "position")
    for pk, agent in steps.values_list("trajectory_id", "agent"):
        agents[pk].append(agent)
    sets = counted_labels(trajectories)
    if raters:
        sets = sets.filter(rater__name__in=raters)
    held = list(sets)
    records = records_of(held)
    labels: dict[int, dict[str, LabelRecord]] = defaultdict(dict)
    for row in held:
        if row.trajectory_id in keys:
            labels[row.trajectory_id][records[row.pk].rater] = records[row.pk]
    return [LabelledRun(*row, tuple(agents[row[0]]), labels[row[0]]) for row in rows]


def same(one: LabelRecord, other: LabelRecord) -> bool:
    """Whether two labels say the same, whatever the order of types and places."""

    def content(label: LabelRecord) -> tuple[object, ...]:
        places = {
            (p.step or 0, p.component, p.type, p.cause, p.evidence or 0) for p in label.places
        }
        return (
            label.present,
            frozenset(label.types),
            frozenset(label.flags),
            places,
            label.rationale,
        )

    return content(one) == content(other)


def _store_part(pairs: Sequence[tuple[int, LabelRecord]]) -> list[str | BadRecord]:
    keys = {pk for pk, _ in pairs}
    names = dict(Trajectory.objects.filter(pk__in=keys).values_list("pk", "external_id"))
    raters = {rater.name: rater for rater in _raters([record for _, record in pairs])}
    steps: dict[int, dict[int, int]] = defaultdict(dict)
    placed = {pk for pk, record in pairs if record.places}
    found = TrajectoryStep.objects.filter(trajectory__in=placed)
    for pk, position, step in found.values_list("trajectory_id", "position", "pk"):
        steps[pk][position] = step
    held_rows = list(LabelSet.objects.filter(trajectory__in=keys, rater__in=raters.values()))
    stored = records_of(held_rows)
    held = {(r.trajectory_id, r.rater_id, r.trial, r.stage): stored[r.pk] for r in held_rows}
    outcomes: list[str | BadRecord] = []
    rows: list[tuple[LabelSet, list[LabelPlace]]] = []
    for pk, record in pairs:
        rater = raters[record.rater]
        key = (pk, rater.pk, record.trial, record.stage)
        try:
            if rater.kind != record.kind:
                raise BadRecord("rater", f"{record.rater} is here already, as {rater.kind}")
            if key in held:
                if not same(held[key], record):
                    reason = f"{record.rater} has labelled it before, with another answer"
                    raise BadRecord(names[pk], reason)
                outcomes.append(UNCHANGED)
                continue
            row = _row(pk, rater, record)
            rows.append((row, list(_places(row, record, steps[pk], names[pk]))))
            held[key] = record
            outcomes.append(NEW)
        except BadRecord as bad:
            outcomes.append(bad)
    insert(LabelSet, [row for row, _ in rows])
    insert(LabelPlace, [place for _, places in rows for place in places])
    return outcomes


def _raters(records: Sequence[LabelRecord]) -> list[Rater]:
    wanted = {record.rater: record for record in records}
    held = set(Rater.objects.filter(name__in=wanted).values_list("name", flat=True))
    Rater.objects.bulk_create(
        [
            Rater(name=name, kind=record.kind, model=record.model)
            for name, record in wanted.items()
            if name not in held
        ],
        ignore_conflicts=True,
    )
    return list(Rater.objects.filter(name__in=wanted))


def _row(trajectory: int, rater: Rater, record: LabelRecord) -> LabelSet:
    return LabelSet(
        trajectory_id=trajectory,
        rater=rater,
        trial=record.trial,
        post_reveal=record.post_reveal,
        stage=record.stage,
        present=record.present,
        rationale=record.rationale,
        meta=dict(record.meta),
        **{name: name in record.types for name in TYPES},
        **{name: name in record.flags for name in FLAGS},
    )


def _places(
    row: LabelSet, record: LabelRecord, steps: Mapping[int, int], name: str
) -> Iterable[LabelPlace]:
    seen = set()
    for place in record.places:
        for number in (place.step, place.evidence):
            if number is not None and number not in steps:
                raise BadRecord(name, f"has no step {number}; it has {len(steps)} steps")
        key = (place.step, place.component, place.type)
        if key in seen:
            continue
        seen.add(key)
        yield LabelPlace(
            labels=row,
            step_id=steps[place.step] if place.step is not None else None,
            component=place.component,
            type=place.type,
            cause=place.cause,
            evidence_id=steps[place.evidence] if place.evidence is not None else None,
        )


def relied_on(trajectories: Iterable[int]) -> set[int]:
    """Which of the runs are not replaced: a study shows them, or a person has labelled them."""
    keys = list(trajectories)
    shown = Trajectory.objects.filter(pk__in=keys, items__isnull=False)
    people = LabelSet.objects.filter(
        trajectory__in=keys, rater__kind=PERSON, rater__simulated=False
    )
    return {
        *shown.values_list("pk", flat=True),
        *people.values_list("trajectory_id", flat=True),
    }
