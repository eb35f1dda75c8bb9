"""Runs of the agent runner, chats with tool calls as runs, and what any of the readers meets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.formats import agent_runner, assetops, message_runs, smartgrid, who_when
from benchmark.records import BadRecord, TrajectoryRecord


def turn(index, text="", *calls):
    return {"index": index, "text": text, "tool_calls": list(calls)}


def call(name="look", output="7", **extra):
    return {"name": name, "input": {"n": 1}, "id": "c", "output": output, "duration_ms": 3} | extra


def runner(*turns, **extra):
    return {
        "run_id": "r1",
        "scenario_id": "s1",
        "runner": "an-agent",
        "model": "m",
        "question": "How many?",
        "answer": "Seven",
        "trajectory": {"started_at": "now", "turns": list(turns)},
    } | extra


def test_turns_become_thoughts_calls_and_a_last_response():
    record = agent_runner.run_of(
        runner(turn(0, "Let me look", call(), call("count", None)), turn(1, "Seven")), "r"
    )
    assert [(s.number, s.thought, s.action, s.observation, s.response) for s in record.steps] == [
        (0, "Let me look", 'look({"n": 1})', "7", ""),
        (0, "", 'count({"n": 1})', "", ""),
        (1, "", "", "", "Seven"),
    ]
    assert (record.model, record.question, record.response) == ("m", "s1", "Seven")
    assert record.warnings == {
        "several tool calls in one turn": 1,
        "tool call without an output": 1,
    }


def test_an_answer_that_the_last_turn_does_not_give_is_counted():
    record = agent_runner.run_of(runner(turn(0, "Eight")), "r")
    assert record.response == "Seven"
    assert record.steps[0].response == "Eight"
    assert record.warnings == {"answer differs from the last turn": 1}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (runner(run_id=None), "run_id: must be text or a whole number; it is missing"),
        (runner(trajectory=None), "trajectory: must be an object; it is missing"),
        (runner(trajectory={}), r"trajectory.turns: must be a list"),
        (runner("x"), r"trajectory.turns\[1\]: must be an object"),
        (runner(turn("a")), r"trajectory.turns\[1\].index: must be a whole number"),
        (runner(turn(0, "", "x")), r"trajectory.turns\[1\].tool_calls\[1\]: must be an object"),
        (runner(model=3), "model: must be text; it is 3"),
    ],
)
def test_a_bad_run_of_the_runner_is_refused_with_its_field(value, sentence):
    with pytest.raises(BadRecord, match=sentence):
        agent_runner.run_of(value, "r")


def test_the_real_run_of_the_runner(shared):
    (record,) = agent_runner.read(shared / "data" / "assetops" / "agent-runner-turns")
    assert (record.external_id, record.model) == ("fable-5-1_0001", "claude-fable-5-1")
    assert [s.number for s in record.steps] == [0, 1, 2, 3, 4]
    assert record.response == record.steps[-1].response
    assert record.warnings == {
        "tool call without an output": 1,
        "turn without text and without a call": 2,
    }


def assistant(text, *calls):
    functions = [
        {"id": ident, "function": {"name": name, "arguments": "{}"}} for ident, name in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": functions}


def tool(ident, text):
    return {"role": "tool", "tool_call_id": ident, "content": text}


def chat(*messages, **extra):
    return message_runs.run_of({"id": "a", "messages": list(messages)} | extra, "c.jsonl:1")


USER = {"role": "user", "content": "How many pumps?"}


def test_parallel_calls_are_steps_of_one_number_with_the_answers_of_their_ids():
    record = chat(
        {"role": "system", "content": "Be brief"},
        USER,
        assistant("I look", ("c1", "pumps"), ("c2", "sites")),
        tool("c2", "MAIN"),
        tool("c1", "3"),
        {"role": "assistant", "content": "Three."},
    )
    assert [(s.number, s.thought, s.action, s.observation, s.response) for s in record.steps] == [
        (3, "I look", "pumps({})", "3", ""),
        (3, "", "sites({})", "MAIN", ""),
        (6, "", "", "", "Three."),
    ]
    assert (record.task, record.response) == ("How many pumps?", "Three.")
    assert record.meta == {"system_prompt": "Be brief"}
    assert record.warnings == {"several tool calls in one message": 1}


def test_calls_without_answers_and_answers_without_calls_are_kept_and_counted():
    record = chat(
        USER,
        assistant("", ("c1", "pumps")),
        tool("c9", "stray"),
        assistant(None, ("c2", "sites")),
        tool("c2", "MAIN"),
        tool("c2", "MAIN again"),
    )
    assert [s.observation for s in record.steps] == ["", "stray", "MAIN", "MAIN again"]
    assert record.warnings == {
        "tool call without an answer": 1,
        "tool answer without a call": 1,
        "second answer to one tool call": 1,
        "run without a final response": 1,
    }


def test_an_answer_without_an_id_goes_to_the_first_open_call_and_is_counted():
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    record = chat(USER, old, {"role": "function", "name": "f", "content": "7"})
    assert record.steps[0].observation == "7"
    assert record.warnings["tool answer without a call id, given to the first open call"] == 1


def test_what_the_user_says_later_stays_a_step():
    record = chat(USER, assistant("Where?"), {"role": "user", "content": "At MAIN"})
    assert [(s.agent, s.thought, s.response) for s in record.steps] == [
        ("assistant", "Where?", ""),
        ("user", "", "At MAIN"),
    ]
    assert record.warnings["message of the user within the run"] == 1
    assert record.response == ""


def test_model_question_and_expected_answer_are_taken_as_given():
    record = chat(USER, model="m", question=7, expected="3")
    assert (record.model, record.question, record.expected) == ("m", "7", "3")


messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system", "what"])},
        optional={
            "content": st.none() | st.text(max_size=5) | st.integers() | st.lists(st.text()),
            "tool_call_id": st.sampled_from(["c1", "c2"]) | st.none() | st.integers(),
            "tool_calls": st.lists(
                st.fixed_dictionaries({}, optional={"id": st.sampled_from(["c1", "c2"])})
                | st.integers(),
                max_size=3,
            )
            | st.none(),
        },
    ),
    max_size=8,
)


@given(messages)
def test_any_list_of_messages_is_one_run_or_one_sentence(given_messages):
    try:
        record = chat(*given_messages)
    except BadRecord as bad:
        assert bad.where.startswith("messages[")
        return
    calls = sum(len(m.get("tool_calls") or []) for m in given_messages if m["role"] == "assistant")
    assert len(record.steps) >= calls
    assert {s.number for s in record.steps} <= set(range(1, len(given_messages) + 1))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("id", "run_id", "trajectory", "turns", "logs", "history", "task", "role"),
                    *("tool_calls", "output", "question", "answer", "scenario", "step", "action"),
                    *("trajectroy_log", "mistake_step", "file", "content", "text", "response"),
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)
BUILDERS = {
    "assetops": lambda value: assetops.run_of(value, "r:1"),
    "agent_runner": lambda value: agent_runner.run_of(value, "r:1"),
    "smartgrid": lambda value: smartgrid.run_of(value, "r.json"),
    "who_when": lambda value: who_when.run_of(value, "r:1", "logs"),
    "messages": lambda value: message_runs.run_of(value, "r:1"),
}


@pytest.mark.parametrize("name", BUILDERS)
@given(value=values)
def test_any_value_is_one_run_or_one_sentence(name, value):
    try:
        assert isinstance(BUILDERS[name](value), TrajectoryRecord)
    except BadRecord as bad:
        assert bad.where
        assert bad.reason


READERS = {
    "assetops": assetops.read,
    "agent_runner": agent_runner.read,
    "smartgrid": smartgrid.read,
    "who_when": who_when.read,
    "messages": message_runs.read,
}


@pytest.mark.parametrize("name", READERS)
def test_a_hostile_document_is_one_sentence_that_names_the_file(name, tmp_path):
    for number, text in enumerate(('{"id": NaN}', "[" * 500 + "]" * 500, "", "\xff\xfe", "3")):
        path = tmp_path / f"bad{number}.json"
        path.write_bytes(text.encode("latin-1"))
        (bad,) = READERS[name](path)
        assert isinstance(bad, BadRecord)
        assert bad.where.startswith(path.name)


GOOD = {
    "assetops": {
        "id": 1,
        "text": "a\x00b",
        "trajectory": [
            {"logs": {"trajectory": [{"observation": "x" * 1_000_000}]}, "response": "\ud800"}
        ],
    },
    "agent_runner": runner(turn(0, "a\x00b\ud800", call(output="x" * 1_000_000))),
    "smartgrid": {
        "question": "a\x00b",
        "answer": "\ud800",
        "history": [{"step": 1, "tool": "t", "response": "x" * 1_000_000}],
    },
    "who_when": {
        "file": "1.json",
        "history": [{"content": "x" * 1_000_000, "role": "a\x00\ud800"}],
        "mistake_step": "0",
        "mistake_reason": "a\x00b",
    },
    "messages": {
        "id": 1,
        "messages": [
            {"role": "user", "content": "a\x00b\ud800"},
            {"role": "assistant", "content": "x" * 1_000_000},
        ],
    },
}


@pytest.mark.parametrize("name", READERS)
def test_a_long_text_is_whole_and_what_no_database_keeps_is_replaced(name, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(GOOD[name]))
    (record,) = READERS[name](path)
    shown = json.dumps([record.task, record.response, record.meta, [str(s) for s in record.steps]])
    assert "\\u0000" not in shown
    assert not any("\x00" in label.rationale for label in record.labels)
    texts = [t for s in record.steps for t in (s.thought, s.observation, s.response)]
    assert max(map(len, texts)) == 1_000_000
    assert record.warnings["NUL character replaced"] == 1
    assert record.warnings["lone surrogate replaced"] == 1
