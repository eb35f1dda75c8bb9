"""Every answer, and every reveal, becomes a link of the chain of its seat.

Links are written in the transaction of the answer and under a lock on the seat, so that places
never clash and no answer is stored without its link.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import Count, OuterRef, Subquery
from django.utils import timezone

from annotation.commitment_chain import canonical, digest, first_head, leaf_of, next_head
from annotation.commitment_checks import Finding, item_digest, verify
from annotation.models import Assignment, Commitment, Seat, Study

__all__ = ["Finding", "commit", "compare", "erase", "head", "heads", "kinds_of", "lock", "verify"]


def lock(seat_id: int) -> Seat:
    """The seat with its study, locked until the transaction ends; always locked before its items.

    Its key stays free: rows that refer to the seat can be written meanwhile.
    """
    seats = Seat.objects.select_for_update(of=("self",), no_key=True)
    return seats.select_related("study").get(pk=seat_id)


@transaction.atomic
def commit(
    seat: Seat, assignment: Assignment | None, kind: str, payload: Mapping[str, Any]
) -> Commitment:
    """Add a link that says `kind` and `payload` (JSON values: the answer) of `assignment`.

    Call it in the transaction of the answer. The link tells the item by digest, the version of the
    protocol and the server's time as well.
    """
    lock(seat.pk)
    return add(seat, assignment, kind, payload)


def add(
    seat: Seat, assignment: Assignment | None, kind: str, payload: Mapping[str, Any]
) -> Commitment:
    """`commit` for a caller who holds the lock of `seat` already."""
    last = Commitment.objects.filter(seat=seat).order_by("-ordinal").first()
    salt = secrets.token_hex(32)
    text = canonical(
        {
            "kind": kind,
            "assignment": digest(assignment.token) if assignment else None,
            "item": item_digest(assignment.item) if assignment else None,
            "protocol": seat.study.protocol_version,
            "answer": dict(payload),
            "at": timezone.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
    )
    leaf = leaf_of(salt, text)
    return Commitment.objects.create(
        seat=seat,
        ordinal=last.ordinal + 1 if last else 1,
        assignment=assignment,
        salt=salt,
        payload=text,
        leaf=leaf,
        head=next_head(last.head if last else first_head(seat.pseudonym), leaf),
    )


def kinds_of(assignment: Assignment) -> list[str]:
    """What the chain says of `assignment` so far, in order."""
    links = Commitment.objects.filter(assignment=assignment).exclude(payload="")
    texts = links.order_by("ordinal").values_list("payload", flat=True)
    return [json.loads(text)["kind"] for text in texts]


def head(seat: Seat) -> str:
    """The head of the chain of `seat` now: 64 hexadecimal digits, also while it has no links."""
    last = Commitment.objects.filter(seat=seat).order_by("-ordinal").first()
    return last.head if last else first_head(seat.pseudonym)


def heads(study: Study) -> dict[str, tuple[int, str]]:
    """Number of links and head for each seat of a person, by pseudonym; one query.

    This is what to publish while a study runs: whoever holds a copy can tell later that nothing
    before it was changed.
    """
    last = Commitment.objects.filter(seat=OuterRef("pk")).order_by("-ordinal")
    seats = study.seats.filter(simulated=False).order_by("number")
    rows = seats.annotate(
        links=Count("commitments"), last_head=Subquery(last.values("head")[:1])
    ).values_list("pseudonym", "links", "last_head")
    return {name: (links, found or first_head(name)) for name, links, found in rows}


def erase(seat: Seat) -> int:
    """Delete what the links say (salt and payload); returns how many. The heads still verify.

    Without its salt a leaf tells nothing about the answer.
    """
    return Commitment.objects.filter(seat=seat).update(salt="", payload="")


def compare(study: Study, found: list[Finding], published: Mapping[str, str]) -> list[Finding]:
    """`found`, with a break where a head that was published is on no chain of today.

    `published` maps pseudonyms to heads. A chain may have grown since.
    """
    if not published:
        return found
    known = {(one.pseudonym, first_head(one.pseudonym)) for one in found}
    links = Commitment.objects.filter(seat__study=study)
    known |= set(links.values_list("seat__pseudonym", "head"))
    seats = {one.pseudonym for one in found}
    gone = [
        Finding(name, 0, head, False, None, "this seat was published and is not there any more")
        for name, head in published.items()
        if name not in seats
    ]
    return [
        replace(one, ok=False, sentence=f"the published head {published[one.pseudonym]} is gone")
        if one.ok
        and one.pseudonym in published
        and (one.pseudonym, published[one.pseudonym]) not in known
        else one
        for one in found
    ] + gone
