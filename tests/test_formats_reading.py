"""What every reader promises about broken and hostile files."""

from __future__ import annotations

import gzip
import json

import pytest

from benchmark.formats import building, messages, reading
from benchmark.formats.building import tidied
from benchmark.formats.reading import Caps, json_values, parsed
from benchmark.records import BadRecord


def chat(ident: str, *texts: str) -> str:
    roles = ("user", "assistant")
    turns = [{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)]
    return json.dumps({"id": ident, "messages": turns}, ensure_ascii=False)


def read(path):
    found = list(messages.read(path))
    good = [r for r in found if not isinstance(r, BadRecord)]
    return good, [r for r in found if isinstance(r, BadRecord)]


def written(tmp_path, data: bytes, name: str = "chats.jsonl"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_a_nul_costs_no_dialogue_and_names_line_and_turn(tmp_path):
    line = '{"id":"a","messages":[{"role":"user","content":"hi"},{"role":"assistant",'
    line += '"content":"yes?"},{"role":"user","content":"paid\\u0000ok"}]}'
    good, bad = read(written(tmp_path, line.encode()))
    assert not bad
    assert [t.text for t in good[0].turns] == ["hi", "yes?", "paid\ufffdok"]
    assert good[0].warnings == {building.NUL: 1}
    assert good[0].where == "chats.jsonl:1"
    assert good[0].turns[2].meta["warnings"] == [building.NUL]


def test_a_lone_surrogate_is_replaced_and_a_pair_is_a_character(tmp_path):
    line = '{"id":"a","messages":[{"role":"user","content":"\\ud83d\\ude00 \\ud83d"}]}'
    good, _ = read(written(tmp_path, line.encode()))
    assert good[0].turns[0].text == "\U0001f600 \ufffd"
    assert good[0].warnings == {building.SURROGATE: 1}


def test_a_byte_order_mark_costs_no_dialogue(tmp_path):
    data = "\n".join(chat(i, "hello", "hi") for i in "abc").encode()
    plain, _ = read(written(tmp_path, data, "plain.jsonl"))
    marked, bad = read(written(tmp_path, b"\xef\xbb\xbf" + data, "marked.jsonl"))
    assert not bad
    assert [r.external_id for r in marked] == [r.external_id for r in plain] == ["a", "b", "c"]


def test_lines_end_at_newline_only(tmp_path):
    data = "\r\n".join([chat("a", "one\u2028two"), chat("b", "one\u0085two"), "", ""])
    good, bad = read(written(tmp_path, data.encode()))
    assert not bad
    assert [r.turns[0].text for r in good] == ["one\u2028two", "one\u0085two"]


def test_a_bad_line_is_named_and_the_others_are_read(tmp_path):
    data = f"{chat('a', 'hi')}\n{{not json\n{chat('c', 'hi')}\n"
    good, bad = read(written(tmp_path, data.encode()))
    assert [r.external_id for r in good] == ["a", "c"]
    assert bad[0].where == "chats.jsonl:2"
    assert "not valid JSON" in bad[0].reason


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    data = chat("a", "hi").encode() + b"\n" + chat("b", "caf\u00e9").encode("latin-1")
    good, bad = read(written(tmp_path, data))
    assert [r.external_id for r in good] == ["a"]
    assert bad[0].where == "chats.jsonl:2"
    assert "UTF-8" in bad[0].reason


def test_a_line_that_is_too_long_is_left_out_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CAPS", Caps(line_bytes=200))
    data = f"{chat('a', 'x' * 900)}\n{chat('b', 'hi')}\n"
    good, bad = read(written(tmp_path, data.encode()))
    assert [r.external_id for r in good] == ["b"]
    assert "at most 200" in bad[0].reason


def test_an_archive_that_unpacks_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CAPS", Caps(line_bytes=1 << 16, total_bytes=1 << 20))
    path = written(tmp_path, gzip.compress(b"\0" * (1 << 24)), "bomb.jsonl.gz")
    assert path.stat().st_size < 1 << 16
    good, bad = read(path)
    assert not good
    assert "split it" in bad[0].reason


def test_an_archive_cut_short_gives_what_it_holds_and_says_so(tmp_path):
    data = gzip.compress("\n".join(chat(str(i), "hi" * i) for i in range(5000)).encode())
    good, bad = read(written(tmp_path, data[: len(data) // 2], "cut.jsonl.gz"))
    assert good
    assert "damaged" in bad[0].reason


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested"),
        ("[" * 70 + "]" * 70, "nested"),
        ("1" * 5000, "digits"),
        ("[1e999]", "too large"),
        ("[NaN]", "null"),
        ("[-Infinity]", "null"),
        ("", "JSON"),
    ],
)
def test_json_beyond_the_caps_is_refused_with_a_sentence(text, word):
    with pytest.raises(BadRecord, match=word) as caught:
        parsed(text, "here:1")
    assert caught.value.where == "here:1"


def test_nesting_up_to_the_cap_is_read():
    assert parsed("[" * 64 + "]" * 64, "x")


def test_a_missing_file_is_a_sentence_without_its_folder(tmp_path):
    (bad,) = json_values(tmp_path / "gone.jsonl")
    assert str(bad).startswith("gone.jsonl: cannot be opened: No such file")
    assert str(tmp_path) not in str(bad)


def test_tidying_reaches_keys_and_nested_values():
    found: set[str] = set()
    assert tidied({"a\x00": [{"b": "c\x00"}, 1, None]}, found) == {
        "a\ufffd": [{"b": "c\ufffd"}, 1, None]
    }
    assert found == {building.NUL}
