"""Figures of leaderboards: the value of each row per type, and of each method by encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.charts import INKS, SHAPES, Figure, axis, layout, line_numbers, plain
from scoring.leaderboard_tables import AVERAGE, Cell, Column, Entry, written

MOST_BARS = 16
# Lines of one colour are told apart by their dashes and by the label at their end.
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def type_bars(
    entries: Sequence[Entry], column: Column, *, beside: Sequence[Column] = ()
) -> Figure | None:
    """One value per method for a type of fork, with its interval; None where no row has one.

    At most MOST_BARS rows, in the order given. `beside` are the columns of the figures that stand
    beside this one: all have the same axis.
    """
    shown = _shown(entries, column)
    if not shown:
        return None
    cells = [cell for each in (column, *beside) for _, cell in _shown(entries, each)]
    places = list(range(len(shown)))
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": places,
        "x": [cell.value for _, cell in shown],
        "marker": {"color": "--surface-3", "line": {"color": "--line-strong", "width": 1}},
        "hoverinfo": "skip",
    }
    left_out = len([e for e in entries if _defined(e, column.key)]) - len(shown)
    return Figure(
        name=column.key,
        heading=_leader(shown, column),
        note=f"{_statistic(column)} with 95 % interval. n = {_range([c.n for _, c in shown])}."
        + (f" The first {len(shown)} of {len(shown) + left_out} rows." if left_out else ""),
        label=f"{column.group}, {_statistic(column)}: "
        + "; ".join(f"{e.name} {written(c.value, column.form)}" for e, c in shown),
        drawing={
            "data": [bars, _points([cell for _, cell in shown], column)],
            "layout": layout(
                50 + 36 * len(shown),
                axis("", range=_range_of(cells, column)),
                axis(
                    showgrid=False,
                    ticks="",
                    range=[len(shown) - 0.5, -0.5],
                    tickmode="array",
                    tickvals=places,
                    ticktext=[_lines(entry) for entry, _ in shown],
                ),
                margin={"l": 8, "r": 52, "t": 4, "b": 28},
                bargap=0.45,
                shapes=[_zero()],
                annotations=[_number(place, cell, column) for place, (_, cell) in enumerate(shown)],
            ),
        },
        columns=("method", "encoder", "settings", "value", "low", "high", "n", "left out", "run"),
        rows=[
            (
                entry.label,
                entry.encoder,
                ", ".join(entry.settings),
                cell.value,
                cell.low,
                cell.high,
                cell.n,
                cell.skipped,
                entry.run,
            )
            for entry, cell in shown
        ],
    )


def _shown(entries: Sequence[Entry], column: Column) -> list[tuple[Entry, Cell]]:
    return [(e, e.cells[column.key]) for e in entries if _defined(e, column.key)][:MOST_BARS]


def _leader(shown: Sequence[tuple[Entry, Cell]], column: Column) -> str:
    """The heading: the best row, and how many the intervals do not tell from it."""
    entry, best = (max if column.higher else min)(shown, key=lambda pair: pair[1].value or 0.0)
    text = f"{column.group}: {entry.label} {written(best.value, column.form)}"
    near = sum(_overlap(best, cell) for other, cell in shown if other is not entry)
    if not near:
        return f"{text}, {'highest' if column.higher else 'lowest'}"
    return f"{text}, and {near} more whose interval meets its own"


def _overlap(a: Cell, b: Cell) -> bool:
    ends = (a.low, a.high, b.low, b.high)
    if any(end is None for end in ends):
        return a.value == b.value
    return a.low <= b.high and b.low <= a.high


def _defined(entry: Entry, key: str) -> bool:
    return key in entry.cells and entry.cells[key].value is not None


def _lines(entry: Entry) -> str:
    """The name of a row on two lines, so that the bars keep their room on a narrow page."""
    below = ", ".join(part for part in (entry.encoder, *entry.settings) if part)
    return plain(entry.label) + (f"<br>{plain(below)}" if below else "")


def _statistic(column: Column) -> str:
    return {"tau": "Kendall's tau", "error": "Mean error in turns"}.get(
        column.statistic, column.label
    )


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _range_of(cells: Sequence[Cell], column: Column) -> list[float]:
    ends = [v for c in cells for v in (c.value, c.low, c.high) if v is not None]
    high = 1.0 if column.form == "tau" else max(ends) or 1.0
    low = min(0.0, *ends)
    room = 0.03 * (high - low)
    return [low - room if low < 0 else 0.0, high + room]


def _zero() -> dict[str, Any]:
    line = {"color": "--line-strong", "width": 1}
    return {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _points(cells: Sequence[Cell], column: Column) -> dict[str, Any]:
    """The values as marks of the type, with error bars."""
    return {
        "type": "scatter",
        "mode": "markers",
        "y": list(range(len(cells))),
        "x": [cell.value for cell in cells],
        "text": [written(cell.value, column.form) for cell in cells],
        "cliponaxis": False,
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [_reach(cell.value, cell.high) for cell in cells],
            "arrayminus": [_reach(cell.low, cell.value) for cell in cells],
            "thickness": 2,
            "width": 0,
            "color": INKS.get(column.group, "--text"),
        },
        "marker": {
            "color": INKS.get(column.group, "--text"),
            "symbol": SHAPES.get(column.group, "circle"),
            "size": 8,
        },
        "hoverinfo": "text",
    }


def _reach(low: float | None, high: float | None) -> float:
    return 0.0 if low is None or high is None else max(high - low, 0.0)


def _number(place: int, cell: Cell, column: Column) -> dict[str, Any]:
    """The number of a row in the right margin, clear of its interval."""
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": 4,
        "y": place,
        "text": written(cell.value, column.form),
        "showarrow": False,
        "font": {"color": "--text"},
    }


def by_encoder(entries: Sequence[Entry], column: Column) -> Figure | None:
    """The value of each method under each encoder, one line per method; None below two encoders.

    Of runs that differ in settings only, the best is drawn.
    """
    names = sorted({entry.encoder for entry in entries if entry.encoder})
    table: dict[str, dict[str, Cell]] = {}
    for entry in entries:
        if entry.encoder and not entry.control and _defined(entry, column.key):
            row = table.setdefault(entry.label, {})
            cell = entry.cells[column.key]
            row[entry.encoder] = _better(row.get(entry.encoder), cell, column.higher)
    table = {label: row for label, row in table.items() if len(row) > 1}
    if not table:
        return None
    order = sorted(table, key=lambda label: -max(c.value or 0.0 for c in table[label].values()))
    data = [_across(label, table[label], names, place) for place, label in enumerate(order)]
    return Figure(
        name="encoders",
        heading="What the encoder changes",
        note=f"{_statistic(column)}, {_of(column)}, by encoder, with 95 % interval. "
        "One line per method; of several settings the best.",
        label=f"{_statistic(column)} by encoder: "
        + "; ".join(
            f"{label} "
            + ", ".join(f"{n} {written(table[label][n].value, column.form)}" for n in table[label])
            for label in order
        ),
        drawing={
            "data": data,
            "layout": layout(
                380,
                axis(showgrid=False, ticks="", range=[-0.3, len(names) - 0.7]),
                axis(_statistic(column)),
                margin={"l": 44, "r": 12, "t": 12, "b": 32},
                annotations=line_numbers(
                    [_end(table[label], names) for label in order], height=260
                ),
            ),
        },
        columns=("method", "encoder", "value", "low", "high", "n"),
        rows=[
            (label, name, cell.value, cell.low, cell.high, cell.n)
            for label in order
            for name, cell in sorted(table[label].items())
        ],
        key=order,
    )


def _better(known: Cell | None, cell: Cell, higher: bool) -> Cell:
    if known is None or known.value is None or cell.value is None:
        return cell
    return cell if (cell.value > known.value) == higher else known


def _of(column: Column) -> str:
    return "average of the types" if column.group == AVERAGE else column.group


def _across(
    label: str, row: Mapping[str, Cell], names: Sequence[str], place: int
) -> dict[str, Any]:
    cells = [row.get(name) for name in names]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(label),
        "x": list(names),
        "y": [cell.value if cell else None for cell in cells],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [_reach(c.value, c.high) if c else 0.0 for c in cells],
            "arrayminus": [_reach(c.low, c.value) if c else 0.0 for c in cells],
            "thickness": 2,
            "width": 0,
            "color": "--text-2",
        },
        "line": {"color": "--text-2", "width": 1.5, "dash": DASHES[place % len(DASHES)]},
        "marker": {"color": "--text", "size": 7},
        "hovertemplate": "%{fullData.name}, %{x}: %{y:.3f}<extra></extra>",
    }


def _end(row: Mapping[str, Cell], names: Sequence[str]) -> tuple[str, float]:
    """The last encoder that a method has a value for, and the value."""
    name = next(name for name in reversed(names) if name in row)
    return name, row[name].value or 0.0
