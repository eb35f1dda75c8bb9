"""Whether the chains of a study hold, and whether the stored answers are what they say."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from annotation.commitment_chain import (
    COMPARED,
    CONFIRMED,
    ORDER,
    PREFIX,
    RATED,
    REVEALED,
    REVIEWED,
    REVISED,
    RUN_ORDER,
    SKIPPED,
    Link,
    canonical,
    digest,
    first_break,
    first_head,
    out_of_order,
)
from annotation.models import Assignment, Commitment, Item, Review, Seat, Study, Withdrawal
from annotation.review_links import answer_of, comparison_of
from benchmark.label_records import LabelRecord
from benchmark.labelling import records_of
from benchmark.models import LabelSet

Answers = dict[str, dict[str, Any]]
Labels = Mapping[int, LabelRecord]


@dataclass(frozen=True, slots=True)
class Finding:
    """How the chain of one seat stands. `place` is the first link that does not hold, if it is a
    link that does not; `sentence` is "" where all is well."""

    pseudonym: str
    links: int
    head: str
    ok: bool = True
    place: int | None = None
    sentence: str = ""


def item_digest(item: Item) -> str:
    """A digest of all that is shown of an item: the same wherever the item is stored."""
    if item.trajectory is not None:
        judge = item.judge_answer.digest if item.judge_answer else None
        shown = {"trajectory": item.trajectory.digest, "judge_answer": judge, "kind": item.kind}
        return digest(canonical(shown))
    return digest(
        canonical(
            {
                "dialogue": item.dialogue.digest,
                "instruction": item.instruction,
                "is_foil": item.is_foil,
                "kind": item.kind,
                "altered": item.altered,
            }
        )
    )


def verify(study: Study) -> list[Finding]:
    """One finding per seat of a person, in the order of the seats.

    A chain holds when every link follows from the one before; when each item was rated before it
    was revealed, and revealed before it was confirmed; and when every stored answer is in a link
    and every link has its answer. Links whose contents were erased are asked for their place in
    the chain only, and only a person who withdrew with erasure has such links.

    Three queries, whatever the size, and three more for agent runs. Simulated seats keep no chain.
    """
    links, answers, labels = _links(study), _assignments(study), _labels(study)
    return [
        _seat(seat, links[seat.pk], answers[seat.pk], labels)
        for seat in study.seats.filter(simulated=False)
        .select_related("withdrawal")
        .order_by("number")
    ]


def _links(study: Study) -> Mapping[int, list[Commitment]]:
    found = defaultdict(list)
    for link in Commitment.objects.filter(seat__study=study).order_by("seat_id", "ordinal"):
        found[link.seat_id].append(link)
    return found


def _assignments(study: Study) -> Mapping[int, list[Assignment]]:
    found = defaultdict(list)
    rows = Assignment.objects.filter(seat__study=study, seat__simulated=False).select_related(
        "item__dialogue",
        "item__trajectory",
        "item__judge_answer",
        "skip",
        "slider__confirmation__onset__turn",
        "slider__confirmation__onset__prefix",
        "review__comparison__revision",
    )
    for assignment in rows.order_by("seat_id", "rank"):
        found[assignment.seat_id].append(assignment)
    return found


def _labels(study: Study) -> Labels:
    """What people said of runs, by the key of the label; nothing in a study of conversations."""
    if study.kind != Study.Kind.RUNS:
        return {}
    first = Q(review__assignment__seat__study=study)
    second = Q(revised_review__comparison__review__assignment__seat__study=study)
    return records_of(LabelSet.objects.filter(first | second))


def _seat(
    seat: Seat, rows: list[Commitment], assignments: list[Assignment], labels: Labels
) -> Finding:
    links = [Link(row.ordinal, row.salt, row.payload, row.leaf, row.head) for row in rows]
    head = links[-1].head if links else first_head(seat.pseudonym)
    if broken := first_break(seat.pseudonym, links):
        return Finding(seat.pseudonym, len(links), head, False, *broken)
    for place, sentence in _contents(seat, rows, assignments, labels):
        return Finding(seat.pseudonym, len(links), head, False, place, sentence)
    return Finding(seat.pseudonym, len(links), head)


def _contents(
    seat: Seat, rows: list[Commitment], assignments: list[Assignment], labels: Labels
) -> Iterator[tuple[int | None, str]]:
    """Place and sentence of everything in which links and stored answers differ."""
    withdrawal = getattr(seat, "withdrawal", None)
    erased = withdrawal is not None and withdrawal.mode == Withdrawal.Mode.ERASE
    said: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for row in rows:
        if not row.payload and not row.salt:
            if not erased:
                yield row.ordinal, f"link {row.ordinal} is empty, and nobody asked for that"
            continue
        payload = json.loads(row.payload)
        said[payload["assignment"]].append((row.ordinal, payload))
    by_digest = {digest(assignment.token): assignment for assignment in assignments}
    for name in said:
        if name is not None and name not in by_digest:
            place = said[name][0][0]
            yield place, f"link {place} speaks of an item that the seat does not have"
    for name, assignment in by_digest.items():
        yield from _item(assignment, said[name], labels)


def _item(
    assignment: Assignment, said: list[tuple[int, dict[str, Any]]], labels: Labels
) -> Iterator[tuple[int | None, str]]:
    which = f"item {assignment.rank}"
    shown = item_digest(assignment.item)
    for place, payload in said:
        if payload["item"] != shown:
            yield place, f"{which} is not what it was when link {place} was written"
    order = RUN_ORDER if assignment.item.trajectory_id else ORDER
    if wrong := out_of_order((payload["kind"] for _, payload in said), order):
        yield said[0][0], f"{which}: {wrong}"
    stored = _stored(assignment, labels)
    committed = {payload["kind"]: (place, payload["answer"]) for place, payload in said}
    for kind, answer in stored.items():
        place, other = committed.get(kind, (None, None))
        if other is None:
            yield None, f"{which}: {kind} is stored as {canonical(answer)} and is in no link"
        elif other != answer:
            yield (
                place,
                f"{which}: {kind} is stored as {canonical(answer)}, "
                f"but link {place} says {canonical(other)}",
            )
    for kind, (place, answer) in committed.items():
        if kind != REVEALED and kind not in stored:
            yield place, f"{which}: link {place} says {kind} {canonical(answer)}, which is gone"


def _stored(assignment: Assignment, labels: Labels) -> Answers:
    """The answers as the links would say them."""
    found: Answers = {}
    if skip := getattr(assignment, "skip", None):
        found[SKIPPED] = {"reason": skip.reason}
    if review := getattr(assignment, "review", None):
        return found | _reviewed(review, labels)
    slider = getattr(assignment, "slider", None)
    if slider is None:
        return found
    found[RATED] = {"rating": slider.value}
    confirmation = getattr(slider, "confirmation", None)
    onset = getattr(confirmation, "onset", None)
    if confirmation is not None:
        number = onset.turn.number if onset and onset.turn else None
        found[CONFIRMED] = {"appears": confirmation.answer, "onset": number}
    if prefix := getattr(onset, "prefix", None):
        found[PREFIX] = {"prefix": prefix.answer}
    return found


def _reviewed(review: Review, labels: Labels) -> Answers:
    found: Answers = {REVIEWED: answer_of(labels[review.labels_id])}
    comparison = getattr(review, "comparison", None)
    if comparison is not None:
        found[COMPARED] = comparison_of(comparison)
    if revision := getattr(comparison, "revision", None):
        found[REVISED] = answer_of(labels[revision.labels_id])
    return found
