"""Our own lines: what goes out comes back equal, what is not a field is refused."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.formats import dialfork
from benchmark.formats.building import dialogue, trajectory, turn
from benchmark.formats.reading import parsed
from benchmark.records import (
    FORK_TYPES,
    REPLAYS,
    ROLES,
    BadRecord,
    ForkRecord,
    StepRecord,
    StepSpec,
    TransitionSpec,
    WorkflowRecord,
)

texts = st.text(max_size=40)
plain = texts.filter(lambda t: "\x00" not in t)
metas = st.dictionaries(plain, st.none() | st.booleans() | st.integers(-9, 9) | plain, max_size=3)
metas = metas.filter(lambda m: "warnings" not in m)
ids = plain.filter(lambda t: t.strip() == t and t)
turns = st.lists(
    st.builds(turn, st.sampled_from(ROLES), texts, name=texts, label=texts, meta=metas), max_size=8
)


@st.composite
def forks_of(draw, turns):
    """A fork at one of the assistant's turns."""
    numbers = [n for n, t in enumerate(turns, start=1) if t.role == "assistant"]
    place = draw(st.integers(1, len(numbers)))
    return draw(
        st.builds(
            ForkRecord,
            source_corpus=st.sampled_from(["", "other"]),
            source=ids,
            type=st.sampled_from(FORK_TYPES),
            variant=plain,
            k=st.integers(1, 4),
            fork_assistant_turn=st.just(place),
            fork_turn=st.just(numbers[place - 1]),
            instruction=plain.filter(bool),
            seed=st.integers(-(2**63), 2**63 - 1),
            replay=st.sampled_from(REPLAYS),
            generator=plain,
            witness=metas,
        )
    )


def there_and_back(record):
    out = io.StringIO()
    dialfork.write([record], out)
    assert out.getvalue().count("\n") == 1
    return dialfork.record_of(parsed(out.getvalue(), "x"), record.where)


@given(st.data(), turns, metas, st.sampled_from([None, True, False]), ids)
def test_any_dialogue_survives(data, turns, meta, conformant, ident):
    forks = []
    if any(t.role == "assistant" for t in turns):
        forks = data.draw(st.lists(forks_of(turns), max_size=2))
    record = dialogue(
        ident, turns, where="w", workflow="flow", conformant=conformant, forks=forks, meta=meta
    )
    assert there_and_back(record) == record
    assert there_and_back(record).digest == record.digest


@given(st.lists(st.builds(StepRecord, st.integers(-9, 9), texts, texts, texts, texts), max_size=5))
def test_any_trajectory_survives(steps):
    record = trajectory("run", "task", steps, where="w")
    back = there_and_back(record)
    assert (back, back.digest) == (record, record.digest)


def workflow():
    return WorkflowRecord(
        name="table_book",
        domain="restaurant",
        objective="Book",
        steps=(StepSpec("a", "A"), StepSpec("b", "B", "state")),
        transitions=(TransitionSpec("a", "b", "when free"),),
        start="a",
        terminals=("b",),
        meta={"x": [1]},
        where="w",
    )


def test_a_workflow_survives():
    assert there_and_back(workflow()) == workflow()


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("turn",), [], "dialogue.turn: is not a field; known are id, workflow"),
        (("turns",), None, "dialogue.turns: must be a list; it is missing"),
        (("turns",), [{"role": "agent", "text": ""}], "role 'agent' is not one of user, assistant"),
        (("conformant",), "yes", "dialogue.conformant: must be a flag or null; it is 'yes'"),
        (("split",), "dev", 'split: must be "train", "test" or empty'),
        (("id",), "", "id: must have 1 to 200 characters"),
        (("forks", 0, "k"), 5, "k is 5; it must be 1, 2, 3 or 4"),
        (("forks", 0, "seed"), 2**63, "seed must fit 64 bits"),
        (("forks", 0, "instruction"), "", "a fork carries its instruction"),
        (("forks", 0, "type"), "XX", "is not one of WIC, SSPC, GR, CSC"),
        (("forks", 0, "fork_turn"), 2, "turn 2 is no turn of the assistant"),
        (("turns", 0, "role"), "user", "turn 1 is no turn of the assistant"),
        (("forks", 0, "fork_turn"), True, "must be a whole number; it is True"),
        (("kind",), ["dialogue"], "kind: must be one of workflow, dialogue, trajectory"),
        (("kind",), "fork", "kind: must be one of workflow, dialogue, trajectory"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(path, value, sentence):
    fork = ForkRecord("", "s", "WIC", "v", 1, 1, 1, "do it", 1, "exact", "g")
    record = dialogue("a", [turn("assistant", "x")], where="w", forks=[fork])
    line = json.loads(json.dumps(dialfork.line_of(record)))
    place = line
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(BadRecord) as caught:
        dialfork.record_of(line, "w")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "a b"}, "letters, digits, dots"),
        ({"domain": "d" * 121}, "domain: has more than 120 characters"),
        ({"start": "z"}, "start: names the unknown step"),
        ({"steps": [{"key": "a"}, {"key": "a"}]}, "stands twice"),
        ({"steps": [{"key": "a", "kind": "x"}]}, "must be one of action, state, reply"),
        ({"transitions": [{"source": "a", "target": "q"}]}, "names the unknown step q"),
    ],
)
def test_a_workflow_that_contradicts_itself_is_refused(change, sentence):
    with pytest.raises(BadRecord) as caught:
        line = json.loads(json.dumps(dialfork.line_of(workflow())))
        dialfork.record_of(line | change, "w")
    assert sentence in str(caught.value)


def test_the_name_of_the_source_corpus_is_no_part_of_a_forks_content():
    fork = ForkRecord("here", "s", "WIC", "v", 1, 1, 1, "do it", 1, "exact", "g")
    digests = {
        dialogue("a", [], where="w", forks=[f]).digest
        for f in (fork, replace(fork, source_corpus="there"))
    }
    assert len(digests) == 1
    moved = dialogue("a", [], where="w", forks=[replace(fork, seed=2)]).digest
    assert moved not in digests


def test_the_documented_lines_are_read(tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "formats.md").read_text()
    path = tmp_path / "example.jsonl"
    path.write_text(text.split("```jsonl\n")[1].split("```")[0])
    records = list(dialfork.read(path))
    assert [type(r).__name__ for r in records] == [
        "WorkflowRecord",
        "DialogueRecord",
        "DialogueRecord",
        "TrajectoryRecord",
    ]
    assert records[2].forks[0].source == records[1].external_id
