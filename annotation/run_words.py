"""The words of a review, as people read them: types, flags, parts of a step, causes, places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from benchmark.label_records import (
    ACTION,
    FACTUAL,
    LOGICAL,
    OBSERVATION,
    PROCEDURAL,
    PROPAGATED,
    REFERENTIAL,
    RESPONSE,
    ROLE_BREACH,
    ROOT,
    SCOPE,
    TARGET_CHANGE,
    THOUGHT,
    TYPES,
)

TYPE_WORDS: Mapping[str, Any] = {
    FACTUAL: gettext_lazy("Factual"),
    REFERENTIAL: gettext_lazy("Referential"),
    LOGICAL: gettext_lazy("Logical"),
    PROCEDURAL: gettext_lazy("Procedural"),
    SCOPE: gettext_lazy("Scope"),
}
TYPE_HINTS: Mapping[str, Any] = {
    FACTUAL: gettext_lazy("says what the data contradict"),
    REFERENTIAL: gettext_lazy("names what the run never had"),
    LOGICAL: gettext_lazy("concludes what does not follow"),
    PROCEDURAL: gettext_lazy("skips, swaps or invents a needed step"),
    SCOPE: gettext_lazy("leaves its own task"),
}
FLAG_WORDS: Mapping[str, Any] = {
    ROLE_BREACH: gettext_lazy("An agent does what is not its job"),
    TARGET_CHANGE: gettext_lazy("Another question is answered"),
}
COMPONENT_WORDS: Mapping[str, Any] = {
    THOUGHT: gettext_lazy("Thought"),
    ACTION: gettext_lazy("Action"),
    OBSERVATION: gettext_lazy("Observation"),
    RESPONSE: gettext_lazy("Response"),
}
# The same within a sentence, where English has small letters and other languages have their own.
PART_WORDS: Mapping[str, Any] = {
    THOUGHT: pgettext_lazy("part of a step", "thought"),
    ACTION: pgettext_lazy("part of a step", "action"),
    OBSERVATION: pgettext_lazy("part of a step", "observation"),
    RESPONSE: pgettext_lazy("part of a step", "response"),
}
# Why a run is skipped, where the words for conversations would not do.
SKIP_WORDS: Mapping[str, Any] = {
    "cut_off": gettext_lazy("The run is cut off or broken"),
    "known": gettext_lazy("I know this run from elsewhere"),
}
CAUSE_WORDS: Mapping[str, Any] = {
    ROOT: gettext_lazy("It begins here"),
    PROPAGATED: gettext_lazy("Comes from an earlier step"),
}


def types_in_words(types: Iterable[str]) -> str:
    """Such as "factual, logical", in the order of the types."""
    chosen = set(types)
    return ", ".join(str(TYPE_WORDS[name]).lower() for name in TYPES if name in chosen)


def label_in_words(present: bool, types: Iterable[str]) -> str:
    """Such as "yes: factual, logical", or "no"."""
    if not present:
        return _("no")
    return _("yes: %(types)s") % {"types": types_in_words(types)} if list(types) else _("yes")


def place_in_words(step: int | None, component: str) -> str:
    """Such as "Step 3, thought", or "Final response"."""
    if step is None:
        return _("Final response") if component else _("No step named")
    if not component:
        return _("Step %(number)d") % {"number": step}
    words = {"number": step, "part": PART_WORDS[component]}
    return _("Step %(number)d, %(part)s") % words
