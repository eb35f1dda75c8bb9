"""The benchmarks command: areas, the agreed JSON, equal answers on both sides."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.benchmarks import label_speed
from scoring import novelty
from scoring.benchmarks import distances, encoding, flow, onset_speed, pair_speed, set_speed
from scoring.benchmarks.measuring import Limit, Measured, seconds
from scoring.benchmarks.synthetic import fork_pairs, procedural_dialogues
from scoring.management.commands import benchmarks

KEYS = {"ours", "peer", "ratio", "bar", "unit", "ok"}


def ran(capsys, *arguments):
    call_command("benchmarks", *arguments)
    return capsys.readouterr().out.strip().splitlines()


def test_the_last_line_is_one_object_with_a_row_per_case(capsys, monkeypatch):
    cases = {
        "fast": Measured(30.0, 10.0, 3.0, "pairs/s"),
        "slow": Measured(20.0, 10.0, 3.0, "pairs/s"),
        "wrong": Measured(90.0, 10.0, 3.0, "pairs/s", equal=False),
        "alone": Measured(5.0, None, 3.0, "pairs/s", note="the peer is not installed"),
    }
    monkeypatch.setattr(benchmarks, "AREAS", {"some": lambda: cases})
    lines = ran(capsys, "some", "--json")
    found = json.loads(lines[-1])
    assert set(found) == set(cases)
    assert all(set(row) >= KEYS for row in found.values())
    assert [row["ok"] for row in found.values()] == [True, False, False, None]
    assert found["fast"]["ratio"] == 3.0
    assert found["alone"]["reason"] == "the peer is not installed"
    assert "UNEQUAL" in lines[2] and "BELOW" in lines[1]


def test_an_unknown_area_is_refused_with_the_areas_there_are():
    with pytest.raises(CommandError, match="no area 'speed'; the areas are distances"):
        call_command("benchmarks", "speed")


def test_every_area_is_known_to_the_command():
    known = {"annotation", "distances", "encoding", "flow", "labels", "scoring"}
    assert known == set(benchmarks.AREAS)


def test_a_case_with_a_peer_is_judged_by_the_ratio_and_one_without_by_its_limit():
    over, kept = Limit(2e-3, 1e-3, "turn"), Limit(0.5e-3, 1e-3, "turn")
    assert Measured(30.0, 10.0, 3.0, "turns/s", limit=over).ok is True
    assert Measured(30.0, None, 1.0, "turns/s", limit=over).ok is False
    assert Measured(30.0, None, 1.0, "turns/s", limit=kept).ok is True
    assert Measured(30.0, None, 1.0, "turns/s", equal=False, limit=kept).ok is False
    row = Measured(30.0, None, 1.0, "turns/s", limit=over).as_dict()
    assert row["limit"] == {"seconds": 2e-3, "most": 1e-3, "per": "turn", "kept": False}
    assert benchmarks._line("case", Measured(30.0, None, 1.0, "turns/s", limit=over)).endswith(
        "2 ms per turn (at most 1 ms, OVER)"
    )
    assert benchmarks._time(40e-6) == "40 µs"


def test_batch_and_loop_give_equal_scores():
    case = distances.flow_score_batch(sources=4)
    assert case.equal
    assert case.ok is not None and case.bar == 3.0


def test_a_case_without_its_peer_says_so():
    case = distances.flow_dtw_batch(sources=1)
    if importlib.util.find_spec("tslearn") is None:
        assert (case.ok, case.note) == (None, "tslearn is not installed")
    else:
        assert case.equal


def test_the_graph_peer_gives_equal_scores_or_a_reason():
    found = flow.measure()
    for case in found.values():
        assert case.equal
        assert (case.peer is None) == bool(case.note)


def test_forks_share_their_first_turns_with_the_source():
    source, first, second, *_ = encoding.forked_texts(1, seed=2)
    assert first[0] == source[0] and first[2] != source[2]
    assert second[:4] == source[:4]
    assert encoding.forked_texts(1, seed=2)[0] == source


def test_encoding_in_one_call_gives_equal_vectors_or_a_reason():
    case = encoding.encoding_batch(sources=1)
    assert (case.ok is None) == bool(case.note)
    assert case.equal


def test_inputs_are_drawn_by_seed():
    (a, _), (b, _) = fork_pairs(1, forks=1, seed=3)[0], fork_pairs(1, forks=1, seed=3)[0]
    assert a.texts == b.texts and (a.vectors == b.vectors).all()
    first, second = procedural_dialogues(2, seed=4), procedural_dialogues(2, seed=4)
    assert (first[1].vectors == second[1].vectors).all()


def test_the_least_time_of_each_function_is_kept():
    assert len(seconds(lambda: sum(range(1000)), lambda: None, repeats=2)) == 2


def test_forks_of_a_full_corpus_score_as_the_plain_loops_do():
    pairs = pair_speed.equal_pairs(8)
    for precision in (np.float32, np.float64):
        assert pair_speed.flow_score_full(pairs, precision).equal
    case = pair_speed.alignment(pairs)
    assert case.equal and case.limit and case.limit.most == 40e-6
    for path in (False, True):
        case = pair_speed.warping(pairs, 1e-3, path=path)
        assert case.equal and (case.peer is None) == bool(case.note)


def test_transitions_are_counted_as_the_peer_does_or_a_reason_is_given():
    case = set_speed.transition_counts(dialogues=50, turns=1000)
    assert case.equal and (case.peer is None) == bool(case.note)


def test_sets_of_a_unit_are_measured():
    # So few seeds and runs span no spread to lie in: that is left to the full measurement.
    case = set_speed.prd_unit(pairs=40, seeds=2, runs=1)
    assert case.bar == 3.0 and case.note.startswith("distance 0.")
    assert set_speed.flow_kl_set(dialogues=6).limit is not None
    case = set_speed.perplexity_stored(dialogues=6)
    assert case.equal and (case.peer is None) == bool(case.note)


def test_detectors_are_measured_by_turn_and_by_corpus():
    train, others = onset_speed.observed(6, seed=1), onset_speed.observed(2, seed=2)
    assert [turn.number for turn in train[0]] == list(range(1, onset_speed.TURNS + 1))
    for remaining, form in ((False, "exact"), (True, "leave_one_out")):
        detector = novelty.fit(train, remaining=remaining, form=form)
        for batched in (False, True):
            case = onset_speed.per_turn(detector, others, 1.0, batched=batched)
            assert case.ok and case.unit == "turns/s"
        assert onset_speed.corpus(detector, others, 1e-9).ok is False


def test_label_statistics_and_scikit_learn_agree_and_the_input_is_drawn_by_seed():
    runs = label_speed.labelled_runs(seed=3)
    assert label_speed.agree(runs)
    assert runs == label_speed.labelled_runs(seed=3)
    assert len({run.question for run in runs}) == label_speed.QUESTIONS
