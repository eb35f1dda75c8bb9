"""A stored flow graph as nodes and moves to draw, rare moves left out and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.flow_graphs import END, START
from scoring.graph_layouts import Move, Node

LEAST_SHARE = 0.10
MOST_MOVES = 60
MOST_ROWS = 500
EXPECTED = 4
WORDS = {START: "Start", END: "End"}


def fitted(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Nodes and moves of a stored graph, most frequent moves first.

    Returns {"nodes", "moves", "rows", "n_nodes", "n_moves", "n_drawn", "least", "dialogues"}:
    `rows` list moves with count and share for the table (at most MOST_ROWS); `moves` are those
    drawn (share of at least `least`, at most MOST_MOVES).
    """
    by_name = {node["name"]: node for node in graph["nodes"]}
    rows = move_rows(graph["counts"], labels(graph))
    drawn = [row for row in rows if row["share"] >= LEAST_SHARE][:MOST_MOVES]
    used = {row[end] for row in drawn for end in ("source", "target")}
    order = [START, *by_name, END]
    return {
        "nodes": [to_draw(name, by_name.get(name)) for name in order if name in used],
        "moves": [
            Move(row["source"], row["target"], f"{100 * row['share']:.0f} %", row["share"])
            for row in drawn
        ],
        "rows": rows[:MOST_ROWS],
        "n_nodes": len(by_name),
        "n_moves": len(rows),
        "n_drawn": len(drawn),
        "least": LEAST_SHARE,
        "most": MOST_MOVES,
        "dialogues": graph["dialogues"],
    }


def labels(graph: Mapping[str, Any]) -> dict[str, str]:
    """Node name -> its most central utterance (or its name); START and END in words."""
    return {node["name"]: node["label"] or node["name"] for node in graph["nodes"]} | WORDS


def to_draw(name: str, node: Mapping[str, Any] | None) -> Node:
    if node is None:
        return Node(name, WORDS[name], kind="t", rank="first" if name == START else "last")
    return Node(name, node["label"] or name, kind="u" if node["role"] == "user" else "")


def move_rows(
    counts: Mapping[str, Mapping[str, int]], words: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Every seen move with its count and its share of the moves out of its source."""
    rows = [
        {
            "source": source,
            "target": target,
            "from": words.get(source, source),
            "to": words.get(target, target),
            "count": count,
            "share": count / sum(followers.values()),
        }
        for source, followers in counts.items()
        for target, count in followers.items()
        if count
    ]
    rows.sort(key=lambda row: (-row["count"], row["source"], row["target"]))
    return rows


def expected(
    graph: Mapping[str, Any], turns: Sequence[Mapping[str, Any]], number: int
) -> dict[str, Any] | None:
    """What conformant dialogues say where turn `number` stands, given the scored turn before it.

    Returns {"after", "rows": [{"to", "share", "px"}], "others", "rest", "n"}; None where the turn
    has no node or its predecessor was never followed by anything in the fit.
    """
    before, here = START, None
    for turn in turns:
        if turn["node"] is None:
            continue
        if turn["number"] >= number:
            here = turn if turn["number"] == number else None
            break
        before = turn["node"]
    followers = graph["counts"].get(before, {})
    total = sum(followers.values())
    if here is None or not total:
        return None
    words = labels(graph)
    ranked = sorted(followers.items(), key=lambda item: (-item[1], item[0]))
    return {
        "number": number,
        "after": words.get(before, before),
        "happened": words.get(here["node"], here["node"]),
        "p": here["p"],
        "times": followers.get(here["node"], 0),
        "n": total,
        "rows": [
            {"to": words.get(name, name), "share": n / total, "px": round(100 * n / total)}
            for name, n in ranked[:EXPECTED]
        ],
        "others": max(len(ranked) - EXPECTED, 0),
        "rest": sum(n for _, n in ranked[EXPECTED:]) / total,
    }
