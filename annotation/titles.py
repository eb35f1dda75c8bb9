"""Words that would tell an annotator about the design of a study."""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmark.corruption import FRAME

_TELLING = re.compile(
    r"\b(WIC|SSPC|GR|CSC|forks?|forked|foils?|conformant|conformance|corrupt\w*|deviat\w*|"
    r"inject\w*|splic\w*|scripted|off.?track|simulat\w*|"
    # The same in the other languages of the site.
    r"bifurca\w*|señuelos?|conformes?|desvi\w*|"
    r"gegabelt\w*|distraktor\w*|konform\w*|abweich\w*|simulier\w*)\b|"
    r"分叉|干扰|合规|偏离|模拟",
    re.IGNORECASE,
)
_CODE = re.compile(r"\s*\((?:WIC|SSPC|GR|CSC):[^()]*\)\s*\Z")
_BEFORE, _AFTER = FRAME.split(" ({type}", 1)[0].split("{behaviour}")


def revealing_word(title: str) -> str | None:
    """The first word of `title` that speaks of conditions, or None."""
    found = _TELLING.search(title)
    return found.group(0) if found else None


def named_in(text: str, names: Iterable[str]) -> str:
    """The first of `names` that `text` holds as a word of its own, whatever the case; "" for none.

    >>> named_in("Spring round of Nine-2", ["nine", "nine-2"]), named_in("Project", ["pro"])
    ('nine', '')
    """
    for name in filter(None, names):
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            return name
    return ""


def behaviour_of(instruction: str) -> str:
    """What an instruction asks for, without its frame and without the code of its type.

    The frame is the same for all, and the code is the researchers' word: people are asked about
    the behaviour. An instruction that was written elsewhere has no frame and stays as it is.
    """
    text = _CODE.sub("", instruction)
    if text.startswith(_BEFORE) and text.endswith(_AFTER):
        text = text[len(_BEFORE) : -len(_AFTER)] + "."
        text = text[:1].upper() + text[1:]
    return text


def in_words(name: str) -> str:
    """A workflow's name as a title: "hotel_book" becomes "Hotel book"."""
    words = " ".join(re.split(r"[_\-.\s]+", name.strip()))
    return words[:1].upper() + words[1:]
