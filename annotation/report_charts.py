"""The four pictures of a study report as coordinates; a template draws them.

Each chart is a dictionary of marks in a box of 340 by 280 units. A figure without a value has no
mark, and the table below the charts says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Stats = Mapping[str, Any]
LEFT, RIGHT, TOP, BOTTOM = 30.0, 258.0, 30.0, 240.0
TYPES = ("WIC", "SSPC", "GR", "CSC")
POSITIONS = ("1", "2", "3", "4")
STEP, SIDE = 56.0, 7.0


def charts(statistics: Stats) -> dict[str, Any]:
    """All four charts of one group of judges, from the JSON form of its statistics."""
    return {
        "ratings": ratings(statistics["rq1"]),
        "shares": shares(statistics["rq2"]),
        "onsets": onsets(statistics["rq3"]),
        "prefixes": prefixes(statistics["rq4"]),
    }


def ratings(rq1: Stats) -> dict[str, Any]:
    """Mean rating by k, one line per type, with intervals; the conformant mean as a level."""
    series = []
    for place, type_ in enumerate(TYPES):
        points = [
            _point(LEFT + 6 + SIDE * place + STEP * index, rq1["mean_by_type"][type_][k])
            for index, k in enumerate(POSITIONS)
        ]
        drawn = [p for p in points if p]
        path = " ".join(f"{'M' if i == 0 else 'L'}{p['x']} {p['y']}" for i, p in enumerate(drawn))
        series.append({"type": type_, "points": drawn, "path": path, "label_y": None})
    level = _point(RIGHT, rq1["conformant"])
    _spread_labels(series, below=level["y"] + 32 if level else TOP)
    return {
        "series": series,
        "ticks": [{"value": v, "y": _y(v)} for v in (0, 25, 50, 75, 100)],
        "positions": [{"k": k, "x": _round(LEFT + 16 + STEP * i)} for i, k in enumerate(POSITIONS)],
        "conformant": level,
    }


def shares(rq2: Stats) -> list[dict[str, Any]]:
    """Share confirmed with its Wilson interval: true instruction per type, then the foils."""
    rows = [(t, t, rq2["true_by_type"][t]) for t in TYPES]
    rows += [
        ("", "foil, on a fork", rq2["foil_on_fork"]),
        ("", "foil, conformant", rq2["foil_on_conformant"]),
    ]
    found = []
    for place, (type_, label, share) in enumerate(rows):
        y = 36 + 34 * place + (12 if place > 3 else 0)
        row = {"type": type_, "label": label, "y": y, "n": share["n"], "k": share.get("k", 0)}
        if share["value"] is not None:
            low, high = share["ci"] or (share["value"], share["value"])
            row |= {"x": _x(share["value"]), "low": _x(low), "high": _x(high)}
        found.append(row)
    return found


def onsets(rq3: Stats) -> dict[str, Any]:
    """How many onsets lie how far from the fork turn; the ends gather what is further off."""
    counts = {int(away): n for away, n in rq3["differences"].items()}
    bins = [("≤ −3", sum(n for d, n in counts.items() if d <= -3))]
    bins += [(_signed(d), counts.get(d, 0)) for d in range(-2, 4)]
    bins.append(("> 3", sum(n for d, n in counts.items() if d > 3)))
    most = max(1, *(n for _, n in bins))
    bars = []
    for place, (label, n) in enumerate(bins):
        height = _round(190 * n / most)
        x = 12 + 40 * place
        bars.append(
            {"label": label, "n": n, "x": x, "mid": x + 14, "y": 236 - height, "height": height}
            | {"exact": label == "0", "text_y": 230 - height}
        )
    return {"bars": bars, "n": rq3["all"]["n"]}


def prefixes(rq4: Stats) -> list[dict[str, Any]]:
    """Shares of yes, mostly and no per k, with the interval of yes or mostly."""
    found = []
    for place, (k, share) in enumerate(sorted(rq4["by_k"].items())):
        row = {"k": k, "y": 48 + 64 * place, "n": share["n"], "parts": []}
        if share["value"] is not None:
            answers, x = share["answers"], 44.0
            for name in ("yes", "mostly", "no"):
                width = 186 * answers.get(name, 0) / share["n"]
                row["parts"].append({"name": name, "x": _round(x), "width": _round(width)})
                x += width
            low, high = share["ci"]
            row |= {
                "value": share["value"],
                "ci": share["ci"],
                "x": _round(44 + 186 * share["value"]),
                "low": _round(44 + 186 * low),
                "high": _round(44 + 186 * high),
            }
        found.append(row)
    return found


def _point(x: float, estimate: Stats) -> dict[str, Any] | None:
    if estimate["value"] is None:
        return None
    low, high = estimate["ci"] or (estimate["value"], estimate["value"])
    y = _y(estimate["value"])
    return {"x": _round(x), "y": y, "low": _y(low), "high": _y(high), **_shown(estimate)}


def _shown(estimate: Stats) -> dict[str, Any]:
    return {"value": estimate["value"], "ci": estimate["ci"], "n": estimate["n"]}


def _spread_labels(series: Sequence[dict[str, Any]], *, below: float) -> None:
    """Labels at the line ends, at least 15 units apart, in their order, not above `below`."""
    ends = sorted((s for s in series if s["points"]), key=lambda s: s["points"][-1]["y"])
    above = below
    for line in ends:
        line["label_y"] = max(line["points"][-1]["y"] + 4, above)
        above = line["label_y"] + 15


def _y(rating: float) -> float:
    return _round(BOTTOM - (BOTTOM - TOP) * rating / 100)


def _x(share: float) -> float:
    return _round(106 + 164 * share)


def _signed(away: int) -> str:
    return "0" if away == 0 else f"{'+' if away > 0 else '−'}{abs(away)}"


def _round(value: float) -> float:
    return round(value, 1)
