"""What scripted conversations promise: exact replay, and corruptions that change one part."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.bank import bank_label
from benchmark.corruption import VARIANTS, fork_points, instruction
from benchmark.demo import read_workflows
from benchmark.phrasing import draw_text, draw_value, expand
from benchmark.progressions import PROGRESSIONS, Standing, possible
from benchmark.records import CSC, FORK_TYPES, GR, SSPC, WIC, BadRecord, DialogueRecord
from benchmark.scripted_agents import Behaviour, Corruption, corrupt
from benchmark.scripts import check_script, conformant_path, draw_scenario
from benchmark.simulation import ScriptedEngine, look_alikes, simulate
from benchmark.witnesses import align, assistant_labels, assistant_numbers

WORKFLOWS = {workflow.name: workflow for workflow in read_workflows()}
ROOM, RENEWAL = WORKFLOWS["library_room"], WORKFLOWS["library_renewal"]
BIKE = WORKFLOWS["bike_repair"]
ENGINE = ScriptedEngine((), WORKFLOWS, seed=11)

names = st.sampled_from(sorted(WORKFLOWS))
seeds = st.integers(min_value=0, max_value=2**32 - 1)
variants = st.sampled_from([v for type_ in FORK_TYPES for v in VARIANTS[type_]])


def corruption_of(variant, workflow):
    other = look_alikes(workflow, WORKFLOWS.values())[0][0] if variant.type == WIC else None
    return Corruption(variant.type, variant.key, other)


def forks_of(source):
    made = ENGINE.forks(source)
    return [one for one in made if isinstance(one, DialogueRecord)]


@given(names, seeds)
@settings(max_examples=40, deadline=None)
def test_the_same_seed_gives_the_same_dialogue(name, seed):
    assert simulate(WORKFLOWS[name], seed=seed) == simulate(WORKFLOWS[name], seed=seed)


@given(names, seeds, variants, st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_replay_gives_the_same_turns_before_the_fork(name, seed, variant, place):
    workflow = WORKFLOWS[name]
    source = simulate(workflow, seed=seed)
    numbers = assistant_numbers(source.turns)
    point = fork_points(len(numbers))[place]
    forked = simulate(
        workflow,
        seed=seed,
        corruption=corruption_of(variant, workflow),
        fork_assistant_turn=point,
        length=len(numbers) + 2,
    )
    before = numbers[point - 1] - 1
    assert forked.turns[:before] == source.turns[:before]
    assert forked.turns[before].role == "assistant"


@given(names, seeds)
@settings(max_examples=40, deadline=None)
def test_a_conformant_dialogue_takes_allowed_moves_only(name, seed):
    workflow = WORKFLOWS[name]
    labels = assistant_labels(simulate(workflow, seed=seed).turns)
    steps = [label for label in labels if label != "answer"]
    moves = {(move.source, move.target) for move in workflow.transitions}
    assert all(pair in moves for pair in zip([workflow.start, *steps], steps, strict=False))
    assert steps[-1] in workflow.terminals
    assert steps == conformant_path(workflow, draw_scenario(workflow, seed))
    assert align(labels, workflow).events == ()


@given(names, seeds)
@settings(max_examples=15, deadline=None)
def test_every_fork_shows_its_type_at_its_turn_and_keeps_its_variant(name, seed):
    source = simulate(WORKFLOWS[name], seed=seed)
    forks = forks_of(source)
    assert len(forks) == 16
    points = fork_points(len(assistant_labels(source.turns)))
    for fork in forks:
        record = fork.forks[0]
        assert record.fork_assistant_turn == points[record.k - 1]
        assert record.witness["from"] == {
            "assistant_turn": record.fork_assistant_turn,
            "turn": record.fork_turn,
        }
        assert fork.turns[: record.fork_turn - 1] == source.turns[: record.fork_turn - 1]
        assert fork.turns[record.fork_turn - 1].text != source.turns[record.fork_turn - 1].text
        assert fork.conformant is False
    for type_ in FORK_TYPES:
        assert len({f.forks[0].variant for f in forks if f.forks[0].type == type_}) == 1


def test_each_type_changes_the_part_it_names():
    sound = Behaviour(ROOM)
    assert corrupt(sound, Corruption(WIC, "look_alike", RENEWAL)) == replace(
        sound, workflow=RENEWAL
    )
    assert corrupt(sound, Corruption(SSPC, "skip")) == replace(sound, delta="skip")
    assert corrupt(sound, Corruption(GR, "sell")) == replace(sound, objective="sell")
    assert corrupt(sound, Corruption(CSC, "promote")) == replace(sound, side_goal="promote")


def test_wic_walks_the_steps_of_the_other_workflow():
    forked = simulate(
        ROOM,
        seed=5,
        corruption=Corruption(WIC, "look_alike", RENEWAL),
        fork_assistant_turn=3,
        length=9,
    )
    labels = assistant_labels(forked.turns)
    assert all(":" not in label for label in labels[:2])
    steps = [label.removeprefix("library_renewal:") for label in labels[2:]]
    known = {step.key for step in RENEWAL.steps}
    assert all(step in known for step in steps)
    assert next(s for s in steps if s != "answer") == "ask_item"


@given(names, seeds, st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_the_first_step_of_another_workflow_is_none_of_ones_own(name, seed, point):
    workflow = WORKFLOWS[name]
    corruption = corruption_of(VARIANTS[WIC][0], workflow)
    forked = simulate(
        workflow, seed=seed, corruption=corruption, fork_assistant_turn=point, length=9
    )
    label = assistant_labels(forked.turns)[point - 1]
    other, _, step = label.partition(":")
    assert other == corruption.other.name
    assert step not in {own.key for own in workflow.steps}


def test_gr_says_only_what_serves_the_other_goal_to_the_end():
    forked = simulate(
        BIKE, seed=5, corruption=Corruption(GR, "survey"), fork_assistant_turn=4, length=10
    )
    labels = assistant_labels(forked.turns)
    assert len(labels) == 10
    assert set(labels[3:]) == {bank_label(GR, "survey")}


@pytest.mark.parametrize("seed", range(8))
def test_csc_overrides_every_second_or_third_turn_and_keeps_the_task(seed):
    source = simulate(BIKE, seed=seed)
    n = len(assistant_labels(source.turns))
    forked = simulate(
        BIKE, seed=seed, corruption=Corruption(CSC, "collect"), fork_assistant_turn=1, length=n + 2
    )
    labels = assistant_labels(forked.turns)
    places = [i for i, label in enumerate(labels) if label == bank_label(CSC, "collect")]
    assert places[0] == 0
    assert all(b - a in (2, 3) for a, b in pairwise(places))
    kept = [label for label in labels if not label.startswith("bank:") and label != "answer"]
    path = conformant_path(BIKE, draw_scenario(BIKE, seed))
    assert kept == [step for step in path if step in kept]
    assert len(kept) >= 4


@given(st.integers(2, 7), st.integers(1, 4), seeds)
@settings(max_examples=60, deadline=None)
def test_each_strategy_leaves_the_step_that_is_due(ahead, behind, seed):
    done = ["start", *(f"done{i}" for i in range(behind))]
    pending = [f"step{i}" for i in range(ahead)]
    at = Standing(pending, done, pending[-1], allowed={pending[0]})
    taken = {name: PROGRESSIONS[name](at, random.Random(seed)) for name in PROGRESSIONS}
    assert taken["follow"] == (pending[0], pending[1:])
    for name in ("repeat", "skip", "reorder", "close_early", "stall"):
        assert possible(name, at)
        assert taken[name][0] != pending[0]
    assert taken["repeat"][0] in done
    assert taken["stall"][0] == done[-1]
    assert taken["skip"][1] == pending[2:]
    assert sorted([taken["reorder"][0], *taken["reorder"][1]]) == sorted(pending)
    assert taken["close_early"][0] in pending[-2:]


def test_leaving_out_an_optional_step_is_no_deviation():
    at = Standing(["extra", "end"], ["start"], "end", allowed={"extra", "end"})
    assert not possible("skip", at)
    assert possible("repeat", at)


def test_a_text_borne_takeover_speaks_of_the_note_once():
    forked = simulate(
        ROOM,
        seed=1,
        corruption=Corruption(WIC, "text_borne", RENEWAL),
        fork_assistant_turn=2,
        length=8,
    )
    said = [turn.text for turn in forked.turns if turn.role == "assistant"]
    assert sum("extend the loan of one item" in text for text in said) == 1
    assert "extend the loan of one item" in said[1]


def test_a_domain_with_one_task_turns_to_the_nearest_domain():
    partners, far = look_alikes(BIKE, WORKFLOWS.values())
    assert far
    assert {w.domain for w in partners} == {"animal clinic"}
    assert look_alikes(ROOM, WORKFLOWS.values()) == ([RENEWAL], False)
    fork = next(f for f in forks_of(simulate(BIKE, seed=3)) if f.forks[0].type == WIC)
    assert fork.forks[0].witness["partner"] == "other domain"


def test_the_instruction_of_a_fork_is_that_of_its_variant():
    for fork in forks_of(simulate(ROOM, seed=9)):
        record = fork.forks[0]
        variant = next(v for v in VARIANTS[record.type] if v.key == record.variant)
        task = record.witness.get("other_workflow", "")
        assert record.instruction == instruction(variant, task=task)


def test_a_source_that_was_not_simulated_is_refused_with_the_reason():
    source = replace(simulate(ROOM, seed=1), meta={})
    reasons = {refusal.reason for refusal in ENGINE.forks(source)}
    assert reasons == {"the source was not simulated: its meta holds no seed"}


def test_a_changed_source_is_not_taken_for_its_replay():
    source = simulate(ROOM, seed=1)
    turns = (replace(source.turns[0], text="Something else."), *source.turns[1:])
    refused = [r for r in ENGINE.forks(replace(source, turns=turns)) if hasattr(r, "reason")]
    assert len(refused) == 16
    assert {r.reason for r in refused} == {"the replay does not give the turns before the fork"}


def test_a_script_must_have_words_before_anything_is_told():
    script = dict(ROOM.meta["script"])
    script["steps"] = {**script["steps"], "offer_room": {"say": ["So {people} people?"]}}
    with pytest.raises(BadRecord, match="library_room, step offer_room: needs a wording"):
        check_script(replace(ROOM, meta={"script": script}))
    with pytest.raises(BadRecord, match="no script in its meta"):
        simulate(replace(ROOM, meta={}), seed=1)


def test_a_fork_turn_without_a_corruption_is_refused():
    with pytest.raises(BadRecord, match="both a corruption and its assistant turn"):
        simulate(ROOM, seed=1, fork_assistant_turn=2)


def test_templates_choose_nest_fill_and_begin_with_a_capital():
    rng = random.Random(4)
    seen = {expand("[a|[b|c] {x}]. [d|e]?", rng, {"x": "y"}) for _ in range(200)}
    assert seen == {"A. D?", "A. E?", "B y. D?", "B y. E?", "C y. D?", "C y. E?"}
    assert draw_text(["{gone}", "here"], rng, {}) == "Here"
    with pytest.raises(ValueError, match="can be filled"):
        draw_text(["{gone}"], rng, {})
    assert all(draw_value("#-##", random.Random(i))[0] != "0" for i in range(50))
