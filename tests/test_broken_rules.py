"""Which kinds of rule a dialogue breaks, and in how many dialogues that happens."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Turn
from scoring import broken_rules as rules
from scoring.broken_rules import Said, broken, shares
from scoring.workflow_steps import KnownStep, WorkflowKnowledge
from tests.small import make_corpus

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


def test_the_command_shows_the_share_of_each_rule(db, capsys, django_assert_num_queries):
    make_corpus(n=12)
    with django_assert_num_queries(5):
        call_command("count_broken_rules", "small", json=True)
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (report["dialogues"], report["workflows"]) == (6, 1)
    assert set(report["shares"].values()) == {0.0} and set(report["shares"]) == set(rules.RULES)
    Turn.objects.filter(dialogue__external_id="table_book-6", label="ask_day").update(label="")
    call_command("count_broken_rules", "small", json=True)
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["by_workflow"]["table_book"][rules.UNKNOWN] == pytest.approx(100 / 6)


def test_the_command_says_what_is_missing(db):
    with pytest.raises(CommandError, match="There is no corpus 'nothing'"):
        call_command("count_broken_rules", "nothing")
    make_corpus(n=4)
    Turn.objects.update(label="")
    with pytest.raises(CommandError, match="carry step labels"):
        call_command("count_broken_rules", "small")
