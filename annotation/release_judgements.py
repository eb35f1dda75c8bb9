"""What a release says of people: their judgements by pseudonym, and the studies they belong to.

Only main items are judgements. A reopened item is a marked attempt. Times are durations: clock
times say when somebody was awake. Who withdrew is named as a seat that did; what they had erased is
gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q, QuerySet

from annotation import commitments
from annotation.export_formats import STEPS
from annotation.models import Assignment, StepTime, Study, Withdrawal
from annotation.restoring import IMPORTED, IMPORTED_HEADS, PRIVATE
from benchmark.release_rows import Row, Scope


def assignments_of(scope: Scope) -> QuerySet[Assignment]:
    """Assignments to main items over the dialogues of the release, answered or not."""
    return Assignment.objects.main().filter(item__dialogue__corpus__in=scope.corpora).order_by()


def judgement_rows(scope: Scope) -> Iterator[Row]:
    """One row per judged item: who (by pseudonym), what was shown, and each answer or null."""
    for row in _answered(scope):
        yield _row(scope, row)


def study_entries(scope: Scope) -> list[dict[str, Any]]:
    """The studies behind the judgements, as the manifest tells of them, by slug."""
    found = entries_of(_answered(scope), withdrawn_from(scope, Study.Kind.FORKS))
    return [entry for _, entry in found]


def entries_of(
    rows: Sequence[Assignment], withdrawn: Mapping[str, Mapping[str, str]]
) -> list[tuple[Study, dict[str, Any]]]:
    """Each study behind `rows` or a withdrawal, by slug, with its entry in the manifest."""
    found: dict[str, list[Assignment]] = {}
    for row in rows:
        found.setdefault(row.seat.study.slug, []).append(row)
    studies = Study.objects.filter(slug__in={*found, *withdrawn}).select_related("judge")
    return [
        (study, entry_of(study, found.get(study.slug, []), withdrawn.get(study.slug, {})))
        for study in sorted(studies, key=lambda study: study.slug)
    ]


def state(scope: Scope) -> tuple[Any, ...]:
    """What an answer given meanwhile would change."""
    paths = ("slider", "slider__confirmation__onset__prefix", "skip", "finished_at")
    return (*counts_of(assignments_of(scope), paths), withdrawn_from(scope, Study.Kind.FORKS))


def counts_of(rows: QuerySet[Assignment], paths: Sequence[str]) -> tuple[int, ...]:
    """How many of `rows` have each of `paths`, how many ended otherwise, and confirmed steps."""
    return (
        *(rows.filter(**{f"{path}__isnull": False}).count() for path in paths),
        rows.exclude(ended="").count(),
        StepTime.objects.filter(assignment__in=rows, submitted_at__isnull=False).count(),
    )


def _answered(scope: Scope) -> list[Assignment]:
    answered = Q(slider__isnull=False) | Q(skip__isnull=False)
    rows = assignments_of(scope).filter(answered)
    rows = rows.select_related(
        "seat__study",
        "seat__withdrawal",
        "item__dialogue",
        "skip",
        "slider__confirmation__onset__prefix",
        "slider__confirmation__onset__turn",
    ).prefetch_related("times")
    return sorted(rows, key=lambda a: (a.seat.study.slug, a.seat.pseudonym, a.rank))


def _row(scope: Scope, row: Assignment) -> Row:
    item = row.item
    slider, skip = getattr(row, "slider", None), getattr(row, "skip", None)
    confirmation = getattr(slider, "confirmation", None)
    onset = getattr(confirmation, "onset", None)
    prefix = getattr(onset, "prefix", None)
    turn = onset.turn if onset else None
    return {
        **head_of(row),
        "corpus": scope.name(item.dialogue.corpus_id),
        "format": item.dialogue.format,
        "dialogue": item.dialogue.external_id,
        "is_foil": item.is_foil,
        "shown_type": item.instruction_type,
        "shown_variant": item.instruction_variant,
        "shown_instruction": item.instruction,
        "slider": slider.value if slider else None,
        "confirmation": confirmation.answer if confirmation else None,
        "onset_marked": onset is not None,
        "onset_turn": turn.number if turn else None,
        "onset_assistant_turn": turn.assistant_number if turn else None,
        "prefix": prefix.answer if prefix else None,
        "skipped": skip.reason if skip else None,
        "finished": row.finished_at is not None,
        **durations(row, STEPS),
    }


def head_of(row: Assignment) -> Row:
    """Whose answer a row holds, in which study and order, and how far it came."""
    seat = row.seat
    return {
        "study": seat.study.slug,
        "protocol_version": seat.study.protocol_version,
        "annotator": seat.pseudonym,
        "simulated": seat.simulated,
        "withdrawn": hasattr(seat, "withdrawal"),
        "order": row.rank,
        "attempt": row.attempt,
        "post_reveal": row.post_reveal,
        "status": status_of(row, getattr(row, "skip", None)),
    }


def status_of(row: Assignment, skip: Any) -> str:
    """How far an item came, in one word."""
    if row.ended:
        return row.ended
    if skip:
        return "skipped"
    return "submitted" if row.finished_at else "in_progress"


def durations(row: Assignment, steps: Sequence[str]) -> Row:
    """Whole milliseconds by step: from opening to confirming, and of them the active ones."""
    found: Row = {}
    times = {time.step: time for time in row.times.all()}
    for step in steps:
        time = times.get(step)
        done = time and time.submitted_at
        wall = round((done - time.opened_at).total_seconds() * 1000) if done else None
        found[f"{step}_wall_ms"] = None if wall is None else max(0, wall)
        found[f"{step}_active_ms"] = time.active_ms if time else None
    return found


def withdrawn_from(scope: Scope, kind: str) -> dict[str, dict[str, str]]:
    """Study -> pseudonym -> mode of every withdrawal from a seat with items of the release."""
    item = "seat__assignments__item"
    what = "dialogue" if kind == Study.Kind.FORKS else "trajectory"
    ours = Withdrawal.objects.filter(seat__study__kind=kind)
    rows = ours.filter(**{f"{item}__{what}__corpus__in": scope.corpora}) | ours.filter(
        seat__study__corpora__in=scope.corpora, seat__study__design__has_key=IMPORTED
    )
    found: dict[str, dict[str, str]] = {}
    names = ("seat__study__slug", "seat__pseudonym", "mode")
    for study, pseudonym, mode in sorted(set(rows.order_by().values_list(*names))):
        found.setdefault(study, {})[pseudonym] = mode
    return found


def entry_of(
    study: Study, rows: Sequence[Assignment], withdrawn: Mapping[str, str]
) -> dict[str, Any]:
    """A study as the manifest tells of it; `rows` are its answered items of the release."""
    seats = {row.seat_id: row.seat for row in rows}
    return {
        "study": study.slug,
        "title": study.title,
        "seed": study.seed,
        "protocol_version": study.protocol_version,
        "design": {k: v for k, v in study.design.items() if k not in PRIVATE},
        "judgements": sum(not row.post_reveal for row in rows),
        "reopened": sum(row.post_reveal for row in rows),
        "annotators": len(seats),
        "simulated": sum(seat.simulated for seat in seats.values()),
        "withdrawn": dict(sorted(withdrawn.items())),
        "commitments": _heads(study),
    }


def _heads(study: Study) -> dict[str, Any]:
    """Pseudonym -> links and head of the chain of their seat, where there is a link."""
    own = {
        name: {"links": links, "head": head}
        for name, (links, head) in commitments.heads(study).items()
        if links
    }
    return dict(sorted({**study.design.get(IMPORTED_HEADS, {}), **own}.items()))
