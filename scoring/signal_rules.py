"""Rules over yes-or-no signals, such as `not a and (b or at least 2 of (c, d, e))`.

A signal can be unknown. A rule then follows Kleene's strong logic: `a and b` is no as soon as one
is no, unknown where the known ones leave it open. A rule alarms only where it is yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

MOST_CHARACTERS, MOST_DEPTH = 2000, 40
_TOKEN = re.compile(r"\s*(?:(?P<mark>[(),])|(?P<word>[^\s(),]+))")
_NAME = re.compile(r"[A-Za-z_][\w.:-]*\Z")
_WORDS = ("and", "or", "not", "at", "least", "of")

Known = Mapping[str, bool | None]
Test = Callable[[Known], bool | None]


class BadRule(ValueError):
    """A rule that cannot be read; `place` counts its characters from 1."""

    def __init__(self, place: int, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(f"character {place}: {reason}")


@dataclass(frozen=True)
class Rule:
    """A rule as read: its text, the signals it names in order, and its test."""

    text: str
    names: tuple[str, ...]
    _test: Test

    def __call__(self, known: Known) -> bool | None:
        """Whether the rule alarms; None where unknown signals leave it open.

        `known` maps names to True, False or None; a name that is not there is unknown.
        """
        return self._test(known)


def parse(text: str, allowed: Sequence[str] | None = None) -> Rule:
    """`text` as a rule; `allowed` are the names of signals that may stand in it (None: any).

    The grammar, loosest first: `or`, `and`, `not`, then a name, `( ... )`, or
    `at least N of (a, b, ...)` whose parts are rules themselves. Words are not case-sensitive,
    names are.

    Raises BadRule, naming the character and what may stand there.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadRule(MOST_CHARACTERS + 1, f"a rule has at most {MOST_CHARACTERS} characters")
    reader = _Reader(text, allowed)
    test = reader.either(0)
    if reader.token is not None:
        raise BadRule(reader.place, f"{reader.token!r} is not expected here; write and, or or")
    return Rule(text.strip(), tuple(dict.fromkeys(reader.names)), test)


class _Reader:
    """The tokens of a rule, read one after the other."""

    def __init__(self, text: str, allowed: Sequence[str] | None) -> None:
        self.text, self.allowed = text, allowed
        self.names: list[str] = []
        self.token: str | None = None
        self.place, self._after = 1, 0
        self.advance()

    def advance(self) -> None:
        """Go on to the next token; None behind the last."""
        match = _TOKEN.match(self.text, self._after)
        if match is None:
            self.token, self.place = None, len(self.text) + 1
            return
        self.token = match["mark"] or match["word"]
        self.place = match.end() - len(self.token) + 1
        self._after = match.end()

    def is_word(self, word: str) -> bool:
        return self.token is not None and self.token.lower() == word

    def take(self, wanted: str) -> None:
        if not self.is_word(wanted):
            raise BadRule(self.place, f"{wanted!r} is expected, not {self._here()}")
        self.advance()

    def either(self, depth: int) -> Test:
        return self._joined("or", self.both, any_of, depth)

    def both(self, depth: int) -> Test:
        return self._joined("and", self.single, all_of, depth)

    def single(self, depth: int) -> Test:
        if depth > MOST_DEPTH:
            raise BadRule(self.place, f"nested deeper than {MOST_DEPTH} levels")
        if self.is_word("not"):
            self.advance()
            inner = self.single(depth + 1)
            return lambda known: negated(inner(known))
        if self.is_word("("):
            self.advance()
            inner = self.either(depth + 1)
            self.take(")")
            return inner
        if self.is_word("at"):
            return self._at_least(depth)
        return self._signal()

    def _joined(
        self,
        word: str,
        part: Callable[[int], Test],
        join: Callable[[Sequence[bool | None]], bool | None],
        depth: int,
    ) -> Test:
        parts = [part(depth)]
        while self.is_word(word):
            self.advance()
            parts.append(part(depth))
        return parts[0] if len(parts) == 1 else lambda known: join([p(known) for p in parts])

    def _at_least(self, depth: int) -> Test:
        self.advance()
        self.take("least")
        wanted, place = self.token or "", self.place
        if not (wanted.isascii() and wanted.isdigit() and len(wanted) <= 3 and int(wanted)):
            raise BadRule(place, f"a whole number from 1 is expected, not {self._here()}")
        self.advance()
        self.take("of")
        self.take("(")
        parts = [self.either(depth + 1)]
        while self.is_word(","):
            self.advance()
            parts.append(self.either(depth + 1))
        self.take(")")
        n = int(wanted)
        if n > len(parts):
            raise BadRule(place, f"at least {n} of {len(parts)} can never be")
        return lambda known: at_least(n, [part(known) for part in parts])

    def _signal(self) -> Test:
        name = self.token
        if name is None or name.lower() in _WORDS or not _NAME.match(name):
            raise BadRule(self.place, f"the name of a signal is expected, not {self._here()}")
        if self.allowed is not None and name not in self.allowed:
            known = ", ".join(self.allowed) or "none"
            raise BadRule(self.place, f"there is no signal {name!r}; there are: {known}")
        self.names.append(name)
        self.advance()
        return lambda known: known.get(name)

    def _here(self) -> str:
        return "the end" if self.token is None else repr(self.token[:40])


def negated(value: bool | None) -> bool | None:
    """No for yes, yes for no, unknown for unknown."""
    return None if value is None else not value


def all_of(values: Sequence[bool | None]) -> bool | None:
    """No where one is no, else unknown where one is unknown."""
    return False if False in values else None if None in values else True


def any_of(values: Sequence[bool | None]) -> bool | None:
    """Yes where one is yes, else unknown where one is unknown."""
    return True if True in values else None if None in values else False


def at_least(n: int, values: Sequence[bool | None]) -> bool | None:
    """Whether `n` of the values are yes; unknown while the unknown ones can decide it."""
    sure = sum(value is True for value in values)
    if sure >= n:
        return True
    return None if sure + sum(value is None for value in values) >= n else False
