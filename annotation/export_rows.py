"""What an export holds, read in batches: assignments with their answers, items, events.

Keys are read first and rows by key afterwards, so that memory does not grow with a study and the
order does not hang on the database.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)

from annotation.export_formats import STATUSES, STEPS, Row, seconds_between, stamp
from annotation.models import Assignment, ProblemReport, QuestionnaireAnswer, StepTime, Study
from benchmark.models import Fork

AT_ONCE = 500
JUDGES, ATTEMPTS, ITEMS = ("all", "people", "simulated"), ("first", "last", "all"), ("main", "all")
CHOICES = {"judges": JUDGES, "attempts": ATTEMPTS, "items": ITEMS}

STATUS = Case(
    When(ended=Assignment.Ended.WITHDRAWN, then=Value("withdrawn")),
    When(ended=Assignment.Ended.EXPIRED, then=Value("expired")),
    When(skip__isnull=False, then=Value("skipped")),
    When(finished_at__isnull=False, then=Value("submitted")),
    When(
        Q(opened_at__isnull=False) | Q(slider__isnull=False) | Q(review__isnull=False),
        then=Value("in_progress"),
    ),
    default=Value("pending"),
    output_field=CharField(),
)

_CONFIRMATION = "slider__confirmation"
_ONSET = f"{_CONFIRMATION}__onset"
# Name in the row -> path from the assignment.
PATHS = {
    "seat": "seat__number",
    "pseudonym": "seat__pseudonym",
    "simulated": "seat__simulated",
    "seat_state": "seat__state",
    "withdrawal": "seat__withdrawal__mode",
    "kind": "item__kind",
    "corpus": "item__dialogue__corpus__slug",
    "format": "item__dialogue__format",
    "dialogue": "item__dialogue__external_id",
    "workflow": "item__dialogue__workflow__name",
    "is_foil": "item__is_foil",
    "shown_type": "item__instruction_type",
    "shown_variant": "item__instruction_variant",
    "shown_instruction": "item__instruction",
    "rating": "slider__value",
    "appears": f"{_CONFIRMATION}__answer",
    "onset_id": f"{_ONSET}__id",
    "onset_turn": f"{_ONSET}__turn__number",
    "onset_assistant_turn": f"{_ONSET}__turn__assistant_number",
    "prefix": f"{_ONSET}__prefix__answer",
    "skip_reason": "skip__reason",
    "skip_note": "skip__note",
    "rated_at": "slider__recorded_at",
    "confirmed_at": f"{_CONFIRMATION}__recorded_at",
    "prefix_at": f"{_ONSET}__prefix__recorded_at",
    "skipped_at": "skip__recorded_at",
    "dialogue_id": "item__dialogue_id",
}
OWN = ("id", "item_id", "rank", "attempt", "post_reveal", "opened_at", "finished_at", "ended_at")
TIMES = tuple(name for name in (*OWN, *PATHS) if name.endswith("_at"))


class ExportRefused(ValueError):
    """An export that cannot be asked for; the message names the field and what is allowed."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What of a study is exported.

    `judges`: all, people or simulated. `attempts`: the first (blind) judgement of an item, the
    last one, or all. `items`: main, or all with practice and attention items. `questionnaire`
    adds the answers about people, in a file that joins to nothing.
    """

    judges: str = "all"
    attempts: str = "first"
    items: str = "main"
    questionnaire: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Filter:
        """A filter from names and values; raises ExportRefused naming what is not allowed."""
        if strange := sorted(set(given) - {*CHOICES, "questionnaire"}):
            known = ", ".join((*CHOICES, "questionnaire"))
            raise ExportRefused(f"{strange[0]!r} is no filter; the filters are {known}.")
        for name, allowed in CHOICES.items():
            if name in given and given[name] not in allowed:
                raise ExportRefused(f"{name} must be one of {', '.join(allowed)}.")
        if not isinstance(given.get("questionnaire", False), bool):
            raise ExportRefused("questionnaire must be true or false.")
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def chosen(study: Study, only: Filter) -> QuerySet[Assignment]:
    """The assignments of `study` that `only` lets through, in no order."""
    rows = Assignment.objects.filter(seat__study=study).order_by()
    if only.items == "main":
        rows = rows.main()
    if only.judges != "all":
        rows = rows.filter(seat__simulated=only.judges == "simulated")
    if only.attempts == "first":
        return rows.filter(attempt=1)
    if only.attempts == "last":
        later = Assignment.objects.filter(
            seat=OuterRef("seat"), item=OuterRef("item"), attempt__gt=OuterRef("attempt")
        )
        return rows.filter(~Exists(later.order_by()))
    return rows


def status_counts(rows: QuerySet[Assignment]) -> dict[str, int]:
    """How many assignments have each status, with `total`; one query."""
    found = dict(
        rows.annotate(status=STATUS).values_list("status").annotate(n=Count("pk")).order_by()
    )
    counts = {status: found.get(status, 0) for status in STATUSES}
    return counts | {"total": sum(counts.values())}


def seat_keys(rows: QuerySet[Assignment]) -> list[int]:
    """Keys by seat and rank: as people worked."""
    return list(rows.order_by("seat__number", "rank").values_list("pk", flat=True))


def item_keys(rows: QuerySet[Assignment]) -> list[int]:
    """Keys of the items among `rows`, by item id."""
    return list(rows.order_by("item_id").values_list("item_id", flat=True).distinct())


def answer_rows(study: Study, keys: Sequence[int]) -> Iterator[list[Row]]:
    """Rows for the assignments `keys`, in their order, a batch at a time (four queries each)."""
    for part in parts(keys):
        yield rows_of(study, Assignment.objects.filter(pk__in=part), part)


def rows_of(
    study: Study, assignments: QuerySet[Assignment], order: Sequence[int] | None = None
) -> list[Row]:
    """One row per assignment, with the columns of `export_formats.SCHEMA` and `id`, `item_id`."""
    paths = {name: F(path) for name, path in PATHS.items() if name not in ("seat",)}
    found = {
        row["id"]: row
        for row in assignments.order_by().values(
            *OWN, status=STATUS, seat_number=F(PATHS["seat"]), **paths
        )
    }
    keys = [key for key in (order or found) if key in found]
    times = times_of(keys)
    problems = problems_of(keys)
    forks = _forks({row["dialogue_id"] for row in found.values()})
    return [
        _row(
            study,
            found[key],
            times[key],
            problems.get(key, 0),
            forks.get(found[key]["dialogue_id"]),
        )
        for key in keys
    ]


def _row(
    study: Study,
    found: Row,
    times: Mapping[str, tuple[float | None, float]],
    problems: int,
    fork: Mapping[str, Any] | None,
) -> Row:
    at = fork["fork_assistant_turn"] if fork else None
    row = {
        "study": study.slug,
        "protocol_version": study.protocol_version,
        "guideline_version": guideline_version(study),
        "item": item_digest(study, found),
        "fork_type": fork["type"] if fork else None,
        "k": fork["k"] if fork else None,
        "fork_assistant_turn": at,
        "onset_marked": found["onset_id"] is not None,
        "prefix_applies": at is not None and at > 1,
        "problems": problems,
        "seat": found["seat_number"],
    }
    row |= {name: found[name] for name in (*OWN, *PATHS, "status") if name not in row}
    row |= {name: stamp(found[name]) for name in TIMES}
    for step in STEPS:
        wall, active = times.get(step, (None, None))
        row |= {f"{step}_wall_seconds": wall, f"{step}_active_seconds": active}
    return row


def item_digest(study: Study, row: Mapping[str, Any]) -> str:
    """A name of an item that is the same in every database: 16 hexadecimal digits."""
    parts_ = (study.slug, row["kind"], row["corpus"], row["format"], row["dialogue"])
    text = "\x1f".join((*parts_, str(int(row["is_foil"]))))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def guideline_version(study: Study) -> str:
    """Which wording of the guidelines the study was launched with, "1" where it does not say."""
    return str(study.design.get("guideline_version", "1"))


def times_of(keys: Sequence[int]) -> dict[int, dict[str, tuple[float | None, float]]]:
    """Assignment -> step -> (wall seconds or None while open, active seconds)."""
    found: dict[int, dict[str, tuple[float | None, float]]] = defaultdict(dict)
    rows = StepTime.objects.filter(assignment__in=keys).order_by()
    names = ("assignment_id", "step", "opened_at", "submitted_at", "active_ms")
    for key, step, opened, submitted, active in rows.values_list(*names):
        found[key][step] = (seconds_between(opened, submitted), active / 1000)
    return found


def problems_of(keys: Sequence[int]) -> dict[int, int]:
    """Assignment -> how many problems were reported of it; those without are left out."""
    rows = ProblemReport.objects.filter(assignment__in=keys).order_by()
    return dict(rows.values_list("assignment_id").annotate(n=Count("pk")))


def _forks(dialogues: set[int]) -> dict[int, Mapping[str, Any]]:
    """Dialogue -> its first injection."""
    rows = Fork.objects.filter(dialogue__in=dialogues, ordinal=1).order_by()
    return {
        row["dialogue_id"]: row
        for row in rows.values("dialogue_id", "type", "k", "fork_assistant_turn")
    }


def questionnaire_rows(study: Study) -> list[Row]:
    """Answers about people, one object per person, in an order that tells nothing of seats."""
    people: dict[int, dict[str, str]] = defaultdict(dict)
    rows = QuestionnaireAnswer.objects.filter(seat__study=study).order_by("question")
    for seat, question, answer in rows.values_list("seat_id", "question", "answer"):
        people[seat][question] = answer
    return sorted(people.values(), key=lambda person: sorted(person.items()))


def parts(keys: Sequence[int], size: int = AT_ONCE) -> Iterator[Sequence[int]]:
    """`keys` in pieces that fit one query."""
    for start in range(0, len(keys), size):
        yield keys[start : start + size]
