"""A stored flow graph as nodes and moves to draw, rare moves left out and counted."""

from __future__ import annotations

from typing import Any

from scoring.graph_layouts import Move, Node

LEAST_SHARE = 0.10
MOST_MOVES = 160
START, END = "START", "END"


def fitted(graph: dict[str, Any]) -> dict[str, Any]:
    """Nodes and moves of a stored graph, most probable moves first.

    Returns {"nodes", "moves", "rows", "n_moves", "n_nodes", "least"}: `rows` list every move with
    its probability for the table; `moves` are those drawn (share of at least `least`).
    """
    nodes = {str(node["id"]): node for node in graph.get("nodes", [])}
    rows = move_rows(graph, nodes)
    drawn = [row for row in rows if row["share"] >= LEAST_SHARE][:MOST_MOVES]
    used = {row["source"] for row in drawn} | {row["target"] for row in drawn}
    return {
        "nodes": [to_draw(key, nodes.get(key)) for key in order_of(nodes) if key in used],
        "moves": [
            Move(row["source"], row["target"], f"{100 * row['share']:.0f} %", row["share"])
            for row in drawn
        ],
        "rows": rows,
        "n_nodes": len(nodes),
        "n_moves": len(rows),
        "n_drawn": len(drawn),
        "least": LEAST_SHARE,
    }


def order_of(nodes: dict[str, Any]) -> list[str]:
    return [START, *(key for key in nodes if key not in (START, END)), END]


def to_draw(key: str, node: dict[str, Any] | None) -> Node:
    if key in (START, END):
        rank = "first" if key == START else "last"
        return Node(key, "Start" if key == START else "End", kind="t", rank=rank)
    role = (node or {}).get("role", "")
    return Node(key, label_of(key, node), kind="u" if role == "user" else "")


def label_of(key: str, node: dict[str, Any] | None) -> str:
    if key in (START, END):
        return key.title()
    return str((node or {}).get("label") or key)


def move_rows(graph: dict[str, Any], nodes: dict[str, Any]) -> list[dict[str, Any]]:
    """Every seen move with its count and its share of the moves out of its source."""
    counts = [(str(a), str(b), int(c)) for a, b, c in graph.get("counts", [])]
    total: dict[str, int] = {}
    for a, _, c in counts:
        total[a] = total.get(a, 0) + c
    rows = [
        {
            "source": a,
            "target": b,
            "from": label_of(a, nodes.get(a)),
            "to": label_of(b, nodes.get(b)),
            "count": c,
            "share": c / total[a],
        }
        for a, b, c in counts
        if c
    ]
    rows.sort(key=lambda row: (-row["count"], row["source"], row["target"]))
    return rows
