"""Chat logs: the speaker is what the message says, a tool call is a turn of its own."""

from __future__ import annotations

import json

import pytest

from benchmark.formats.messages import dialogue_of, read
from benchmark.records import BadRecord


def of(value, roles=None):
    return dialogue_of(value, "chats.jsonl:1", roles)


def test_a_tool_call_without_content_is_one_action_turn_at_its_place():
    call = {"name": "book", "arguments": '{"day":"Mon"}'}
    record = of(
        {
            "id": "a",
            "messages": [
                {"role": "user", "content": "Book Monday."},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "type": "function", "function": call}],
                },
                {"role": "user", "content": "Thanks."},
            ],
        }
    )
    assert [t.role for t in record.turns] == ["user", "action", "user"]
    assert record.turns[1].text == 'book({"day":"Mon"})'
    assert not any(word in t.text for t in record.turns for word in ("null", "None"))


def test_a_message_that_speaks_and_calls_is_two_turns_speech_first():
    record = of(
        {
            "id": "a",
            "messages": [
                {
                    "role": "assistant",
                    "content": "One moment.",
                    "tool_calls": [{"function": {"name": "look", "arguments": {"n": 1}}}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "free"},
            ],
        }
    )
    assert [(t.role, t.text) for t in record.turns] == [
        ("assistant", "One moment."),
        ("action", 'look({"n": 1})'),
        ("observation", "free"),
    ]


def test_sharegpt_speakers_come_from_the_file_not_from_their_place():
    said = [("gpt", "Hello"), ("human", "Hi"), ("gpt", "Name?"), ("human", "Al"), ("gpt", "Done")]
    record = of(
        {
            "id": "s1",
            "system": "Be brief",
            "conversations": [{"from": f, "value": v} for f, v in said],
        }
    )
    assert [t.role for t in record.turns] == [
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert [t.text for t in record.turns] == [v for _, v in said]
    assert record.meta == {"system": "Be brief"}


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("developer", "system"),
        ("function_call", "action"),
        ("observation", "observation"),
        ("tool", "observation"),
        ("Human", "user"),
    ],
)
def test_known_role_words(name, role):
    record = of({"id": "a", "messages": [{"role": name, "content": "x"}]})
    assert record.turns[0].role == role
    assert record.turns[0].name == name


@pytest.mark.parametrize("name", ["Agent 007", ""])
def test_an_unknown_role_is_refused_until_it_is_mapped(name):
    value = {"id": "a", "messages": [{"role": name, "content": "x"}]}
    with pytest.raises(BadRecord, match="--roles"):
        of(value)
    assert of(value, {name: "assistant"}).turns[0].role == "assistant"


def test_empty_texts_and_repeated_speakers_keep_their_numbers():
    said = [("assistant", "a"), ("assistant", ""), ("user", "   "), ("assistant", "d")]
    record = of({"id": "a", "messages": [{"role": r, "content": c} for r, c in said]})
    assert [(t.role, t.text) for t in record.turns] == said


def test_parts_are_joined_and_what_is_no_text_is_counted():
    content = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {}}, "this"]
    record = of({"id": "a", "messages": [{"role": "user", "content": content}]})
    assert record.turns[0].text == "See\nthis"
    assert record.warnings == {"content that is not text left out": 1}


def test_without_an_id_a_dialogue_is_named_after_its_line(tmp_path):
    path = tmp_path / "chats.jsonl"
    line = json.dumps({"messages": [{"role": "user", "content": "x"}]})
    path.write_text(f"{line}\n\n{line}\n")
    assert [r.external_id for r in read(path)] == ["chats.jsonl:1", "chats.jsonl:3"]


def test_a_document_that_is_a_list_is_taken_apart(tmp_path):
    path = tmp_path / "chats.json"
    path.write_text(json.dumps([{"id": i, "messages": []} for i in (7, 8)]))
    assert [r.external_id for r in read(path)] == ["7", "8"]


def test_a_line_of_another_shape_says_which_field_it_needs(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text('{"id": "a"}\n{"id": "b", "messages": [{"role": 3}]}\n[]\n')
    reasons = [str(bad) for bad in read(path)]
    assert "needs one of the fields messages" in reasons[0]
    assert reasons[1] == "chats.jsonl:2, messages[1].role: must be text; it is 3"
    assert len(reasons) == 2
