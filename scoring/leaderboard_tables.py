"""Leaderboards as tables: columns of each task, rows in order, and who is told apart from whom.

The layouts follow tables 2 to 4 of the DialFork paper: one row per method and encoder, one column
per type of fork and their average. A value that does not exist is None with a reason and is sorted
last in both directions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.records import FORK_TYPES
from scoring.methods import CONTROL, METHODS

AVERAGE, CONFORMANT = "all", "conformant"
TAU, SHARE, PERCENT, TURNS, P, SCORE = "tau", "share", "percent", "turns", "p", "score"
LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True, slots=True)
class Column:
    """A column: which result it shows. `key` is its name in addresses, `form` how it is written.

    `higher` says whether more is better.
    """

    key: str
    statistic: str
    group: str
    label: str
    form: str
    higher: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A result: a value with its 95 % interval and n, or None with the reason."""

    value: float | None
    reason: str = ""
    n: int = 0
    skipped: int = 0
    low: float | None = None
    high: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    """The reference minus a row of the board: mean, 95 % interval, p after Holm (None where the
    test is undefined) and the number of pairs."""

    value: float | None
    reason: str = ""
    n: int = 0
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def tied(self) -> bool:
        """Whether the interval of the difference holds 0."""
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high

    @property
    def marks(self) -> str:
        """One star for p < .05, two for p < .01, three for p < .001; "" otherwise."""
        if self.p is None:
            return ""
        return next((mark for level, mark in LEVELS if self.p < level), "")

    @property
    def shown(self) -> str:
        """The difference with its sign; an en dash where there is none."""
        return "–" if self.value is None else f"{self.value:+.3f}"

    @property
    def p_shown(self) -> str:
        return written(self.p, P)


@dataclass(frozen=True, slots=True)
class Entry:
    """A run on the board. `settings` are those that tell it from others or from the defaults."""

    run: int
    method: str
    label: str
    origin: str
    encoder: str
    settings: tuple[str, ...]
    parameters: Mapping[str, Any]
    cells: Mapping[str, Cell]

    @property
    def control(self) -> bool:
        return self.origin == CONTROL

    @property
    def name(self) -> str:
        """Method, encoder and settings in one line, for charts and files."""
        return ", ".join(part for part in (self.label, self.encoder, *self.settings) if part)


def promise_words(entry: Entry, cell: Cell) -> str:
    """What a rate of false alarms was to be: the promise of the form that gives one, and what its
    threshold leads one to expect (per cent); "" where the threshold is not conformal."""
    expected = cell.detail.get("expectation")
    if expected is None:
        return ""
    settings = entry.parameters.get("settings") or {}
    said = f"expected {expected:.1f} %"
    if (entry.method, settings.get("form")) in PROMISING or settings.get("form") == "split":
        said = f"promised at most {100 * cell.detail['alpha']:g} %, {said}"
    else:
        said = f"no promise, {said}"
    silent = cell.detail.get("silent_workflows")
    return said + (f"; {silent} workflows too small for any alarm" if silent else "")


# Only the exact form lets the watched dialogue take part, on which the promise rests.
PROMISING = {("novelty", "exact")}


def columns(task: str, *, fork_type: str = "", k: int = 0) -> list[Column]:
    """The columns of a task; with `fork_type` only that type, with `k` only what depends on k."""
    groups = [fork_type] if fork_type else [*FORK_TYPES, AVERAGE]
    group = fork_type or AVERAGE
    if task == "task3":
        return _onset_columns(groups, group, k)
    found = [_column("tau", name, _head(name), TAU, True) for name in groups]
    found.append(_column("exact_recovery", group, "Exact order", SHARE, True))
    if task == "task1":
        found.append(_column("fisher_p", group, "p against chance", P, False))
    elif not fork_type:
        found.append(_column("sixteen", AVERAGE, "All 16 together", TAU, True))
    return found


def known_keys(task: str) -> list[str]:
    """Keys of every column that the task has under some filter, and the two of the names."""
    found = [column.key for column in columns(task)]
    found += [column.key for name in FORK_TYPES for column in columns(task, fork_type=name)]
    return ["method", "encoder", *dict.fromkeys(found)]


def _onset_columns(groups: Sequence[str], group: str, k: int) -> list[Column]:
    found = [_column("error", name, _head(name), TURNS, False) for name in groups]
    found += [
        _column("coverage", group, "Forks flagged", PERCENT, True),
        _column("exact_hit", group, "Exact turn", PERCENT, True),
    ]
    if k:
        return found
    return [
        *found,
        _column("conformant_error", CONFORMANT, "Conformant error", TURNS, False),
        _column("false_alarms", CONFORMANT, "False alarms", PERCENT, False),
        _column("score", AVERAGE, "Score", SCORE, True),
    ]


def _column(statistic: str, group: str, label: str, form: str, higher: bool) -> Column:
    return Column(f"{statistic}-{group}", statistic, group, label, form, higher)


def _head(group: str) -> str:
    return "Average" if group == AVERAGE else group


def main_column(shown: Sequence[Column], *, fork_type: str = "") -> Column:
    """The column that ranks: the Score where the types are taken together, else the average (or
    the chosen type) of the first statistic."""
    scores = [column for column in shown if column.statistic == "score"]
    if scores and not fork_type:
        return scores[0]
    return [column for column in shown if column.statistic == shown[0].statistic][-1]


def occurring(shown: Sequence[Column], entries: Sequence[Entry]) -> list[Column]:
    """The columns that some run has a result for; the first of them stay in any case."""
    lead = shown[0].statistic
    return [
        column
        for column in shown
        if column.statistic == lead or any(column.key in entry.cells for entry in entries)
    ]


def ordered(entries: Iterable[Entry], sort: str, shown: Sequence[Column]) -> list[Entry]:
    """The entries by a column (`sort` is its key, with "-" before it from high to low) or by
    "method" or "encoder". Entries without a value come last in both directions."""
    down, key = sort.startswith("-"), sort.removeprefix("-")
    rows = sorted(entries, key=lambda entry: (entry.label, entry.encoder, entry.run))
    if key in ("method", "encoder"):
        return sorted(rows, key=lambda e: _text(e, key), reverse=down)
    if key not in {column.key for column in shown}:
        raise ValueError(f"there is no column {key!r}")
    defined = [entry for entry in rows if _value(entry, key) is not None]
    rest = [entry for entry in rows if _value(entry, key) is None]
    return sorted(defined, key=lambda entry: _value(entry, key), reverse=down) + rest


def _text(entry: Entry, key: str) -> tuple[str, ...]:
    pair = (entry.label, entry.encoder)
    return pair if key == "method" else pair[::-1]


def _value(entry: Entry, key: str) -> float | None:
    cell = entry.cells.get(key)
    return cell.value if cell else None


def best_first(column: Column) -> str:
    """The value of `sort` that puts the best of a column on top."""
    return f"-{column.key}" if column.higher else column.key


def best(entries: Iterable[Entry], column: Column) -> Entry | None:
    """The best entry that is no control; None where none has a value."""
    found = [e for e in entries if not e.control and _value(e, column.key) is not None]
    found.sort(key=lambda e: (_value(e, column.key), -e.run), reverse=column.higher)
    return found[0] if found else None


def settings_words(task: str, entries: Sequence[tuple[str, Mapping[str, Any]]]) -> list[list[str]]:
    """For each (method, settings) what to say of its settings.

    A setting is named where it is not the default, or where rows of the method differ in it.
    """
    seen: dict[tuple[str, str], set[str]] = {}
    for method, settings in entries:
        for name, value in settings.items():
            seen.setdefault((method, name), set()).add(repr(value))
    return [
        [
            words(task, method, name, value)
            for name, value in settings.items()
            if len(seen[method, name]) > 1 or value != default_of(task, method, name)
        ]
        for method, settings in entries
    ]


def default_of(task: str, method: str, name: str) -> Any:
    known = METHODS[task].get(method)
    return next((s.default for s in known.settings if s.name == name), None) if known else None


SHORT = {
    "order": "N = {}",
    "alpha": "alpha {}",
    "discount": "discount {}",
    "threshold": "clusters cut at {}",
    "seed": "seed {}",
    "form": "{}",
    "matching": "{} matching",
    "calibration": "{} threshold",
    "clusters": "{} clusters",
    "rounds": "{} clusterings",
    "pairs": "{} pairs",
}
SWITCHES = {
    "node_confidence": ("with NC", "without NC"),
    "same_role": ("same role", "any role"),
    "other_workflows": ("knows the other workflows", "knows its own workflow only"),
}


def words(task: str, method: str, name: str, value: Any) -> str:
    """A setting in few words, such as "N = 6" or "with NC"."""
    if name in SWITCHES and isinstance(value, bool):
        return SWITCHES[name][0 if value else 1]
    text = str(value).replace("_", " ") if isinstance(value, str) else f"{value}"
    return SHORT.get(name, name.replace("_", " ") + " {}").format(text)


def written(value: float | None, form: str) -> str:
    """A value as the table prints it; an en dash where there is none."""
    if value is None:
        return "–"
    if form in (SHARE, PERCENT):
        return f"{value * (100 if form == SHARE else 1):.1f} %"
    if form == P:
        return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
    text = f"{value:.3f}" if form == TAU else f"{value:.2f}"
    # What rounds to nothing has no sign.
    return text.removeprefix("-") if float(text) == 0 else text
