"""Where the nodes and moves of a graph go on paper: a layered drawing, computed once per graph.

The layout engine holds the interpreter lock while it works, so anything but a small graph is laid
out in a child process with a time limit; no page waits for another one's graph.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import graphlay

MAX_NODES = 120
MAX_MOVES = 400
IN_PROCESS_MOVES = 60
TIME_LIMIT_SECONDS = 15
LINE_CHARACTERS, MAX_LINES = 26, 3
NODE_WIDTH, LINE_HEIGHT, NODE_PADDING = 184, 16, 14
MARGIN, LOOP_LABEL = 12, 20
# Wide gaps keep long moves apart; `follow_flow` keeps the main path straight when there are cycles.
OPTIONS = {
    "cycles": {"strategy": "follow_flow"},
    "routing": {"style": "orthogonal"},
    "spacing": {
        "layer_gap": 36,
        "node_gap": 22,
        "dummy_gap": 12,
        "port_gap": 9,
        "port_stroke_clear": 6,
        "stub": 9,
        "bundle_lane_gap": 5,
    },
    "limits": {"max_nodes": MAX_NODES, "max_edges": MAX_MOVES},
}


@dataclass(frozen=True, slots=True)
class Node:
    """A node to draw. `kind` is a class of the drawing: "", "u" (user), "t" (start or end)."""

    key: str
    label: str
    kind: str = ""
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A directed move; `weight` from 0 to 1 sets the stroke, `label` is written on it."""

    source: str
    target: str
    label: str = ""
    weight: float = 0.5


class TooLarge(ValueError):
    """The graph cannot be drawn legibly; the sentence says why."""


def drawing(nodes: Sequence[Node], moves: Sequence[Move]) -> dict[str, Any]:
    """Positions of `nodes` and `moves`, ready for the SVG template.

    Returns {"width", "height", "nodes": [{"key", "label", "kind", "x", "y", "w", "h", "lines":
    [{"text", "y"}]}], "moves": [{"source", "target", "d", "label", "x", "y", "stroke"}]} in px;
    x and y of a node are its top left corner. The same graph gives the same drawing in every
    process.

    Raises
    ------
    TooLarge
        If the graph has more than MAX_NODES nodes or MAX_MOVES moves, or takes too long.
    """
    if len(nodes) > MAX_NODES or len(moves) > MAX_MOVES:
        raise TooLarge(
            f"The graph has {len(nodes)} nodes and {len(moves)} moves; at most {MAX_NODES} and "
            f"{MAX_MOVES} can be drawn legibly."
        )
    known = {node.key for node in nodes}
    request = {
        "nodes": [[n.key, n.label, n.kind, n.rank] for n in nodes],
        "moves": [
            [m.source, m.target, m.label, m.weight]
            for m in moves
            if m.source in known and m.target in known
        ],
    }
    return json.loads(_drawn(json.dumps(request)))


@lru_cache(maxsize=256)
def _drawn(request: str) -> str:
    if len(json.loads(request)["moves"]) <= IN_PROCESS_MOVES:
        return json.dumps(lay_out(json.loads(request)))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "scoring.graph_layouts"],
            input=request,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_SECONDS,
            cwd=Path(__file__).resolve().parents[1],
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise TooLarge(f"The graph took longer than {TIME_LIMIT_SECONDS} s to lay out.") from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["no message"]
        raise TooLarge(f"The graph could not be laid out: {last[0]}") from error
    return done.stdout


def lines_of(label: str) -> list[str]:
    """`label` in at most MAX_LINES lines; what does not fit ends in an ellipsis."""
    lines = textwrap.wrap(label, LINE_CHARACTERS, max_lines=MAX_LINES, placeholder=" …")
    return lines or ["(no label)"]


def lay_out(request: dict[str, Any]) -> dict[str, Any]:
    """The drawing of a request made by `drawing`, computed here and now."""
    boxes = [_box(Node(*fields)) for fields in request["nodes"]]
    moves = [Move(*fields) for fields in request["moves"]]
    if not boxes:
        return {"width": 0, "height": 0, "nodes": [], "moves": []}
    graph = graphlay.Graph()
    for node, lines in boxes:
        fields = {"rank": node.rank} if node.rank else {}
        graph.node(node.key, width=NODE_WIDTH, height=_height(lines), **fields)
    for move in moves:
        size = {"label_size": [6 * len(move.label) + 8, 14]} if move.label else {}
        graph.edge(move.source, move.target, weight=0.1 + move.weight, **size)
    found = graphlay.layout(graph, preset="process_map", options=OPTIONS)
    return _paper(boxes, moves, found)


def _box(node: Node) -> tuple[Node, list[str]]:
    return replace(node, label=node.label or node.key), lines_of(node.label or node.key)


def _height(lines: list[str]) -> int:
    return LINE_HEIGHT * len(lines) + NODE_PADDING


def _paper(boxes: Any, moves: list[Move], found: graphlay.Layout) -> dict[str, Any]:
    low, high = found.bounds["min"], found.bounds["max"]
    dx, dy = MARGIN - low["x"], MARGIN - low["y"]
    return {
        "width": round(high["x"] - low["x"] + 2 * MARGIN + 2 * LOOP_LABEL),
        "height": round(high["y"] - low["y"] + 2 * MARGIN),
        "nodes": [
            _node(node, lines, place["center"], dx, dy)
            for (node, lines), place in zip(boxes, found.nodes, strict=True)
        ],
        "moves": [
            _move(move, drawn, dx, dy) for move, drawn in zip(moves, found.edges, strict=True)
        ],
    }


def _node(node: Node, lines: list[str], centre: Any, dx: float, dy: float) -> dict[str, Any]:
    height = _height(lines)
    x, y = centre["x"] + dx - NODE_WIDTH / 2, centre["y"] + dy - height / 2
    first = NODE_PADDING / 2 + 12
    return {
        "key": node.key,
        "label": node.label,
        "kind": node.kind,
        "x": round(x, 1),
        "y": round(y, 1),
        "w": NODE_WIDTH,
        "h": height,
        "lines": [
            {"text": line, "y": round(first + LINE_HEIGHT * i, 1)} for i, line in enumerate(lines)
        ],
    }


def _move(move: Move, drawn: Any, dx: float, dy: float) -> dict[str, Any]:
    points = [(round(p["x"] + dx, 1), round(p["y"] + dy, 1)) for p in drawn["points"]]
    anchor = drawn.get("label_anchor") or drawn["points"][len(drawn["points"]) // 2]
    # The anchor of a loop lies on its line: its label stands outside.
    aside = LOOP_LABEL if move.source == move.target else 0
    return {
        "source": move.source,
        "target": move.target,
        "d": "M" + "L".join(f"{x} {y}" for x, y in points),
        "label": move.label,
        "x": round(anchor["x"] + dx + aside, 1),
        "y": round(anchor["y"] + dy + 4, 1),
        "stroke": round(1 + 3 * min(max(move.weight, 0.0), 1.0), 2),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(lay_out(json.loads(sys.stdin.read()))))
