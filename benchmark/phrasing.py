"""Varied wording from small templates, so that no two conversations sound the same.

A template is plain text with choices in brackets, which may nest, and slots in braces:
`"[Which|What] day [suits you|would be best]?"`, `"Until {day}, then."`. In slot values a `#` stands
for a digit.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping, Sequence

INNERMOST = re.compile(r"\[([^\[\]]*)\]")
SLOT = re.compile(r"\{(\w+)\}")
SENTENCE_START = re.compile(r"(^|[.?!]\s+)([a-z])")
DRAWS = 12


def slots_of(template: str) -> set[str]:
    """Names of the slots a template may need, over all of its choices."""
    return set(SLOT.findall(template))


def expand(template: str, rng: random.Random, values: Mapping[str, str]) -> str:
    """One wording of `template`: choices drawn with equal chance, slots filled, sentences begun
    with a capital.

    Raises KeyError when the template names a slot that has no value.
    """
    text = template
    while INNERMOST.search(text):
        text = INNERMOST.sub(lambda match: rng.choice(match.group(1).split("|")), text)
    text = SLOT.sub(lambda match: values[match.group(1)], text)
    text = re.sub(r"\s+", " ", text).strip()
    return SENTENCE_START.sub(lambda match: match.group(1) + match.group(2).upper(), text)


def draw_value(pattern: str, rng: random.Random) -> str:
    """A slot value: each `#` becomes a digit, the first of them never 0."""
    first = True
    out = []
    for char in pattern:
        if char == "#":
            out.append(str(rng.randint(1 if first else 0, 9)))
            first = False
        else:
            out.append(char)
    return "".join(out)


def draw_text(
    templates: Sequence[str],
    rng: random.Random,
    values: Mapping[str, str],
    *,
    avoid: Collection[str] = (),
) -> str:
    """A wording of one of the templates whose slots all have a value, new if possible.

    Wordings in `avoid` are drawn again a few times; a small template may have no other.

    Raises
    ------
    ValueError
        If every template needs a slot that has no value.
    """
    usable = [template for template in templates if slots_of(template) <= values.keys()]
    if not usable:
        raise ValueError(f"no template of {len(templates)} can be filled; first: {templates[:1]}")
    text = ""
    for _ in range(DRAWS):
        text = expand(rng.choice(usable), rng, values)
        if text not in avoid:
            break
    return text
