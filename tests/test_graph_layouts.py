"""Drawings of graphs: the same every time, bounded, never larger than can be read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import graph_layouts
from scoring.graph_layouts import Move, Node, TooLarge, drawing, lay_out


def chain(n: int) -> tuple[list[Node], list[Move]]:
    nodes = [Node(f"n{i}", f"step {i}") for i in range(n)]
    return nodes, [Move(f"n{i}", f"n{i + 1}") for i in range(n - 1)]


@settings(max_examples=30)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))
        )
    )
)
def test_every_node_lies_inside_and_every_move_is_drawn(graph):
    n, ends = graph
    nodes = [Node(str(i), f"node {i}") for i in range(n)]
    found = drawing(nodes, [Move(str(a), str(b)) for a, b in ends[:50]])
    assert [node["key"] for node in found["nodes"]] == [node.key for node in nodes]
    assert len(found["moves"]) == min(len(ends), 50)
    for node in found["nodes"]:
        assert 0 <= node["x"] <= found["width"] - node["w"]
        assert 0 <= node["y"] <= found["height"] - node["h"]


def test_no_nodes_give_an_empty_drawing():
    assert drawing([], []) == {"width": 0, "height": 0, "nodes": [], "moves": []}


def test_a_child_process_draws_what_this_process_draws(monkeypatch):
    nodes, moves = chain(9)
    here = drawing(nodes, moves)
    monkeypatch.setattr(graph_layouts, "IN_PROCESS_MOVES", 0)
    graph_layouts._drawn.cache_clear()
    assert drawing(nodes, moves) == here


def test_a_graph_is_laid_out_once():
    graph_layouts._drawn.cache_clear()
    nodes, moves = chain(5)
    drawing(nodes, moves)
    drawing(nodes, moves)
    assert graph_layouts._drawn.cache_info().hits == 1


def test_too_many_nodes_or_moves_are_refused_with_the_limit():
    with pytest.raises(TooLarge, match=r"121 nodes .* at most 120"):
        drawing(*chain(121))
    nodes = [Node(str(i), "") for i in range(30)]
    moves = [Move(str(i), str(j)) for i in range(30) for j in range(30)]
    with pytest.raises(TooLarge, match="900 moves"):
        drawing(nodes, moves)


def test_a_layout_that_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(graph_layouts, "IN_PROCESS_MOVES", 0)
    monkeypatch.setattr(graph_layouts, "TIME_LIMIT_SECONDS", 0.001)
    graph_layouts._drawn.cache_clear()
    with pytest.raises(TooLarge, match="took longer"):
        drawing(*chain(4))


def test_long_labels_are_wrapped_and_cut_with_an_ellipsis():
    lines = graph_layouts.lines_of("many words in one label " * 9)
    assert len(lines) == 3 and lines[-1].endswith("…")
    assert all(len(line) <= 26 for line in graph_layouts.lines_of("x" * 200))
    assert graph_layouts.lines_of("") == ["(no label)"]


def test_the_first_rank_stands_above_all_others():
    nodes = [Node("b", "b"), Node("a", "a", rank="first"), Node("c", "c")]
    found = lay_out(
        {
            "nodes": [[n.key, n.label, n.kind, n.rank] for n in nodes],
            "moves": [["a", "b", "", 0.5], ["b", "c", "", 0.5], ["c", "a", "", 0.5]],
        }
    )
    top = {node["key"]: node["y"] for node in found["nodes"]}
    assert top["a"] == min(top.values())
