"""The oddities of STAR dialogues, each under its own name: found, counted, and kept as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

TURN_EVENTS = {
    ("User", "utter"): "user",
    ("Wizard", "utter"): "assistant",
    ("Wizard", "pick_suggestion"): "assistant",
}
TEXT_EVENTS = {*TURN_EVENTS, ("Wizard", "request_suggestions")}
KNOWN_EVENTS = {
    *TEXT_EVENTS,
    ("UserGuide", "instruct"),
    ("Wizard", "query"),
    ("KnowledgeBase", "return_item"),
    ("Wizard", "select_task"),
    ("User", "complete"),
    ("Wizard", "select_primary"),
    ("Wizard", "select_secondary"),
}


def kind_of(event: Mapping[str, Any]) -> tuple[str, str]:
    """(agent, action) of an event, "" where absent."""
    return str(event.get("Agent", "")), str(event.get("Action", ""))


def quirks_of(data: Mapping[str, Any], replies: frozenset[str] | None) -> Counter[str]:
    """How often each quirk occurs in a dialogue; a name that does not occur is absent.

    `replies` are the labels that the workflows of the dialogue's tasks know; None when no workflow
    of them is at hand, and then unknown labels cannot be told.
    """
    events = data["Events"]
    kinds = [kind_of(event) for event in events]
    found = [*_of_scenario(data), *_of_course(kinds)]
    for event, kind in zip(events, kinds, strict=True):
        found += _of_texts(event, kind)
        found += _of_wizard(event, kind, replies)
        found += _of_lookups(event, kind)
    return Counter(found)


def _of_scenario(data: Mapping[str, Any]) -> Iterable[str]:
    level = data.get("CompletionLevel")
    if level != "Complete":
        yield f"CompletionLevel {level}"
    if data.get("IntroducesConflicts") is True:
        yield "IntroducesConflicts true"
    scenario = data["Scenario"]
    if None in (scenario.get("Domains") or ()):
        yield "Scenario.Domains contains null"
    if any(c.get("Domain") is None for c in scenario.get("WizardCapabilities") or ()):
        yield "WizardCapabilities[].Domain null"
    for key in ("UserQuestionnaire", "WizardQuestionnaire"):
        answers = data.get(key) or []
        if not answers:
            yield f"{key} empty list"
        yield from [f"{key} Answer bool"] * sum(isinstance(a.get("Answer"), bool) for a in answers)


def _of_course(kinds: Sequence[tuple[str, str]]) -> Iterable[str]:
    if not kinds:
        yield "no events"
    if ("User", "complete") not in kinds:
        yield "no User/complete event"
    if kinds and kinds[-1] != ("User", "complete"):
        yield "last event is not complete"
    roles = [TURN_EVENTS[k] for k in kinds if k in TURN_EVENTS]
    if "user" not in roles:
        yield "no user utterance"
    if "assistant" not in roles:
        yield "no wizard utterance"
    if not roles:
        yield "no utterance at all"
    for earlier, later in pairwise(roles):
        if earlier == later:
            yield "consecutive utterances by same speaker"
            if later == "user":
                yield "consecutive user utterances"
    if any(k not in KNOWN_EVENTS for k in kinds):
        yield "event of an unknown kind"


def _of_texts(event: Mapping[str, Any], kind: tuple[str, str]) -> Iterable[str]:
    if kind not in TEXT_EVENTS:
        return
    name = "/".join(kind)
    text = event.get("Text")
    if not isinstance(text, str):
        yield f"Text missing {name}"
        return
    if text != text.strip():
        yield f"Text with leading/trailing whitespace {name}"
    if "\t" in text:
        yield f"Text contains tab {name}"
    if "\n" in text:
        yield f"Text contains newline {name}"
    if not text.isascii():
        yield "Text non-ASCII"
        if any(ord(c) > 0xFFFF for c in text):
            yield "Text astral (emoji)"


def _of_wizard(
    event: Mapping[str, Any], kind: tuple[str, str], replies: frozenset[str] | None
) -> Iterable[str]:
    if kind[0] != "Wizard":
        return
    label = event.get("ActionLabel")
    if kind == ("Wizard", "utter"):
        if label:
            yield "Wizard/utter WITH ActionLabel (post-annotated)"
        else:
            yield "Wizard/utter without ActionLabel"
    if label and replies is not None and label not in replies:
        yield "ActionLabel not in replies of any capability task"
    options = event.get("ActionLabelOptions") or ()
    if len(set(map(str, options))) < len(options):
        yield "duplicate ActionLabelOptions"
    if event.get("PostAnnotation"):
        yield "PostAnnotation present"


def _of_lookups(event: Mapping[str, Any], kind: tuple[str, str]) -> Iterable[str]:
    if kind == ("Wizard", "query") and not event.get("Constraints"):
        yield "query with empty Constraints"
    if kind == ("KnowledgeBase", "return_item"):
        total = event.get("TotalItems")
        if isinstance(total, int) and total < 0:
            yield "TotalItems negative"
        if not event.get("Item"):
            yield "return_item without Item"
