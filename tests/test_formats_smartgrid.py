"""Smart-grid runs: both shapes, failed runs too, with what judges and audits say of them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmark.formats.smartgrid import read, run_of
from benchmark.label_records import SIGNALS
from benchmark.records import BadRecord

NAME = "trajectories/run.json"


def planned(number=1, **extra):
    return {
        "step": number,
        "task": "Read it",
        "server": "iot",
        "tool": "read",
        "tool_args": {"id": "T-1"},
        "response": "ok",
        "error": None,
        "success": True,
    } | extra


def run(*history, **extra):
    return {
        "question": "What now?",
        "answer": "Nothing",
        "success": True,
        "scenario": {"id": "SGT-1", "text": "What now?", "characteristic_form": "An action"},
        "runner_meta": {"model_id": "m"},
        "history": list(history),
    } | extra


def called(output):
    return {
        "turn": 1,
        "role": "assistant",
        "content": "I read",
        "tool_calls": [{"name": "read", "arguments": {}, "call_id": "c", "output": output}],
    }


def dims(**extra):
    return dict.fromkeys(SIGNALS, True) | {"hallucinations": False, "suggestions": "None"} | extra


def judged(file="a/run.json", **extra):
    return {
        "run_name": "r",
        "scenario_id": "SGT-1",
        "trial_index": 1,
        "judge_model": "judge",
        "trajectory_file": file,
        "scored_at": "2026-01-02",
        "parsed_dims": dims(),
        "score_6d": 1.0,
        "pass": True,
    } | extra


@pytest.fixture
def folder(tmp_path):
    """Two runs of one name in two folders, an index and an empty folder of logs."""
    (tmp_path / "trajectories").mkdir()
    (tmp_path / "judge_logs").mkdir()
    rows = []
    for name in ("a", "b"):
        file = f"trajectories/{name}__run.json"
        (tmp_path / file).write_text(json.dumps(run(planned())))
        rows.append({"file": file, "upstream": f"{name}/run.json"})
    (tmp_path / "index.json").write_text(json.dumps(rows))
    return tmp_path


def add_log(folder, name, value):
    (folder / "judge_logs" / name).write_text(json.dumps(value))


def test_a_planned_step_is_its_task_its_call_and_the_tools_answer():
    record = run_of(run(planned(3)), NAME)
    (step,) = record.steps
    assert (step.number, step.agent, step.thought) == (3, "iot", "Read it")
    assert (step.action, step.observation) == ('read({"id": "T-1"})', "ok")
    assert (record.external_id, record.model, record.question) == ("run", "m", "SGT-1")
    assert (record.task, record.expected, record.response) == ("What now?", "An action", "Nothing")
    assert record.warnings == {}


def test_a_step_without_a_tool_is_a_response():
    (step,) = run_of(run(planned(tool="none")), NAME).steps
    assert (step.action, step.observation, step.response) == ("", "", "ok")


@pytest.mark.parametrize(
    ("output", "text", "warning"),
    [
        ({"type": "text", "text": '{"a": 1}'}, '{"a": 1}', "tool output wrapped as text"),
        ({"a": 1}, '{"a": 1}', "tool output as an object"),
        ([1], "[1]", "tool output as a list"),
        ("plain", "plain", "tool output as plain text"),
        (None, "", "tool call without an output"),
    ],
)
def test_every_type_of_output_becomes_text_and_is_counted(output, text, warning):
    record = run_of(run(called(output)), NAME)
    assert record.steps[0].observation == text
    assert record.warnings == {warning: 1}


def test_errors_behind_a_success_and_several_values_are_counted():
    texts = ["Error executing tool x", '{"error": "none"}', '{"a": 1}\n{"b": 2}', '{"a": 1} end']
    record = run_of(run(*(planned(n, response=t) for n, t in enumerate(texts))), NAME)
    assert record.warnings == {
        "success though the response is an error": 2,
        "response of several JSON values": 1,
    }
    assert [s.observation for s in record.steps] == texts


def test_a_failed_run_is_a_run_without_a_step():
    value = run(error="No output", success=False, answer="")
    del value["question"]
    record = run_of(value, NAME)
    assert record.steps == ()
    assert record.meta["error"] == "No output"
    assert record.task == "What now?"
    assert record.warnings["run that failed without a step"] == 1


def test_steps_may_stand_under_the_other_key_and_repeat_their_numbers():
    value = run()
    del value["history"], value["success"], value["scenario"], value["runner_meta"]
    value["trajectory"] = [planned(1), planned(1)]
    record = run_of(value, "x_llama-3-1-8b-instruct_plan_execute_y.json")
    assert [s.number for s in record.steps] == [1, 1]
    assert record.model == "llama-3-1-8b-instruct"
    assert record.warnings == {
        "steps under trajectory instead of history": 1,
        "step number that repeats": 1,
        "run without success": 1,
        "run without a scenario": 1,
        "model taken from the file name": 1,
    }


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "run: must be an object"),
        (run() | {"history": None}, "history: must be a list; it is missing"),
        (run("x"), r"history\[1\]: must be an object"),
        (run(planned("one")), r"history\[1\].step: must be a whole number"),
        (run(planned(tool_args=[1])), r"history\[1\].tool_args: must be an object"),
        (run(scenario={"id": []}), "scenario.id: must be text or a whole number"),
        (run({"turn": 1, "tool_calls": 3}), r"history\[1\].tool_calls: must be a list"),
    ],
)
def test_a_bad_run_is_refused_with_its_field(value, sentence):
    with pytest.raises(BadRecord, match=sentence):
        run_of(value, NAME)


def test_a_verdict_goes_to_the_run_whose_path_it_names(folder):
    add_log(folder, "1.json", judged("b/run.json", parsed_dims=dims(hallucinations=True)))
    first, second = read(folder)
    assert (first.labels, first.signals) == ((), ())
    assert first.warnings == {"run without a judge's log": 1}
    (label,) = second.labels
    assert (label.rater, label.kind, label.present, label.typed) == ("judge", "judge", True, False)
    assert (label.rationale, label.meta["score_6d"], label.meta["pass"]) == ("None", 1.0, True)
    assert {(s.name, s.value, s.source) for s in second.signals} == {
        *((name, True, "judge") for name in SIGNALS),
        ("hallucinations", True, "judge"),
    }


def test_a_judge_that_answers_twice_has_two_trials_in_the_order_of_time(folder):
    late = judged(scored_at="2026-01-03", parsed_dims=dims(hallucinations=True))
    add_log(folder, "1.json", late)
    add_log(folder, "2.json", judged())
    first, _ = read(folder)
    assert [(label.trial, label.present) for label in first.labels] == [(1, False), (2, True)]
    assert len(first.signals) == 6
    assert {s.value for s in first.signals if s.name == "hallucinations"} == {False}


def test_a_verdict_without_a_run_is_rejected_by_its_place(folder):
    add_log(folder, "9.json", judged("c/run.json"))
    *_, bad = read(folder)
    assert str(bad) == "judge_logs/9.json: no run here is its 'c/run.json'"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"judge_model": None}, "judge_logs/1.json, judge_model: must be text; it is missing"),
        ({"parsed_dims": 3}, "parsed_dims: must be an object"),
        ({"parsed_dims": dims(task_completion="yes")}, "parsed_dims.task_completion: must be"),
        ({"parsed_dims": {}}, "parsed_dims.hallucinations: must be a flag; it is missing"),
        ({"judge_model": "x" * 121}, "judge_model: must have 1 to 120 characters"),
    ],
)
def test_a_bad_verdict_is_one_sentence_and_the_runs_are_read(folder, change, sentence):
    add_log(folder, "1.json", judged(**change))
    bad, *runs = read(folder)
    assert sentence in str(bad)
    assert len(runs) == 2


def test_audits_give_signals_and_decisions_stay_with_the_label(folder):
    add_log(folder, "1.json", judged())
    (folder / "annotations").mkdir()
    (folder / "annotations" / "audit.csv").write_text(
        "trajectory_file,manual_pass,obvious_hallucination_or_unsupported_claim\n"
        "a/run.json,true,false\nb/run.json,maybe,true\n"
    )
    (folder / "annotations" / "decisions.tsv").write_text(
        "run_name\tscenario_id\ttrial_index\taudit_decision\taudit_note\taudit_decision_source\n"
        "r\tSGT-1\t1\tconfirmed\tAgreed\tAnn:2026\n"
    )
    bad, first, _ = read(folder)
    assert str(bad) == (
        "annotations/audit.csv:3, manual_pass: must be true, false or empty; it is 'maybe'"
    )
    assert first.labels[0].meta["audit"] == {"decision": "confirmed", "note": "Agreed"}
    audited = {(s.name, s.value) for s in first.signals if s.source == "audit"}
    assert audited == {("pass", True), ("hallucinations", False)}


def test_an_audit_of_nothing_that_is_here_is_rejected_by_its_place(folder):
    (folder / "annotations").mkdir()
    (folder / "annotations" / "a.csv").write_text("trajectory_file,manual_pass\nc/x.json,true\n")
    (folder / "annotations" / "d.tsv").write_text(
        "run_name\tscenario_id\ttrial_index\taudit_decision\nr\tSGT-1\t1\tconfirmed\n"
    )
    _, _, *bad = read(folder)
    assert [str(b) for b in bad] == [
        "annotations/d.tsv:2: no judge's log here is of 'r', 'SGT-1', '1'",
        "annotations: no run here is the audited 'c/x.json'",
    ]


def test_several_runs_in_one_file_are_named_by_their_lines(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(run(planned())) + "\n" + json.dumps(run(planned())) + "\n")
    assert [r.external_id for r in read(path)] == ["runs.jsonl:1", "runs.jsonl:2"]


def test_a_damaged_index_is_one_sentence(folder):
    (folder / "index.json").write_text('[{"file": 3}]')
    bad, *runs = read(folder)
    assert str(bad) == "index.json, [1].file: must be text; it is 3"
    assert len(runs) == 2


def test_the_real_runs_are_all_there_and_counted(shared):
    folder = shared / "data" / "assetops" / "smartgrid"
    records = list(read(folder))
    assert not [r for r in records if isinstance(r, BadRecord)]
    steps, runs = Counter(), Counter()
    for record in records:
        steps.update(record.warnings)
        runs.update(record.warnings.keys())
    assert len(records) == 147
    documents = [json.loads(p.read_text()) for p in (folder / "trajectories").iterdir()]
    assert len({tuple(sorted(d)) for d in documents}) == 14
    assert steps["run that failed without a step"] == 15
    assert runs["step number that repeats"] == 15
    assert steps["tool output wrapped as text"] == 94
    assert steps["tool output as an object"] == 32
    assert steps["tool output as a list"] == 36
    assert steps["tool output as plain text"] == 1
    assert steps["steps under trajectory instead of history"] == 3
    assert steps["run without success"] == steps["run without a scenario"] == 2
    assert steps["run without a judge's log"] == 6
    assert steps["judge's log without trial_index"] == 1
    # 36 responses begin with "Error executing tool", 3 are objects with an error.
    told = [s for d in documents for s in d.get("history", d.get("trajectory"))]
    told = [s["response"] for s in told if s.get("success") is True]
    errors = sum(t.startswith(("Error executing", '{\n  "error"')) for t in told)
    assert steps["success though the response is an error"] == errors == 39
    assert steps["response of several JSON values"] == 73


def test_the_real_verdicts_and_audits_all_find_their_runs(shared):
    records = list(read(shared / "data" / "assetops" / "smartgrid"))
    labels = [label for r in records for label in r.labels]
    assert len(labels) == 141
    assert {label.kind for label in labels} == {"judge"}
    signals = Counter(s.source == "audit" for r in records for s in r.signals)
    assert signals == {False: 141 * 6, True: 12 * 2}
    decisions = Counter(
        label.meta["audit"]["decision"] for label in labels if "audit" in label.meta
    )
    assert decisions == {"confirmed": 42, "evidence_thin": 3, "relabel_suggested": 1}
