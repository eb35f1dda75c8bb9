"""A workflow as numbered lines: branches in words, states as conditions."""

from __future__ import annotations

import itertools

import pytest

from annotation.procedures import Line, Move, Node, Way, extras, lines
from annotation.titles import behaviour_of, in_words, revealing_word
from benchmark.corruption import VARIANTS, instruction


def chain(*keys):
    return [Move(a, b) for a, b in itertools.pairwise(keys)]


def test_a_straight_workflow_is_a_plain_list():
    steps = [Node("greet", "Greet"), Node("ask"), Node("close", "Say goodbye")]
    found = lines(steps, chain("greet", "ask", "close"))
    assert found == [Line(1, "Greet"), Line(2, "Ask"), Line(3, "Say goodbye")]


def test_branches_and_ways_back_are_named():
    steps = [Node("ask"), Node("look_up"), Node("offer"), Node("close")]
    moves = [
        Move("ask", "look_up"),
        Move("look_up", "offer", "it is free"),
        Move("look_up", "ask", "it is taken"),
        Move("offer", "close"),
    ]
    assert lines(steps, moves)[1].ways == (Way("it is free", 3), Way("it is taken", 1))


def test_states_become_conditions():
    steps = [Node("ask"), Node("query", kind="state"), Node("free", kind="state"), Node("book")]
    found = lines(steps, [Move("ask", "query"), Move("query", "free"), Move("free", "book")])
    assert [line.text for line in found] == ["Ask", "Book"]
    assert found[0].ways == (Way("Query, Free", 2),)


def test_a_step_after_a_state_that_nothing_leads_to_waits_for_it():
    steps = [Node("ask"), Node("available", kind="state"), Node("offer")]
    found = lines(steps, [Move("available", "offer")])
    assert found[1].when == ("Available",)


def test_no_step_waits_for_the_start():
    steps = [Node("start", kind="state", is_start=True), Node("ask")]
    assert lines(steps, [Move("start", "ask")]) == [Line(1, "Ask")]


def test_a_circle_of_states_ends():
    steps = [Node("ask"), Node("x", kind="state"), Node("y", kind="state")]
    found = lines(steps, [Move("ask", "x"), Move("x", "y"), Move("y", "x")])
    assert found == [Line(1, "Ask")]


def test_replies_outside_the_order_are_listed_apart():
    steps = [Node("ask"), Node("anything_else", "Anything else?", "reply")]
    assert len(lines(steps, [])) == 1
    assert extras(steps) == ["Anything else?"]


def test_names_become_words():
    assert in_words("hotel_book") == "Hotel book"
    assert in_words("") == ""


@pytest.mark.parametrize("title", ["Winter round", "Grand tour", "Screen trial", "Forkless"])
def test_neutral_titles_pass(title):
    assert revealing_word(title) is None


@pytest.mark.parametrize(
    "title",
    [
        "Forks, round 2",
        "Diálogos bifurcados",
        "Gegabelte Gespräche",
        "Konforme Auswahl",
        "分叉研究",
    ],
)
def test_a_title_that_tells_the_design_is_found_in_every_language(title):
    assert revealing_word(title)


def test_only_a_code_at_the_end_is_taken_off():
    assert behaviour_of("Sell things. (GR: sell something else.)") == "Sell things."
    assert behaviour_of("Sell (GR: x) things.") == "Sell (GR: x) things."


def test_the_frame_of_an_instruction_is_taken_off():
    variant = VARIANTS["GR"][0]
    shown = behaviour_of(instruction(variant))
    assert shown.lower() == variant.behaviour.lower() + "."
    assert shown[0].isupper()
