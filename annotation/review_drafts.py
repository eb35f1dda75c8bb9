"""What may stand in the draft of a step of an agent run: incomplete, but never without bounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext as _

from annotation.answering import AnswerRefused, Step
from annotation.models import JudgeComparison
from annotation.review_answers import (
    DETAIL,
    DETAILS,
    FINAL,
    LONGEST,
    MOST_PLACES,
    parsed,
)
from annotation.review_links import PARTS
from annotation.reviewing import LONGEST_NOTE
from benchmark.label_records import CAUSES, FLAGS, TYPES
from benchmark.models import Trajectory

REVIEW_FIELDS = ("present", "types", "flags", "places", "rationale")
COMPARE_FIELDS = ("agreement", "on", "note", "changed")
ONE: Mapping[str, Collection[str]] = {
    "present": ("yes", "no"),
    "agreement": JudgeComparison.Agreement.values,
    "changed": ("yes", "no"),
    "cause": CAUSES,
}
SOME: Mapping[str, Collection[str]] = {
    "types": TYPES,
    "flags": FLAGS,
    "on": PARTS,
    "kind": TYPES,
}
WORDS = {"rationale": LONGEST, "note": LONGEST_NOTE}
# As many characters again may stand in a text that is not confirmed yet.
ROOM = 2


def clean(run_id: int, step: Step, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` of a draft as they are stored: flat, as the form sends them; empty ones left out.

    Raises AnswerRefused for a field that the step's form does not have, or a value it would refuse
    whatever else is entered.
    """
    kept: dict[str, Any] = {}
    for name, value in values.items():
        detail = DETAIL.fullmatch(name) if step != "compare" else None
        fields = COMPARE_FIELDS if step == "compare" else REVIEW_FIELDS
        if name not in fields and not (detail and parsed(detail[2])):
            raise AnswerRefused("values", _unknown(step, name))
        if value not in ("", None, []):
            kept[name] = _value(detail[1] if detail else name, name, value)
    _require_steps(run_id, kept)
    marked = set(kept.get("places", ()))
    details = {name: DETAIL.fullmatch(name) for name in kept}
    return {n: v for n, v in kept.items() if not (d := details[n]) or d[2] in marked}


def _unknown(step: Step, name: str) -> str:
    fields = list(COMPARE_FIELDS)
    if step != "compare":
        fields = [*REVIEW_FIELDS, *(f"{one}-PLACE" for one in DETAILS)]
    return f"{name[:40]!r} is no field of this step; it has: {', '.join(fields)}."


def _value(kind: str, name: str, value: Any) -> Any:
    if kind in ONE:
        if not isinstance(value, str) or value not in ONE[kind]:
            raise AnswerRefused(name, f"{name} must be one of {', '.join(ONE[kind])}.")
        return value
    if kind in SOME:
        return _list(name, value, SOME[kind])
    if kind == "places":
        return _places(name, value)
    if kind == "evidence":
        text = str(value)
        whole = isinstance(value, int | str) and not isinstance(value, bool)
        if not whole or not (text.isascii() and text.isdigit() and len(text) <= 6):
            raise AnswerRefused(name, f"{name} must be the number of a step.")
        return text
    if not isinstance(value, str) or "\x00" in value or len(value) > ROOM * WORDS[kind]:
        raise AnswerRefused(name, _("Keep it under %d characters.") % WORDS[kind])
    # Half an emoji, where a length cut it in two: a text of JSON may hold it, a database may not.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _list(name: str, value: Any, allowed: Collection[str]) -> list[str]:
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    if not texts or not set(value) <= set(allowed):
        raise AnswerRefused(name, f"{name} must be a list of some of {', '.join(allowed)}.")
    return [one for one in allowed if one in value]


def _places(name: str, value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > MOST_PLACES:
        raise AnswerRefused(name, f"{name} must be a list of at most {MOST_PLACES} places.")
    for at in value:
        if parsed(at) is None:
            raise AnswerRefused(name, f"a place is {FINAL} or such as 3.thought, not {at!r:.40}.")
    return list(dict.fromkeys(value))


def _require_steps(run_id: int, kept: Mapping[str, Any]) -> None:
    """Refuse a place of a step that the run does not have; one query, where there are places."""
    numbers = [found[0] or 0 for at in kept.get("places", ()) if (found := parsed(at))]
    if not numbers:
        return
    n_steps = Trajectory.objects.values_list("n_steps", flat=True).get(pk=run_id)
    if max(numbers) > n_steps:
        raise AnswerRefused("places", _("There is no step %d in this run.") % max(numbers))
