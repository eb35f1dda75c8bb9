"""What alignment notes, turn by turn, under a workflow graph and under conformant dialogues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.bank import bank_label
from benchmark.records import CSC, GR, SSPC, WIC, StepSpec, TransitionSpec, WorkflowRecord
from benchmark.witnesses import (
    FOREIGN,
    OUT_OF_ORDER,
    REPEATED,
    SKIPPED,
    STALLED,
    Procedure,
    align,
    procedure_of_dialogues,
    procedure_of_workflow,
)

CHAIN = ("greet", "name", "day", "offer", "confirm", "close")


def chain(*, loop: bool = False, reply: bool = False) -> WorkflowRecord:
    """greet -> name -> day -> (state) -> offer -> confirm -> close; `loop`: offer -> day."""
    steps = [StepSpec(key) for key in CHAIN] + [StepSpec("checked", kind="state")]
    moves = [
        TransitionSpec("greet", "name"),
        TransitionSpec("name", "day"),
        TransitionSpec("day", "checked"),
        TransitionSpec("checked", "offer", "a table is free"),
        TransitionSpec("offer", "confirm"),
        TransitionSpec("confirm", "close"),
    ]
    if loop:
        moves.append(TransitionSpec("offer", "day", "the guest declines"))
    if reply:
        steps.append(StepSpec("sorry", kind="reply"))
    return WorkflowRecord("table", "restaurant", steps=steps, transitions=moves, start="greet")


def kinds(labels, procedure, **settings):
    return [(e.assistant_turn, e.kind) for e in align(labels, procedure, **settings).events]


def test_a_walk_along_the_graph_shows_nothing():
    assert kinds(CHAIN, chain()) == []
    looped = ("greet", "name", "day", "offer", "day", "offer", "confirm", "close")
    assert kinds(looped, chain(loop=True)) == []


def test_a_repeated_step_is_noted_where_no_move_allows_it():
    labels = ("greet", "name", "name", "day")
    assert kinds(labels, chain()) == [(3, REPEATED)]
    assert kinds(("greet", "name", "day", "offer", "name"), chain(loop=True)) == [(5, REPEATED)]


def test_a_step_left_out_is_named():
    witness = align(("greet", "day", "offer"), chain())
    assert [(e.assistant_turn, e.kind, e.steps) for e in witness.events] == [
        (2, SKIPPED, ("name",)),
        (3, SKIPPED, ("name",)),
    ]
    assert witness.first == 2


def test_a_step_that_comes_later_is_out_of_order_not_skipped():
    assert kinds(("greet", "day", "name"), chain())[0] == (2, OUT_OF_ORDER)


def test_a_turn_of_another_procedure_is_foreign():
    witness = align(("greet", "parcel_track", "name"), chain())
    assert [(e.assistant_turn, e.kind) for e in witness.events] == [(2, FOREIGN)]
    assert witness.shows(WIC, 2) and not witness.shows(SSPC, 2) and not witness.shows(WIC, 3)


def test_a_turn_of_the_bank_shows_only_its_own_type():
    for type_, variant in ((GR, "survey"), (CSC, "promote")):
        witness = align(("greet", bank_label(type_, variant)), chain())
        assert witness.shows(type_, 2)
        assert not any(witness.shows(other, 2) for other in {GR, CSC, WIC, SSPC} - {type_})
    stalled = align(("greet", bank_label(SSPC, "stall")), chain())
    assert [e.kind for e in stalled.events] == [STALLED] and stalled.shows(SSPC, 2)


def test_a_free_reply_and_an_unknown_step_say_nothing():
    assert kinds(("greet", "sorry", "name", "", "day"), chain(reply=True)) == []


def test_states_are_passed_through_and_never_said():
    known = procedure_of_workflow(chain())
    assert known.moves["day"] == {"offer"}
    assert "checked" not in known.steps
    assert known.before["offer"] == {"greet", "name", "day"}


def test_steps_on_a_cycle_may_come_again():
    assert procedure_of_workflow(chain()).repeatable == frozenset()
    assert procedure_of_workflow(chain(loop=True)).repeatable == {"day", "offer"}


def said(*labels):
    return [(label, f"this is {label}") for label in labels]


def test_precedences_hold_in_nearly_all_dialogues_or_not_at_all():
    mostly = [said("a", "b", "c")] * 19 + [said("b", "a", "c")]
    known = procedure_of_dialogues(mostly)
    assert known.before == {"a": set(), "b": {"a"}, "c": {"a", "b"}}
    looser = procedure_of_dialogues([*mostly, said("b", "a")])
    assert looser.before["b"] == set()


def test_rare_pairs_prove_no_precedence():
    assert procedure_of_dialogues([said("a", "b")] * 4).before["b"] == set()
    assert procedure_of_dialogues([said("a", "b")] * 5).before["b"] == {"a"}


def test_nobody_has_to_greet():
    known = procedure_of_dialogues([said("hello", "a", "b")] * 9, greeting="hello")
    assert known.before == {"hello": set(), "a": set(), "b": {"a"}}
    assert "hello" in known.steps


def test_only_steps_of_the_source_can_be_missed():
    known = procedure_of_dialogues([said("a", "b", "c")] * 9)
    assert kinds(("c",), known, source=("b", "c")) == [(1, SKIPPED)]
    assert align(("c",), known, source=("b", "c")).steps(SKIPPED) == ["b"]
    assert kinds(("c",), known, source=("c",)) == []


def test_usual_repetitions_are_no_deviation_but_an_unusual_echo_is():
    varied = [
        [("a", "one"), ("b", "x"), ("b", f"y {i}")] if i % 2 else [("a", "one"), ("b", "x")]
        for i in range(20)
    ]
    known = procedure_of_dialogues(varied)
    assert known.repeatable == {"b"} and known.echoed == frozenset()
    labels = ("a", "b", "b")
    assert kinds(labels, known, source=labels, texts=("one", "x", "z")) == []
    assert kinds(labels, known, source=labels, texts=("one", "x", " X ")) == [(3, REPEATED)]


def test_events_before_the_start_are_the_sources_own_business():
    labels = ("name", "greet", "greet")
    assert kinds(labels, chain(), start=3) == [(3, REPEATED)]


def test_the_json_form_says_from_where():
    witness = align(("greet", "day", "parcel"), chain(), inferred=1)
    found = witness.to_dict(numbers=(2, 4, 6))
    assert found["from"] == {"assistant_turn": 2, "turn": 4}
    assert found["at_fork"] == [SKIPPED]
    assert found[SKIPPED] == ["name"] and found[FOREIGN] == ["parcel"]
    assert found["deviating_turns"] == 2 and found["inferred"] == 1
    assert align(CHAIN, chain()).to_dict()["from"] is None


@given(st.lists(st.sampled_from([*CHAIN, "other", "", "bank:GR:sell"]), max_size=12))
def test_what_comes_later_never_adds_an_event_earlier(labels):
    known = procedure_of_workflow(chain(loop=True))
    for cut in range(len(labels)):
        whole = {e.assistant_turn for e in align(labels, known).events}
        part = {e.assistant_turn for e in align(labels[:cut], known).events}
        assert part == {n for n in whole if n <= cut}


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=8))
def test_dialogues_that_repeat_nothing_agree_with_the_order_they_taught(labels):
    order = list(dict.fromkeys(labels))
    known = procedure_of_dialogues([said(*order)] * 6)
    assert align(order, known, source=order).events == ()


@pytest.mark.parametrize("procedure", [Procedure(frozenset(), {}), chain()])
def test_no_turns_show_nothing(procedure):
    assert align((), procedure).events == ()
