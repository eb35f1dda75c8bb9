"""Transcripts: order by index or by file, empty turns kept, speakers never guessed."""

from __future__ import annotations

import pytest

from benchmark.formats.transcripts import read
from benchmark.records import BadRecord


def of(tmp_path, text, name="calls.csv", roles=None):
    path = tmp_path / name
    path.write_text(text, newline="")
    return list(read(path, roles=roles))


def test_an_explicit_turn_index_gives_the_order(tmp_path):
    rows = "dialogue_id,turn,speaker,text\na,3,user,three\na,1,user,one\na,2,agent,two\n"
    (record,) = of(tmp_path, rows)
    assert [t.text for t in record.turns] == ["one", "two", "three"]


def test_without_an_index_the_file_gives_the_order_not_the_clock(tmp_path):
    rows = (
        "dialogue_id,speaker,text,timestamp\n"
        "a,user,one,2024-05-01T10:00:00+01:00\n"
        "a,agent,two,2024-05-01T09:00:00+00:00\n"
        "b,agent,first,2024-05-01T09:00:00+00:00\n"
        "a,user,three,2024-05-01T08:00:00+00:00\n"
    )
    a, b = of(tmp_path, rows)
    assert [t.text for t in a.turns] == ["one", "two", "three"]
    assert a.turns[0].meta == {"time": "2024-05-01T10:00:00+01:00"}
    assert b.external_id == "b"


def test_empty_texts_keep_their_numbers(tmp_path):
    rows = "speaker,text\nuser,1\nagent,2\nuser,\nagent,   \nuser,5\nagent,6\n"
    (record,) = of(tmp_path, rows)
    assert [t.text for t in record.turns] == ["1", "2", "", "   ", "5", "6"]
    assert record.external_id == "calls"


def test_quoted_newlines_and_semicolons(tmp_path):
    rows = 'speaker;text\r\nuser;"a\nb; c"\r\nagent;d\r\n'
    (record,) = of(tmp_path, rows)
    assert [t.text for t in record.turns] == ["a\nb; c", "d"]


def test_two_columns_without_a_header_are_speaker_and_text(tmp_path):
    (record,) = of(tmp_path, "user\thello\nagent\thi\n", "x.tsv")
    assert [(t.role, t.text) for t in record.turns] == [("user", "hello"), ("assistant", "hi")]


def test_a_row_of_another_width_leaves_out_its_dialogue_only(tmp_path):
    rows = "dialogue_id,speaker,text\na,user,x\nb,user,x,y\na,agent,z\n"
    found = of(tmp_path, rows)
    assert [getattr(r, "external_id", None) for r in found] == ["a", None]
    assert str(found[1]) == "calls.csv:3: has 4 fields, the table has 3; dialogue b is left out"


def test_a_table_without_speaker_and_text_says_so(tmp_path):
    (bad,) = of(tmp_path, "who,what,when\n1,2,3\n")
    assert isinstance(bad, BadRecord)
    assert "column for the speaker" in bad.reason


def test_a_turn_index_that_is_no_number_is_named(tmp_path):
    (bad,) = of(tmp_path, "turn,speaker,text\nsecond,user,x\n")
    assert "must be a number; it is 'second' at calls.csv:2" in bad.reason


def test_unknown_speakers_need_a_mapping(tmp_path):
    rows = "speaker,text\nAlice,hi\nBob,hello\n"
    (bad,) = of(tmp_path, rows)
    assert '--roles "Alice=assistant"' in bad.reason
    (record,) = of(tmp_path, rows, roles={"Alice": "user", "Bob": "assistant"})
    assert [(t.role, t.name) for t in record.turns] == [("user", "Alice"), ("assistant", "Bob")]


def test_one_known_speaker_tells_the_other_with_a_warning(tmp_path):
    (record,) = of(tmp_path, "speaker,text\nAlice,hi\nAgent,hello\n")
    assert [t.role for t in record.turns] == ["user", "assistant"]
    assert record.warnings == {"role inferred from the other speaker": 1}


def test_lines_of_a_text_go_on_until_the_next_speaker(tmp_path):
    text = (
        "\ufeffUser: hello\nSystem: Your notes are: rest.\nDay: Monday\n\nand: so on\nUser: bye\n"
    )
    (record,) = of(tmp_path, text, "9.txt")
    assert record.external_id == "9"
    assert [t.text for t in record.turns] == [
        "hello",
        "Your notes are: rest.\nDay: Monday\n\nand: so on",
        "bye",
    ]
    assert record.warnings == {"line that begins like an unknown speaker kept as text": 1}


@pytest.mark.parametrize("text", ["just some words\n", "https://example.org/x\nUser: hi\n"])
def test_a_text_that_is_no_transcript_is_refused(tmp_path, text):
    (bad,) = of(tmp_path, text, "x.txt")
    assert isinstance(bad, BadRecord)
    assert "x.txt" in bad.where


def test_a_sentence_that_names_a_role_is_no_speaker(tmp_path):
    text = "User: hello\nPlease tell the support agent: nothing\nAgent: fine\n"
    (record,) = of(tmp_path, text, "x.txt")
    assert [t.text for t in record.turns] == [
        "hello\nPlease tell the support agent: nothing",
        "fine",
    ]


@pytest.mark.parametrize("index", ["nan", "inf", ""])
def test_an_index_that_cannot_be_ordered_is_refused(tmp_path, index):
    (bad,) = of(tmp_path, f"turn,speaker,text\n1,user,x\n{index},user,y\n")
    assert "must be a number" in bad.reason


def test_a_row_beyond_reading_takes_no_dialogue_in_part(tmp_path):
    rows = f"speaker,text\nuser,x\nagent,{'y' * 200_000}\n"
    (bad,) = of(tmp_path, rows)
    assert isinstance(bad, BadRecord)
    assert "not a readable row" in bad.reason
