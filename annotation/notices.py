"""Words from the study team, shown to a person on their pages until they say "Got it"."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Message, Seat


def unread(seat: Seat) -> QuerySet[Message]:
    """What the person of `seat` has not read yet, oldest first."""
    return seat.messages.filter(read_at=None).order_by("sent_at", "id")


def mark_read(user: Any, pk: int) -> bool:
    """Note that `user` has read a message of theirs; False when it is none of theirs.

    The first time stands.
    """
    mine = Message.objects.filter(pk=pk, seat__user=user)
    return bool(mine.filter(read_at=None).update(read_at=timezone.now())) or mine.exists()
