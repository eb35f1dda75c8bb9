"""Trajel's trajectories: every step kept, also several under one number."""

from __future__ import annotations

import json

import pytest

from benchmark.formats.trajel import read, trajectory_of
from benchmark.records import BadRecord


def run(**extra):
    step = {"agent": "IoT", "thought": "t", "action": "a", "observation": "o"}
    return {"uid": "Model_7_Q_509", "task": "Find it", "trajectory": [step]} | extra


def test_a_trajectory_with_its_model_and_question():
    record = trajectory_of(run(), "r.jsonl:1")
    assert record.external_id == "Model_7_Q_509"
    assert record.meta == {"model": "Model_7", "question": 509}
    assert record.steps[0].number == 1


def test_steps_of_the_same_number_are_all_kept():
    steps = [{"step": n, "action": f"call {i}"} for i, n in enumerate((1, 2, 3, 3, 4))]
    record = trajectory_of(run(trajectory=steps), "r")
    assert [s.number for s in record.steps] == [1, 2, 3, 3, 4]
    assert [s.action for s in record.steps] == [f"call {i}" for i in range(5)]


def test_missing_and_structured_fields():
    steps = [{"agent": None, "action": {"tool": "x", "n": 1}, "score": 0.5}]
    record = trajectory_of(run(trajectory=steps), "r")
    step = record.steps[0]
    assert (step.agent, step.thought, step.action) == ("", "", '{"tool": "x", "n": 1}')
    assert step.meta == {"score": 0.5}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"uid": None}, "uid: must be text or a whole number; it is missing"),
        ({"trajectory": {}}, "trajectory: must be a list"),
        ({"trajectory": ["x"]}, r"trajectory\[1\]: must be an object"),
        ({"trajectory": [{"step": 2**40}]}, "32 bits"),
    ],
)
def test_a_bad_trajectory_is_refused_with_a_sentence(change, sentence):
    with pytest.raises(BadRecord, match=sentence):
        trajectory_of(run(**change), "r")


def test_lines_and_documents(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(run()) + "\n")
    (tmp_path / "b.json").write_text(json.dumps([run(uid="x"), run(uid="y")]))
    assert [r.external_id for r in read(tmp_path)] == ["Model_7_Q_509", "x", "y"]


def test_a_uid_of_thousands_of_digits_is_a_sentence():
    with pytest.raises(BadRecord, match="1 to 200 characters"):
        trajectory_of(run(uid="Model_7_Q_" + "9" * 5000), "r")


def test_what_a_judge_wrote_beside_a_trajectory_is_kept():
    judged = {"hallucinations": True, "hallucination_location": "Task 2, Action"}
    record = trajectory_of(run(**judged), "r")
    assert {name: record.meta[name] for name in judged} == judged
    assert (record.model, record.question) == ("Model_7", "509")
