"""Words that would tell an annotator about the design of a study."""

from __future__ import annotations

import re

_TELLING = re.compile(
    r"\b(WIC|SSPC|GR|CSC|forks?|forked|foils?|conformant|conformance|corrupt\w*|deviat\w*|"
    r"inject\w*|splic\w*|scripted|off.?track|simulat\w*)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"\s*\((?:WIC|SSPC|GR|CSC):[^()]*\)\s*\Z")


def revealing_word(title: str) -> str | None:
    """The first word of `title` that speaks of conditions, or None."""
    found = _TELLING.search(title)
    return found.group(0) if found else None


def behaviour_of(instruction: str) -> str:
    """An instruction without the code of its type at the end.

    The code is the researchers' word for it; people are asked about the behaviour.
    """
    return _CODE.sub("", instruction)


def in_words(name: str) -> str:
    """A workflow's name as a title: "hotel_book" becomes "Hotel book"."""
    words = " ".join(re.split(r"[_\-.\s]+", name.strip()))
    return words[:1].upper() + words[1:]
