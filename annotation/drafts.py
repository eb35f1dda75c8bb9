"""What is entered and not confirmed, kept on the server: one row per step, never an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation import judging, review_drafts
from annotation.models import Assignment, Draft, InstructionConfirmation, PrefixJudgement
from benchmark.models import Turn

FIELDS: Mapping[judging.Step, tuple[str, ...]] = {
    "rate": ("rating",),
    "instruction": ("appears", "onset"),
    "prefix": ("prefix",),
    "review": review_drafts.REVIEW_FIELDS,
    "compare": review_drafts.COMPARE_FIELDS,
    "revise": review_drafts.REVIEW_FIELDS,
}
CHOICES = {
    "appears": InstructionConfirmation.Answer.values,
    "prefix": PrefixJudgement.Answer.values,
}


class StaleDraft(ValueError):
    """The draft was changed elsewhere since `revision`; `newer` is what is stored now."""

    def __init__(self, newer: Draft) -> None:
        self.newer = newer
        super().__init__("This step was changed in another tab or on another device meanwhile.")


def current(assignment: Assignment, step: judging.Step) -> Draft | None:
    """The draft of a step, or None."""
    return Draft.objects.filter(assignment=assignment, step=step).first()


def save(
    assignment: Assignment, step: judging.Step, values: Mapping[str, Any], revision: int
) -> Draft:
    """Keep `values` (fields of the step's form, some or all) over the draft of that `revision`.

    `revision` is the one the sender has seen last, 0 for none. Whoever sends what is stored
    already is told so, whatever the revision: a repeated request changes nothing.

    Raises AnswerRefused (naming the field), StaleDraft (another revision is stored).
    """
    kept = clean(assignment, step, values)
    now = timezone.now()
    mine = Draft.objects.filter(assignment=assignment, step=step)
    if mine.filter(revision=revision).update(values=kept, revision=revision + 1, saved_at=now):
        return Draft(
            assignment=assignment, step=step, values=kept, revision=revision + 1, saved_at=now
        )
    stored = mine.first() or _create(assignment, step, kept, revision)
    if stored.values != kept:
        raise StaleDraft(stored)
    return stored


def drop(assignment: Assignment, step: judging.Step) -> None:
    """Forget the draft of a step that has been answered."""
    Draft.objects.filter(assignment=assignment, step=step).delete()


def clean(assignment: Assignment, step: judging.Step, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` as they are stored; empty ones are left out.

    Raises AnswerRefused for a field that the step's form does not have, or a value it would refuse.
    """
    if assignment.item.trajectory_id is not None:
        return review_drafts.clean(assignment.item.trajectory_id, step, values)
    kept: dict[str, Any] = {}
    for name, value in values.items():
        if name not in FIELDS[step]:
            allowed = ", ".join(FIELDS[step])
            raise judging.AnswerRefused(
                "values", f"{name[:40]!r} is no field of this step; it has: {allowed}."
            )
        if value not in ("", None):
            kept[name] = _choice(name, value) if name in CHOICES else _number(name, value)
    if "onset" in kept:
        _require_assistant_turn(assignment, int(kept["onset"]))
    return kept


def _create(
    assignment: Assignment, step: judging.Step, kept: dict[str, Any], revision: int
) -> Draft:
    """A first draft; the one that another tab created in the same moment, if there is one."""
    try:
        with transaction.atomic():
            return Draft.objects.create(
                assignment=assignment,
                step=step,
                values=kept,
                revision=revision + 1,
                saved_at=timezone.now(),
            )
    except IntegrityError:
        return Draft.objects.get(assignment=assignment, step=step)


def _choice(name: str, value: Any) -> str:
    if value not in CHOICES[name]:
        raise judging.AnswerRefused(name, f"{name} must be one of {', '.join(CHOICES[name])}.")
    return str(value)


def _number(name: str, value: Any) -> int:
    text = str(value)
    whole = isinstance(value, int | str) and not isinstance(value, bool)
    if not whole or not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise judging.AnswerRefused(name, f"{name} must be a whole number.")
    if name == "rating" and int(text) > 100:
        raise judging.AnswerRefused(name, "rating must be from 0 to 100.")
    return int(text)


def _require_assistant_turn(assignment: Assignment, number: int) -> None:
    if not Turn.objects.filter(
        dialogue_id=assignment.item.dialogue_id, number=number, role=Turn.Role.ASSISTANT
    ).exists():
        raise judging.AnswerRefused("onset", _("Turn %d is not an assistant turn.") % number)
