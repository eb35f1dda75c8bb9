"""What a person says of a run, from the fields of a form to a label, or to a sentence why not.

A place is named by `at`: "3.thought" is the thought of step 3, "final" the final response. A form
is flat: `places` lists what is marked, and "kind-3.thought", "cause-3.thought" and
"evidence-3.thought" say more about one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from annotation.answering import AnswerRefused
from annotation.run_words import TYPE_WORDS, place_in_words
from benchmark.label_records import (
    CAUSES,
    COMPONENTS,
    FLAGS,
    REFERENTIAL,
    RESPONSE,
    SCOPE,
    TYPES,
    PlaceRecord,
)
from benchmark.models import Trajectory

FINAL = "final"
MOST_PLACES = 60
SHORTEST, LONGEST = 10, 4000
YES, NO = ("yes", True), ("no", False)
DETAILS = ("kind", "cause", "evidence")
DETAIL = re.compile(rf"({'|'.join(DETAILS)})-(.+)")
_AT = re.compile(rf"([1-9]\d{{0,5}})\.({'|'.join(COMPONENTS)})")
Content = dict[str, Any]


def at_of(step: int | None, component: str) -> str:
    """The name of a place: the inverse of `parsed`."""
    return FINAL if step is None else f"{step}.{component}"


def parsed(at: object) -> tuple[int | None, str] | None:
    """Step and part that `at` names; None where it names none.

    >>> parsed("3.thought"), parsed("final"), parsed("3.mood")
    ((3, 'thought'), (None, 'response'), None)
    """
    if at == FINAL:
        return None, RESPONSE
    found = _AT.fullmatch(at) if isinstance(at, str) else None
    return (int(found[1]), found[2]) if found else None


def there(run: Trajectory) -> set[str]:
    """Every place that `run` has: parts of steps with a text, and its final response; one query."""
    has = {f"has_{name}": ~Q(**{name: ""}) for name in COMPONENTS}
    rows = run.steps.annotate(**has).values_list("position", *has)
    found = {
        at_of(position, name)
        for position, *parts in rows
        for name, part in zip(COMPONENTS, parts, strict=True)
        if part
    }
    return found | ({FINAL} if run.response else set())


def checked(run: Trajectory, values: Mapping[str, Any]) -> Content:
    """The fields of a LabelRecord that `values` say: present, types, flags, places, rationale.

    `values` are present ("yes", "no" or a bool), types and flags (names), places (objects with
    `at` and, where wanted, `types`, `cause` and `evidence`) and rationale. With "no" the rest but
    the rationale is left out, as are flags without scope and evidence where nothing is referred to.

    Raises AnswerRefused, naming the field, for whatever a review must have and has not.
    """
    for refused in missing(values):
        raise refused
    rationale = _rationale(values.get("rationale") or "")
    if values["present"] in NO:
        return {"present": False, "types": (), "flags": (), "places": (), "rationale": rationale}
    types = _names("types", values.get("types"), TYPES)
    flags = _names("flags", values.get("flags"), FLAGS) if SCOPE in types else ()
    places = _places(run, values.get("places") or (), types)
    return {
        "present": True,
        "types": types,
        "flags": flags,
        "places": places,
        "rationale": rationale,
    }


def missing(values: Mapping[str, Any]) -> Iterator[AnswerRefused]:
    """What a review must have and `values` have not, in the order of the form."""
    present = values.get("present")
    if present not in (*YES, *NO):
        yield AnswerRefused("present", _("Say whether the run makes something up: yes or no."))
    if present not in YES:
        return
    if not values.get("types"):
        yield AnswerRefused("types", _("Choose at least one type."))
    if SCOPE in (values.get("types") or ()) and not values.get("flags"):
        yield AnswerRefused("flags", _("Say how it leaves its scope: one of the two, or both."))
    if not values.get("places"):
        yield AnswerRefused("places", _("Mark at least one place where it happens."))
    if len(str(values.get("rationale") or "").strip()) < SHORTEST:
        yield AnswerRefused("rationale", _("Say why, in %d characters or more.") % SHORTEST)


def flat(content: Mapping[str, Any]) -> Content:
    """A label as the fields of a form say it: what `places_of` takes apart again."""
    found: Content = {
        "present": "yes" if content["present"] else "no",
        "types": list(content["types"]),
        "flags": list(content["flags"]),
        "places": [],
        "rationale": content["rationale"],
    }
    for place in content["places"]:
        at = at_of(place.step, place.component)
        if at not in found["places"]:
            found["places"].append(at)
        if place.type:
            found.setdefault(f"kind-{at}", []).append(place.type)
        for name, value in (("cause", place.cause), ("evidence", place.evidence)):
            if value:
                found[f"{name}-{at}"] = value
    return found


def places_of(values: Mapping[str, Any]) -> list[Content]:
    """The places that a flat form marks, each with what it says more about it."""
    return [
        {
            "at": at,
            "types": values.get(f"kind-{at}") or [],
            "cause": values.get(f"cause-{at}") or "",
            "evidence": values.get(f"evidence-{at}") or None,
        }
        for at in values.get("places") or ()
    ]


def _rationale(text: object) -> str:
    words = str(text).replace("\r\n", "\n").strip()
    if "\x00" in words:
        raise AnswerRefused("rationale", _("The reason holds a character that is no text."))
    if len(words) > LONGEST:
        raise AnswerRefused("rationale", _("Keep the reason under %d characters.") % LONGEST)
    return words


def _names(field: str, given: object, allowed: Sequence[str]) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else list(given or ())  # type: ignore[call-overload]
    for name in names:
        if name not in allowed:
            known = ", ".join(allowed)
            raise AnswerRefused(field, _("Choose among: %(known)s.") % {"known": known})
    return tuple(name for name in allowed if name in names)


def _places(
    run: Trajectory, given: Sequence[Mapping[str, Any]], types: Sequence[str]
) -> tuple[PlaceRecord, ...]:
    known = there(run)
    if len(given) > MOST_PLACES:
        raise AnswerRefused("places", _("Mark at most %d places.") % MOST_PLACES)
    found: dict[tuple[str, str], PlaceRecord] = {}
    for value in given:
        at = value.get("at")
        if at not in known:
            raise AnswerRefused("places", _("Mark a part of a step that this run has."))
        for place in _place(run, at, value, types):
            found.setdefault((at, place.type), place)
    return tuple(found.values())


def _place(
    run: Trajectory, at: str, value: Mapping[str, Any], types: Sequence[str]
) -> list[PlaceRecord]:
    """One record, or one per type where the place shows some of the types only."""
    step, component = parsed(at) or (None, RESPONSE)
    where = place_in_words(step, component)
    shown = _names("places", value.get("types"), TYPES)
    if foreign := [name for name in shown if name not in types]:
        words = {"where": where, "type": str(TYPE_WORDS[foreign[0]]).lower()}
        raise AnswerRefused(
            "places", _("%(where)s: %(type)s is not among the types you chose.") % words
        )
    cause = value.get("cause") or ""
    if cause not in ("", *CAUSES):
        known = ", ".join(CAUSES)
        raise AnswerRefused(
            "places", _("%(where)s: choose among %(known)s.") % {"where": where, "known": known}
        )
    evidence = _evidence(value.get("evidence"), (step or run.n_steps + 1) - 1, where)
    kinds = shown if set(shown) != set(types) else ("",)
    return [
        PlaceRecord(step, component, kind, cause, evidence if _refers(kind, types) else None)
        for kind in kinds or ("",)
    ]


def _refers(kind: str, types: Sequence[str]) -> bool:
    return kind == REFERENTIAL or (not kind and REFERENTIAL in types)


def _evidence(given: object, last: int, where: str) -> int | None:
    """The number of a step up to `last`, None where none is given."""
    if given in (None, ""):
        return None
    text = str(given)
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= last):
        raise AnswerRefused(
            "places", _("%s: the evidence must be an earlier step of this run.") % where
        )
    return int(text)
