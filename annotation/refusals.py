"""Why a study cannot be drawn, or a seat cannot be had; each message is a sentence for people."""

from __future__ import annotations


class EnrolmentRefused(ValueError):
    """A study that cannot be drawn, or a seat that cannot be taken; the message says why."""


class KnowsConditions(EnrolmentRefused):
    """The person can see which conversations were forked."""


class StudyNotOpen(EnrolmentRefused):
    """The study takes nobody: `state` says whether it may yet (paused, draft) or not (closed)."""

    def __init__(self, message: str, state: str) -> None:
        self.state = state
        super().__init__(message)


class NoSeatLeft(EnrolmentRefused):
    """Every place is taken."""


class SeatRefused(ValueError):
    """A change that the state of the seat does not allow; the message says why."""
