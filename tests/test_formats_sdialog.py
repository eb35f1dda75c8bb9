"""SDialog's own files, when they are at hand, and the shapes they take."""

from __future__ import annotations

import pytest

from benchmark.formats.sdialog import dialogue_of, read
from benchmark.records import BadRecord


def test_every_shared_dialog_is_read(shared):
    found = list(read(shared / "data/sdialog/dialogs", roles={"Alice": "user", "Bob": "assistant"}))
    assert not [r for r in found if isinstance(r, BadRecord)]
    assert len(found) == 7
    by_id = {r.external_id: r for r in found}
    call = by_id["ef04df71-f634-4ffa-99c5-b1f4df489c71"]
    assert len(call.turns) == 10
    assert len(call.meta["events"]) == 18
    assert {t.name: t.role for t in call.turns} == {
        "Support Agent": "assistant",
        "Customer": "user",
    }
    spanish = by_id["6a622213-5992-4434-a07a-465d5d1dca68"]
    assert {t.name: t.role for t in spanish.turns} == {
        "María": "user",
        "Dr. Rodríguez": "assistant",
    }


@pytest.mark.parametrize(
    "folder", ["original", "full-generation", "multi-agents", "multi-agents+orchestration"]
)
def test_every_shared_transcript_is_read(shared, folder):
    found = list(read(shared / "data/sdialog/star-txt" / folder))
    assert len(found) == 21
    assert all(not isinstance(r, BadRecord) and r.turns for r in found)
    assert {t.role for r in found for t in r.turns} == {"user", "assistant"}


def test_a_persona_may_tell_the_role_of_a_bare_name():
    record = dialogue_of(
        {
            "id": 5,
            "personas": {"Jo": {"role": "angry customer"}, "Su": {"role": "support agent"}},
            "turns": [{"speaker": "Jo", "text": "No!"}, {"speaker": "Su", "text": ""}],
        },
        "d.json",
        "d",
        None,
    )
    assert record.external_id == "5"
    assert [(t.role, t.text) for t in record.turns] == [("user", "No!"), ("assistant", "")]
    assert record.warnings == {"role taken from the persona": 1}


def test_two_turns_of_one_side_in_a_row_are_kept_as_they_are():
    said = ["System", "System", "User", "System"]
    turns = [{"speaker": s, "text": s} for s in said]
    record = dialogue_of({"turns": turns}, "d.json", "d", None)
    assert [t.name for t in record.turns] == said
    assert record.external_id == "d"


def test_a_dialog_without_turns_says_what_is_missing():
    with pytest.raises(BadRecord, match="turns: must be a list; it is missing"):
        dialogue_of({"id": 1}, "d.json", "d", None)
