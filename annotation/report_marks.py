"""Marks, intervals and labels that the figures of a study report share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Stats = Mapping[str, Any]


def marks(
    at: Sequence[float],
    found: Sequence[Stats],
    ink: str,
    shape: str,
    size: int,
    across: bool = False,
) -> dict[str, Any]:
    """Estimates as marks with intervals, along y or, with `across`, along x."""
    pairs = [
        (place, each) for place, each in zip(at, found, strict=True) if each["value"] is not None
    ]
    places, values = [p for p, _ in pairs], [each["value"] for _, each in pairs]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": values if across else places,
        "y": places if across else values,
        f"error_{'x' if across else 'y'}": whiskers([each for _, each in pairs], ink),
        "marker": {"color": ink, "symbol": shape, "size": size, "line": {"width": 2, "color": ink}},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def whiskers(found: Sequence[Stats], ink: str) -> dict[str, Any]:
    ends = [(each["value"], *(each["ci"] or (each["value"], each["value"]))) for each in found]
    return {
        "type": "data",
        "symmetric": False,
        "array": [max(high - value, 0.0) for value, _, high in ends],
        "arrayminus": [max(value - low, 0.0) for value, low, _ in ends],
        "thickness": 2,
        "width": 0,
        "color": ink,
    }


def note(x: Any, y: float, text: str, **more: Any) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"color": "--text"}, **more}


def margin_note(y: float, text: str) -> dict[str, Any]:
    return note(1, y, text, xref="paper", xanchor="left", xshift=6)


def rating_text(mean: Stats) -> str:
    return "not rated" if mean["value"] is None else f"{mean['value']:.0f}"


def percent_text(share: Stats) -> str:
    return "not asked" if share["value"] is None else f"{100 * share['value']:.0f} %"
