"""The pruning of flow graphs that sdialog 0.5.3 does, for side-by-side runs only."""

from __future__ import annotations

from collections.abc import Mapping

LEAST_SHARE = 0.001
Counts = dict[str, dict[str, int]]


def as_sdialog_prunes(
    counts: Mapping[str, Mapping[str, int]], start: str, end: str
) -> dict[str, dict[str, int]]:
    """`counts` without self-loops, rare nodes, rare moves and nodes off every start-end path.

    Rare means a share of visits (of the most visited node) or of a node's moves below 0.001, where
    moves are weighed before self-loops go. The order of the steps is the tool's own.
    """
    weights = {a: {b: c / sum(row.values()) for b, c in row.items()} for a, row in counts.items()}
    kept: Counts = {a: {b: c for b, c in row.items() if b != a} for a, row in counts.items()}
    visits = {a: sum(row.values()) for a, row in counts.items() if a != start}
    most = max(visits.values(), default=0)
    rare = {a for a, n in visits.items() if n / most < LEAST_SHARE}
    kept = _without(kept, rare)
    kept = _on_a_path(kept, start, end)
    kept = {
        a: {b: c for b, c in row.items() if weights[a][b] >= LEAST_SHARE} for a, row in kept.items()
    }
    return _on_a_path(kept, start, end)


def _without(counts: Counts, gone: set[str]) -> Counts:
    return {
        a: {b: c for b, c in row.items() if b not in gone}
        for a, row in counts.items()
        if a not in gone
    }


def _on_a_path(counts: Counts, start: str, end: str) -> Counts:
    ahead = _reached(start, {a: set(row) for a, row in counts.items()})
    back: dict[str, set[str]] = {}
    for a, row in counts.items():
        for b in row:
            back.setdefault(b, set()).add(a)
    on_path = ahead & _reached(end, back)
    gone = ({*counts} | {b for row in counts.values() for b in row}) - on_path
    return _without(counts, gone)


def _reached(origin: str, moves: Mapping[str, set[str]]) -> set[str]:
    seen, open_nodes = {origin}, [origin]
    while open_nodes:
        for b in moves.get(open_nodes.pop(), set()) - seen:
            seen.add(b)
            open_nodes.append(b)
    return seen
