"""The judgements of a study as rows, all of them or those that a filter names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from annotation.judgement_rows import CONFORMANT, PEOPLE, SIMULATED, Judgement, JudgementRow
from annotation.models import Assignment, Study
from annotation.models.working import StepTime
from benchmark.models import Fork
from benchmark.records import FORK_TYPES

CONFIRMATION = "slider__confirmation"
ANSWERS = {
    "rating": "slider__value",
    "confirmation": f"{CONFIRMATION}__answer",
    "onset": f"{CONFIRMATION}__onset__turn__assistant_number",
    "prefix": f"{CONFIRMATION}__onset__prefix__answer",
}
BREAKING = ("WIC", "SSPC", "GR")
# Names that a filter gives to several types at once; conformant dialogues have none.
TYPE_SETS: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in FORK_TYPES},
    "breaking": BREAKING,
    "forks": tuple(FORK_TYPES),
    CONFORMANT: (),
}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which rows to show; an empty field leaves all. Two judges: the items that both judged.

    `question` keeps the rows with an answer to it, `shared` those of items that two judges of the
    group answered, `counted` those that enter the statistics.
    """

    group: str = ""
    question: str = ""
    type: str = ""
    k: int | None = None
    instruction: str = ""
    judges: tuple[str, ...] = ()
    item: int | None = None
    shared: bool = False
    counted: bool = True


def matching(study: Study, wanted: Filters) -> QuerySet[Assignment]:
    """The assignments of `study` that `wanted` keeps: main items only."""
    rows = Assignment.objects.main().filter(_where(study, wanted))
    if wanted.type == CONFORMANT:
        whole = ~Exists(Fork.objects.filter(dialogue=OuterRef("item__dialogue")))
        rows = rows.none() if wanted.k else rows.filter(whole)
    elif wanted.type or wanted.k:
        rows = rows.filter(item__dialogue__in=_forked(study, wanted))
    if wanted.shared or len(wanted.judges) > 1:
        judged = Assignment.objects.main().filter(_where(study, wanted)).order_by()
        twice = judged.values("item").annotate(judges=Count("seat")).filter(judges__gt=1)
        rows = rows.filter(item__in=twice.values("item"))
    return rows


def _forked(study: Study, wanted: Filters) -> QuerySet[Any]:
    """The dialogues of `study` whose first injection has the type and k that are wanted."""
    earlier = Fork.objects.filter(dialogue=OuterRef("dialogue"), ordinal__lt=OuterRef("ordinal"))
    first = Fork.objects.filter(~Exists(earlier), dialogue__items__study=study)
    if wanted.type:
        first = first.filter(type__in=TYPE_SETS[wanted.type])
    if wanted.k:
        first = first.filter(k=wanted.k)
    return first.values("dialogue")


def _where(study: Study, wanted: Filters) -> Q:
    where = Q(seat__study=study)
    if wanted.group:
        where &= Q(seat__simulated=wanted.group == SIMULATED)
    if wanted.counted:
        where &= Q(post_reveal=False, ended="", slider__isnull=False)
    if wanted.question:
        where &= Q(**{f"{ANSWERS[wanted.question]}__isnull": False})
    if wanted.instruction:
        where &= Q(item__is_foil=wanted.instruction == "foil")
    if wanted.judges:
        where &= Q(seat__pseudonym__in=wanted.judges)
    if wanted.item:
        where &= Q(item=wanted.item)
    return where


def read(assignments: QuerySet[Assignment]) -> list[JudgementRow]:
    """The assignments as rows, in the order of the queryset; three queries, no turn is read."""
    found = list(
        assignments.values(
            "pk",
            "rank",
            "attempt",
            "post_reveal",
            "ended",
            "opened_at",
            "finished_at",
            "seat_id",
            "seat__pseudonym",
            "seat__simulated",
            "item_id",
            "item__is_foil",
            "item__dialogue_id",
            "item__dialogue__external_id",
            "item__dialogue__workflow__name",
            "skip__reason",
            *ANSWERS.values(),
        )
    )
    keys = assignments.order_by().values("pk")
    forks = _forks(assignments.order_by().values("item__dialogue"))
    times = dict(
        StepTime.objects.filter(assignment__in=keys)
        .values("assignment")
        .annotate(ms=Sum("active_ms"))
        .values_list("assignment", "ms")
    )
    return [_row(values, forks, times) for values in found]


def read_all(study: Study) -> list[JudgementRow]:
    """Every main assignment of `study`, in the order of its seats."""
    everything = matching(study, Filters(counted=False))
    return read(everything.order_by("seat__number", "rank", "attempt"))


def read_some(keys: Iterable[int]) -> list[JudgementRow]:
    """The assignments of these keys, in rising order of the key."""
    return read(Assignment.objects.filter(pk__in=list(keys)).order_by("pk"))


def _forks(dialogues: Any) -> dict[int, tuple[str, int, int]]:
    """dialogue -> (type, k, assistant turn) of its first injection."""
    forks = Fork.objects.filter(dialogue__in=dialogues).order_by("-ordinal")
    rows = forks.values_list("dialogue_id", "type", "k", "fork_assistant_turn")
    return {dialogue: (type_, k, at) for dialogue, type_, k, at in rows}


def _row(
    values: Mapping[str, Any],
    forks: Mapping[int, tuple[str, int, int]],
    times: Mapping[int, int],
) -> JudgementRow:
    type_, k, fork = forks.get(values["item__dialogue_id"], ("", 0, 0))
    return JudgementRow(
        key=values["pk"],
        seat=values["seat_id"],
        group=SIMULATED if values["seat__simulated"] else PEOPLE,
        rank=values["rank"],
        dialogue=values["item__dialogue_id"],
        external_id=values["item__dialogue__external_id"],
        status=_status(values),
        judgement=Judgement(
            person=values["seat__pseudonym"],
            item=str(values["item_id"]),
            workflow=values["item__dialogue__workflow__name"] or "",
            is_foil=values["item__is_foil"],
            type=type_,
            k=k,
            fork=fork,
            rating=values[ANSWERS["rating"]],
            confirmed=values[ANSWERS["confirmation"]],
            onset=values[ANSWERS["onset"]],
            prefix=values[ANSWERS["prefix"]],
        ),
        attempt=values["attempt"],
        post_reveal=values["post_reveal"],
        skip=values["skip__reason"] or "",
        active_ms=times.get(values["pk"]),
        opened_at=values["opened_at"],
        finished_at=values["finished_at"],
    )


def _status(values: Mapping[str, Any]) -> str:
    if values["ended"]:
        return str(values["ended"])
    if values["skip__reason"]:
        return "skipped"
    if values["finished_at"]:
        return "finished"
    started = values["opened_at"] or values[ANSWERS["rating"]] is not None
    return "in progress" if started else "waiting"
