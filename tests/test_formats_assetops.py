"""AssetOpsBench runs: all tasks in order, and every oddity of the real logs kept and counted."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from benchmark.formats import assetops
from benchmark.formats.assetops import read, run_of
from benchmark.records import BadRecord


def step(**extra):
    return {
        "step": 1,
        "thought": "t",
        "action": "sites",
        "action_input": "{}",
        "observation": "MAIN",
        "state": "Valid Action",
        "raw_llm_thought_output": " t\nAction",
        "raw_llm_action_output": " sites\nAction Input",
        "raw_observation_output": "MAIN",
    } | extra


def task(*steps, response="MAIN", agent="IoT", **logs):
    return {
        "task_number": 1,
        "task_description": "List",
        "agent_name": agent,
        "response": response,
        "logs": {"trajectroy_log": list(steps), "task": "List\n"} | logs,
    }


def run(*tasks, **extra):
    return {"id": 7, "text": "What sites?", "trajectory": list(tasks)} | extra


def test_steps_of_all_tasks_stand_in_order_under_their_agents():
    record = run_of(run(task(step()), task(step(), step(step=2), agent="WO", response="")), "r:1")
    assert [s.agent for s in record.steps] == ["IoT", "WO", "WO"]
    assert [s.number for s in record.steps] == [1, 1, 2]
    assert record.steps[0].action == "sites\n{}"
    assert record.steps[0].response == "MAIN"
    assert (record.external_id, record.question, record.response) == ("Q_7", "7", "MAIN")
    assert record.warnings["task without a response"] == 1


def test_a_task_without_a_step_keeps_its_answer_in_a_step_of_its_own():
    record = run_of(run(task(response="None needed")), "r:1")
    assert [(s.agent, s.response) for s in record.steps] == [("IoT", "None needed")]
    assert record.warnings["task without a step"] == 1


def test_without_the_misspelt_key_the_short_log_is_read():
    short = [{"thought": "t", "action": "Tool Name: x", "observation": "o"}]
    record = run_of(run(task(trajectory=short)), "r:1")
    assert record.steps[0].action == "Tool Name: x"
    assert record.warnings["steps taken from logs.trajectory"] == 1


def test_a_list_of_code_becomes_text_and_none_of_it_is_lost():
    record = run_of(run(task(step(action=["a = 1", "print(a)"], action_input=""))), "r:1")
    assert record.steps[0].action == "a = 1\n\nprint(a)"
    assert record.steps[0].meta["code"] == ["a = 1", "print(a)"]
    assert record.warnings["action is a list of code"] == 1


def test_a_raw_output_is_kept_only_where_it_says_something_else():
    same = run_of(run(task(step(), step(raw_observation_output="MAIN\n"))), "r:1")
    assert not any("raw_observation_output" in s.meta for s in same.steps)
    other = run_of(run(task(step(raw_observation_output="other"))), "r:1")
    assert other.steps[0].meta["raw_observation_output"] == "other"
    assert other.warnings["raw output differs from the parsed part and is kept"] == 1


def test_trajfm_runs_are_named_by_vendor_model_and_utterance(tmp_path):
    folder = tmp_path / "vendor" / "model-a"
    folder.mkdir(parents=True)
    steps = [{"thought": "t", "action": "a", "observation": "o"}]
    value = {"task": "Find", "trajectory": steps, "final_answer": "It is 7"}
    for name in ("12", "9"):
        (folder / name).write_text(json.dumps(value))
    (tmp_path / "lines.jsonl").write_text(json.dumps(run(task(step()))) + "\n")
    hive, *found = read(tmp_path)
    assert hive.external_id == "Q_7"
    assert [r.external_id for r in found] == ["vendor/model-a/9", "vendor/model-a/12"]
    assert (found[0].model, found[0].question) == ("vendor/model-a", "9")
    assert found[0].response == "It is 7"


def test_the_expected_answer_comes_from_scenarios_beside_the_file(tmp_path):
    (tmp_path / "scenarios").mkdir()
    rows = [
        {"id": 7, "text": "What sites?", "characteristic_form": "A list", "type": "IoT"},
        {"id": 8, "text": "Something else", "characteristic_form": "No"},
    ]
    (tmp_path / "scenarios" / "all.json").write_text(json.dumps(rows))
    path = tmp_path / "runs.jsonl"
    lines = [run(task(step())), run(task(step()), id=8)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = read(path)
    assert (first.expected, first.meta["scenario"]) == ("A list", {"type": "IoT"})
    assert second.expected == ""
    assert second.warnings["scenario of this id asks something else"] == 1


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "run: must be an object"),
        (run(id=None), "id: must be text or a whole number; it is missing"),
        (run() | {"trajectory": 3}, "trajectory: must be a list"),
        (run("x"), r"trajectory\[1\]: must be an object"),
        (run(task(logs=3) | {"logs": 3}), r"trajectory\[1\].logs: must be an object"),
        (run(task("x")), r"trajectory\[1\].logs.trajectroy_log\[1\]: must be an object"),
        (run(task(step(step="one"))), r"trajectroy_log\[1\].step: must be a whole number"),
        (run(task(response=4)), r"trajectory\[1\].response: must be text"),
        (run(task(step(), agent="x" * 201)), "agent has more than 200"),
        ({"task": 3, "trajectory": []}, "task: must be text"),
    ],
)
def test_a_bad_run_is_refused_with_its_field(value, sentence):
    with pytest.raises(BadRecord, match=sentence):
        run_of(value, "r:1")


def test_the_real_runs_are_all_there_and_counted(shared):
    path = shared / "data" / "assetops" / "agenthive-trajectories.jsonl.gz"
    records = list(read(path))
    assert not [r for r in records if isinstance(r, BadRecord)]
    steps, files = Counter(), Counter()
    for record in records:
        steps.update(record.warnings)
        files.update(record.warnings.keys())
    expected = expected_counts(path)
    assert (len(records), sum(len(r.steps) for r in records)) == (122, 1634)
    assert {name: (steps[name], files[name]) for name in expected} == expected
    assert sum(bool(r.expected) for r in records) > 0


def expected_counts(path):
    """The oddities counted straight from the file: (how many, in how many runs)."""
    many, runs = Counter(), Counter()
    with gzip.open(path, "rt") as file:
        for line in file:
            found = Counter()
            for item in json.loads(line)["trajectory"]:
                found["task without a response"] += item["response"] == ""
                found["steps under the misspelt key trajectroy_log"] += 1
                entries = item["logs"]["history"]
                found["history entry without a role"] += sum("role" not in e for e in entries)
                for s in item["logs"]["trajectroy_log"]:
                    found["action is a list of code"] += isinstance(s["action"], list)
                    found["action without an input"] += s["action_input"] == ""
                    found["step without an observation"] += s["observation"] == ""
                    found["state Invalid Action"] += s["state"] == "Invalid Action"
                    found["state Invalid Final Answer"] += s["state"] == "Invalid Final Answer"
                    found["step without a state"] += s["state"] == ""
                    long = len(s["observation"]) > 20_000
                    found["observation of more than 20,000 characters"] += long
            many.update(found)
            runs.update({name: 1 for name, n in found.items() if n})
    assert many["action is a list of code"] == 249
    assert many["observation of more than 20,000 characters"] == 5
    return {name: (n, runs[name]) for name, n in many.items()}


def test_what_is_kept_of_the_real_runs_is_about_as_long_as_their_steps(shared):
    path = shared / "data" / "assetops" / "agenthive-trajectories.jsonl.gz"
    texts = kept = 0
    for record in read(path):
        texts += sum(
            len(s.thought) + len(s.action) + len(s.observation) + len(s.response)
            for s in record.steps
        )
        kept += len(json.dumps(record.meta)) + sum(len(json.dumps(s.meta)) for s in record.steps)
    assert kept < 1.5 * texts


def test_nine_original_documents_are_read_as_the_lines_are(shared):
    folder = shared / "data" / "assetops"
    whole = {r.external_id: r.digest for r in read(folder / "agenthive-trajectories.jsonl.gz")}
    sample = list(assetops.read(folder / "agenthive-sample"))
    assert len(sample) == 9
    assert all(whole.get(r.external_id, r.digest) == r.digest for r in sample)
