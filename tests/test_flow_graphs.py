"""Flow graphs: clustering per role, moves, surprisal per turn, the score of a path."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.flow_graphs import (
    END,
    START,
    FlowGraph,
    assign,
    confidences,
    count_moves,
    fit,
    turn_surprisal,
)
from scoring.flow_pruning import as_sdialog_prunes
from scoring.flow_tables import FlowTable
from scoring.flow_tables import count_moves as count_coded_moves
from scoring.node_labels import keywords_of
from scoring.path_scores import path_score, score_dialogue, sdialog_path_score
from scoring.turn_vectors import DialogueVectors

AXES = np.eye(5)
SAID = {"u0": 0, "u1": 1, "s0": 2, "s1": 3, "s2": 4}


def dialogue(*names):
    roles = tuple("user" if name[0] == "u" else "assistant" for name in names)
    vectors = np.array([AXES[SAID[name]] for name in names]).reshape(-1, 5)
    return DialogueVectors(roles, tuple(f"says {name}" for name in names), vectors)


@pytest.fixture(scope="module")
def graph():
    usual = dialogue("u0", "s0", "u1", "s1")
    return fit([usual, usual, dialogue("u0", "s0", "s0", "u1", "s1")])


def test_utterances_alike_form_a_node_per_role(graph):
    assert [(node.name, node.role, node.size) for node in graph.nodes] == [
        ("u0", "user", 3),
        ("u1", "user", 3),
        ("s0", "assistant", 4),
        ("s1", "assistant", 3),
    ]
    assert graph.paths[2] == ("u0", "s0", "s0", "u1", "s1")
    assert graph.nodes[2].label == "says s0"


def test_one_meaning_in_two_roles_is_two_nodes():
    both = DialogueVectors(("user", "assistant"), ("yes", "yes"), np.ones((2, 3)))
    assert [node.name for node in fit([both]).nodes] == ["u0", "s0"]


def test_self_loops_are_kept_and_counted(graph):
    assert graph.count("s0", "s0") == 1
    assert graph.count("s0", "u1") == 3
    assert graph.count(START, "u0") == 3
    assert graph.count("s1", END) == 3


def test_the_probabilities_of_a_row_sum_to_one(graph):
    ends = [node.name for node in graph.nodes] + [END]
    for start in [START, "u0", "s0", "u1", "s1", "never seen"]:
        assert sum(graph.probability(start, b) for b in ends) == pytest.approx(1.0)


def test_a_graph_survives_json_with_the_same_scores(graph):
    again = FlowGraph.from_dict(json.loads(json.dumps(graph.to_dict())))
    d = dialogue("u0", "s1", "u1", "s0")
    assert again.to_dict() == graph.to_dict()
    assert score_dialogue(again, d.roles, d.vectors) == score_dialogue(graph, d.roles, d.vectors)
    assert turn_surprisal(again, d.roles, d.vectors) == turn_surprisal(graph, d.roles, d.vectors)


def test_a_graph_of_another_version_is_refused():
    with pytest.raises(ValueError, match="version 2"):
        FlowGraph.from_dict({"version": 2})


def test_the_score_is_the_geometric_mean_with_the_end_as_last_move(graph):
    found = path_score(graph, ["u0", "s0", "u1", "s1"])
    # Four nodes and END: counts 3 of 3, 3 of 3, 3 of 4, 3 of 3, 3 of 3.
    product = (4 / 8) * (4 / 8) * (4 / 9) * (4 / 8) * (4 / 8)
    assert found.value == pytest.approx(product ** (1 / 5))
    assert found.n == 4


def test_a_path_without_a_turn_has_no_score_and_says_why(graph):
    assert path_score(graph, []).reason == "no_scored_turn"
    assert sdialog_path_score(graph, []).reason == "no_scored_turn"


def test_no_known_move_is_undefined_and_not_the_best_score(graph):
    assert sdialog_path_score(graph, ["s1"], known_only=True).reason == "no_known_move"


@given(st.lists(st.sampled_from(["u0", "u1", "s0", "s1"]), min_size=1, max_size=200))
def test_long_paths_do_not_underflow(path):
    counts = count_moves([["u0", "s0", "u1", "s1"]])
    nodes = fit([dialogue("u0", "s0", "u1", "s1")]).nodes
    value = path_score(FlowGraph(nodes, counts), path * 20).value
    assert 0 < value <= 1


def test_surprisal_is_minus_log_of_the_probability_of_the_move(graph):
    d = dialogue("u0", "s1")
    first, second = turn_surprisal(graph, d.roles, d.vectors)
    assert first["node"] == "u0" and first["probability"] == 4 / 8
    assert second["probability"] == 1 / 8
    assert second["surprisal"] == pytest.approx(math.log(8))


def test_turns_that_are_not_scored_have_a_reason_and_shift_nothing(graph):
    roles = ["system", "user", "assistant", "assistant", "action"]
    texts = ["note", "hello", " ", "yes", "call"]
    vectors = np.stack([AXES[4], AXES[0], np.zeros(5), AXES[2], AXES[4]])
    rows = turn_surprisal(graph, roles, vectors, texts)
    assert [row["node"] for row in rows] == [None, "u0", None, "s0", None]
    assert [row.get("reason") for row in rows] == [
        "role_is_not_scored",
        None,
        "blank_turn",
        None,
        "role_is_not_scored",
    ]
    assert rows[3]["probability"] == graph.probability("u0", "s0")
    assert [row["node"] for row in turn_surprisal(graph, roles, vectors)] == [
        row["node"] for row in rows
    ]


@given(st.lists(st.sampled_from(sorted(SAID)), min_size=1, max_size=12), st.integers(0, 12))
def test_surprisal_at_a_turn_depends_on_no_later_turn(names, cut):
    fitted = fit([dialogue("u0", "s0", "u1", "s1"), dialogue("u0", "s2")])
    whole, start = dialogue(*names), dialogue(*names[:cut])
    rows = turn_surprisal(fitted, whole.roles, whole.vectors)
    assert turn_surprisal(fitted, start.roles, start.vectors) == rows[:cut]


def test_a_role_without_a_node_is_undefined_with_a_reason():
    only_user = fit([dialogue("u0")])
    d = dialogue("u0", "s0")
    assert assign(only_user, d.roles, d.vectors)[1] is None
    assert turn_surprisal(only_user, d.roles, d.vectors)[1]["reason"] == "no_node_of_this_role"
    assert score_dialogue(only_user, d.roles, d.vectors).reason == "no_node_of_this_role"


def test_confidence_is_high_on_a_node_and_shared_between_two(graph):
    between = (AXES[2] + AXES[3]) / 2
    found = assign(graph, ["assistant", "assistant"], np.stack([AXES[2], between]))
    assert found[0].confidence > 0.99
    assert found[1].confidence == pytest.approx(0.5)


def test_an_empty_dialogue_goes_from_start_to_end():
    assert fit([dialogue()]).count(START, END) == 1
    assert fit([]).nodes == ()


def test_zero_vectors_form_a_node_and_no_nan():
    zeros = DialogueVectors(("user", "user"), ("a", "b"), np.zeros((2, 3)))
    assert [node.size for node in fit([zeros]).nodes] == [2]


def test_a_role_that_is_not_scored_is_refused_by_name():
    odd = DialogueVectors(("system",), ("x",), np.ones((1, 3)))
    with pytest.raises(ValueError, match="'system'"):
        fit([odd])


@pytest.mark.parametrize("settings", [{"threshold": 0}, {"threshold": 3}, {"compat": "other"}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ValueError, match=r"must be|lies above"):
        fit([dialogue("u0")], **settings)


def test_compat_drops_self_loops_and_rare_nodes():
    paths = [["u0", "s0", "s0", "u1", "s1"]] * 1500 + [["u0", "s0", "u1", "s2", "s1"]]
    pruned = as_sdialog_prunes(count_moves(paths), START, END)
    assert "s0" not in pruned["s0"]
    assert "s2" not in pruned and "s2" not in pruned["u1"]
    assert fit([dialogue("u0", "s0", "s0")], compat="sdialog").count("s0", "s0") == 0


def test_keywords_tell_clusters_apart():
    said = {"a": ["your name please", "your name again"], "b": ["your day please"]}
    assert keywords_of(said) == {"a": ("name", "again"), "b": ("day",)}


paths_of_codes = st.lists(st.lists(st.integers(0, 5), max_size=8), min_size=1, max_size=6)


@given(paths_of_codes)
def test_moves_of_coded_paths_are_those_of_named_ones(paths):
    names = [f"n{i}" for i in range(6)] + [START, END]
    flat = [code for path in paths for code in path]
    found = count_coded_moves(flat, [len(path) for path in paths], nodes=6)
    table = {}
    for a, b, n in zip(*(column.tolist() for column in found), strict=True):
        table.setdefault(names[a], {})[names[b]] = n
    assert table == count_moves([[names[code] for code in path] for path in paths])


def test_moves_over_very_many_nodes_are_counted_without_a_table_of_all_pairs():
    found = count_coded_moves([0, 9000, 0, 9000], [2, 2], nodes=9001)
    assert found.a.tolist() == [0, 9000, 9001]
    assert found.b.tolist() == [9000, 9002, 0]
    assert found.n.tolist() == [2, 2, 2]


def test_codes_outside_the_range_and_lengths_that_do_not_add_up_are_refused():
    with pytest.raises(ValueError, match="outside 0 to 1"):
        count_coded_moves([0, 2], [2], nodes=2)
    with pytest.raises(ValueError, match="do not add up to 2 turns"):
        count_coded_moves([0, 1], [1], nodes=2)


@pytest.mark.parametrize("compat", [None, "sdialog"])
@pytest.mark.parametrize("soft", [False, True])
@settings(max_examples=20)
@given(seed=st.integers(0, 999), single=st.booleans())
def test_scores_of_many_dialogues_are_those_of_each(compat, soft, seed, single):
    rng = np.random.default_rng(seed)
    fitted = fit([dialogue("u0", "s0", "u1", "s1"), dialogue("u0", "s0", "s0")], compat=compat)
    kind = np.float32 if single else np.float64
    dialogues = []
    for length in rng.integers(0, 7, size=5):
        roles = tuple(rng.choice(["user", "assistant"], size=length).tolist())
        vectors = rng.normal(size=(length, 5)).astype(kind)
        dialogues.append(DialogueVectors(roles, ("x",) * length, vectors))
    found = FlowTable(fitted).scores(dialogues, node_confidence=soft)
    for d, score in zip(dialogues, found, strict=True):
        alone = score_dialogue(fitted, d.roles, d.vectors, node_confidence=soft)
        assert (score.reason, score.n) == (alone.reason, alone.n)
        if alone.value is not None:
            assert score.value == pytest.approx(alone.value, rel=1e-6 if single else 1e-12)


def test_a_tie_in_single_precision_is_decided_as_in_double():
    near = DialogueVectors(("assistant",) * 2, ("a", "b"), np.array([[1.0, 0.0], [0.0, 1.0]]))
    fitted = fit([near], threshold=0.5)
    rows = np.array([[1.0, 1.0 + 1e-7], [1.0 + 1e-7, 1.0]], dtype=np.float32)
    codes, _ = FlowTable(fitted).nearest(["assistant", "assistant"], rows)
    assert codes.tolist() == [1, 0]


def test_a_role_without_a_node_and_a_dialogue_without_turns_are_undefined_among_others():
    table = FlowTable(fit([dialogue("u0")]))
    found = table.scores([dialogue("u0"), dialogue(), dialogue("u0", "s0")])
    assert [score.reason for score in found] == ["", "no_scored_turn", "no_node_of_this_role"]
    assert table.scores([]) == []
    assert [score.reason for score in table.scores([dialogue()])] == ["no_scored_turn"]
    assert FlowTable(fit([])).scores([dialogue("u0")])[0].reason == "no_node_of_this_role"


def test_compat_confidence_counts_the_64_nearest_nodes_only():
    likeness = np.random.default_rng(0).uniform(-1, 1, size=(3, 90))
    whole, near = confidences(likeness), confidences(likeness, near=64)
    nearest = np.sort(likeness, axis=1)[:, -64:]
    assert near == pytest.approx(confidences(nearest))
    assert (near > whole).all()
    assert confidences(likeness[:, :64], near=64) == pytest.approx(confidences(likeness[:, :64]))
