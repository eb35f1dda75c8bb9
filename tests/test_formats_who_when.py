"""Who&When: every log a run, its published first fault a label at its step."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from benchmark.formats.who_when import read, run_of
from benchmark.records import BadRecord


def log(**extra):
    return {
        "file": "1.json",
        "question": "How many?",
        "question_ID": "q-1",
        "ground_truth": "8",
        "is_correct": False,
        "history": [
            {"content": "Plan", "role": "human"},
            {"content": "Code", "role": "assistant", "name": "Coder"},
        ],
        "mistake_agent": "Coder",
        "mistake_step": "1",
        "mistake_reason": "An edge case",
    } | extra


def of(**extra):
    return run_of(log(**extra), "w:1", "logs")


def test_a_message_is_the_response_of_a_step_by_its_name_or_role():
    record = of()
    assert [(s.number, s.agent, s.response) for s in record.steps] == [
        (1, "human", "Plan"),
        (2, "Coder", "Code"),
    ]
    assert not any(s.thought or s.action or s.observation for s in record.steps)
    assert record.steps[1].meta == {"role": "assistant"}
    assert (record.external_id, record.question, record.expected) == ("logs/1.json", "q-1", "8")
    assert record.meta == {"is_correct": False}


def test_the_published_fault_is_a_label_whose_step_counts_from_one():
    (label,) = of().labels
    assert (label.rater, label.kind, label.present, label.types) == (
        "published",
        "published",
        True,
        (),
    )
    assert [p.step for p in label.places] == [2]
    assert label.rationale == "An edge case"
    assert label.meta == {"mistake_agent": "Coder", "mistake_step": 1}


def test_another_agent_than_the_speaker_is_kept_and_counted():
    record = of(mistake_agent="Planner")
    assert record.labels[0].meta["mistake_agent"] == "Planner"
    assert record.warnings == {"mistake_agent is not the speaker of mistake_step": 1}


@pytest.mark.parametrize("step", [2, "2", "-1", -1])
def test_a_fault_outside_the_history_keeps_its_label_without_a_place(step):
    record = of(mistake_step=step)
    assert record.labels[0].present
    assert record.labels[0].places == ()
    assert record.warnings == {"mistake_step lies outside the history": 1}


def test_a_log_without_a_fault_has_no_label():
    assert of(mistake_step=None).labels == ()


def test_unknown_fields_are_kept_and_counted():
    record = of(mistake_type="new")
    assert record.meta["mistake_type"] == "new"
    assert record.warnings == {"field that the format does not name": 1}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"history": None}, "history: must be a list; it is missing"),
        ({"history": ["x"]}, r"history\[1\]: must be an object"),
        ({"mistake_step": "two"}, "mistake_step: must be a whole number, counted from 0"),
        ({"mistake_step": 1.5}, "mistake_step: must be text or a whole number"),
        ({"file": None}, "file: must be text; it is missing"),
        ({"history": [{"role": "x" * 201}]}, "agent has more than 200"),
    ],
)
def test_a_bad_log_is_refused_with_its_field(change, sentence):
    with pytest.raises(BadRecord, match=sentence):
        of(**change)


def test_a_document_of_its_own_is_named_after_its_folder_and_file(tmp_path):
    folder = tmp_path / "Hand-Crafted"
    folder.mkdir()
    value = log()
    del value["file"]
    (folder / "12.json").write_text(json.dumps(value))
    assert [r.external_id for r in read(folder)] == ["Hand-Crafted/12.json"]
    assert [r.external_id for r in read(tmp_path)] == ["Hand-Crafted/12.json"]


def test_the_real_logs_are_all_there_with_their_labels(shared):
    folder = shared / "data" / "who_when"
    records = list(read(folder))
    assert not [r for r in records if isinstance(r, BadRecord)]
    groups = Counter(r.external_id.split("/")[0] for r in records)
    assert groups == {"algorithm-generated": 108, "hand-crafted": 50}
    assert sum(len(r.steps) for r in records) == 936 + 2698
    assert all(len(r.labels) == 1 and r.labels[0].places for r in records)
    counts = Counter()
    for record in records:
        counts.update(record.warnings)
    # Of all 184 logs it is 3 of 126 and 21 of 58.
    assert counts["mistake_agent is not the speaker of mistake_step"] == 20
    assert counts["field that the format does not name"] == 3
    assert "mistake_step lies outside the history" not in counts


def test_the_real_labels_name_the_step_that_the_logs_name(shared):
    path = shared / "data" / "who_when" / "hand-crafted.jsonl.gz"
    with gzip.open(path, "rt") as file:
        given = [int(json.loads(line)["mistake_step"]) for line in file]
    assert [r.labels[0].places[0].step - 1 for r in read(path)] == given
