"""Which kinds of rule a dialogue breaks, and in how many dialogues that happens."""

from __future__ import annotations

import pytest

from scoring import broken_rules as rules
from scoring.broken_rules import Said, broken, shares
from scoring.workflow_steps import KnownStep, WorkflowKnowledge

KNOWN = WorkflowKnowledge(
    steps=(
        KnownStep("greet"),
        KnownStep("ask"),
        KnownStep("query", said=False),
        KnownStep("offer"),
        KnownStep("close"),
        KnownStep("sorry"),
    ),
    labels=(),
    moves=(("greet", "ask"), ("ask", "query"), ("query", "offer"), ("offer", "close")),
    start="greet",
)


def told(*labels):
    return [Said(label, f"{place} {label}") for place, label in enumerate(labels)]


TRAIN = [told("greet", "ask", "offer", "close")] * 6 + [told("greet", "ask", "ask", "close")]


def test_a_usual_dialogue_breaks_nothing():
    assert broken(KNOWN, TRAIN, told("greet", "ask", "offer", "close")) == frozenset()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("greet", "offer", "close"), {rules.EDGE, rules.SUCCESSION, rules.PRECEDENCE}),
        (("greet", "", "ask", "offer"), {rules.UNKNOWN}),
        (("greet", "greet", "ask"), {rules.AGAIN, rules.SUCCESSION, rules.TIMES}),
        (("greet", "ask", "offer", "ask"), {rules.EDGE, rules.SUCCESSION, rules.ORDER}),
        (("greet", "ask", "sorry", "offer"), {rules.SUCCESSION, rules.TIMES}),
    ],
)
def test_each_kind_is_told_apart(labels, expected):
    assert broken(KNOWN, TRAIN, told(*labels)) == expected


def test_states_between_two_steps_are_passed_through():
    assert rules.EDGE not in broken(KNOWN, TRAIN, told("ask", "offer"))


def test_the_same_words_twice_are_told_from_the_same_step_twice():
    same = [Said("greet", "Hi"), Said("ask", "What?"), Said("ask", " What? ")]
    other = [Said("greet", "Hi"), Said("ask", "What?"), Said("ask", "Which?")]
    assert broken(KNOWN, TRAIN, same) - broken(KNOWN, TRAIN, other) == {rules.VERBATIM}


def test_shares_are_percentages_over_dialogues():
    found = [
        frozenset({rules.EDGE}),
        frozenset(),
        frozenset({rules.EDGE, rules.AGAIN}),
        frozenset(),
    ]
    assert shares(found)[rules.EDGE] == 50 and shares(found)[rules.AGAIN] == 25
    assert shares(found)[rules.ORDER] == 0 and shares([]) == {}
