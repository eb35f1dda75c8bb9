"""Fork points, variants, instructions and foils."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.corruption import (
    VARIANTS,
    draw_variant,
    foil,
    fork_id,
    fork_points,
    generator_of,
    instruction,
    task_title,
    variant_of,
)
from benchmark.records import CSC, FORK_TYPES, GR, SSPC, WIC, BadRecord

EVERY = [variant for found in VARIANTS.values() for variant in found]


@pytest.mark.parametrize(
    ("turns", "points"),
    [
        (4, (1, 2, 3, 4)),
        (5, (1, 2, 3, 5)),
        (6, (1, 3, 4, 5)),
        (7, (1, 3, 5, 6)),
        (8, (1, 3, 5, 7)),
        (11, (1, 4, 7, 9)),
        (12, (1, 4, 7, 10)),
    ],
)
def test_fork_points_are_those_of_the_paper(turns, points):
    assert fork_points(turns) == points


def test_halves_may_also_be_rounded_up_and_the_rule_is_named():
    assert fork_points(6) == (1, 3, 4, 5)
    assert fork_points(6, rule="half_up") == (1, 3, 4, 6)
    with pytest.raises(BadRecord, match="half_even, half_up"):
        fork_points(6, rule="down")


@given(st.integers(4, 500), st.sampled_from(["half_even", "half_up"]))
def test_fork_points_begin_at_one_rise_and_stay_inside(turns, rule):
    points = fork_points(turns, rule)
    assert points[0] == 1
    assert all(a < b for a, b in itertools.pairwise(points))
    assert points[3] <= turns


@given(st.integers(-3, 3))
def test_fewer_than_four_assistant_turns_are_refused(turns):
    with pytest.raises(BadRecord, match="at least 4"):
        fork_points(turns)


def test_each_type_has_the_variants_it_should():
    assert tuple(VARIANTS) == FORK_TYPES
    assert {t: len(found) for t, found in VARIANTS.items()} == {WIC: 2, SSPC: 5, GR: 5, CSC: 5}
    assert {v.key for v in VARIANTS[SSPC]} == {"repeat", "skip", "reorder", "close_early", "stall"}
    assert all(v.type == t for t, found in VARIANTS.items() for v in found)
    assert len({(v.type, v.key) for v in EVERY}) == len(EVERY)


@pytest.mark.parametrize("variant", EVERY, ids=lambda v: f"{v.type}.{v.key}")
def test_an_instruction_names_type_and_variant_and_says_how_to_behave(variant):
    text = instruction(variant, task="hotel_book")
    assert variant.type in text and variant.title in text
    assert variant.behaviour.replace("{task}", "\u201chotel book\u201d") in text
    assert "{" not in text


def test_a_foreign_procedure_must_be_named():
    with pytest.raises(BadRecord, match="name of the other task"):
        instruction(VARIANTS[WIC][0])
    assert task_title("demo/boiler-repair_visit") == "boiler repair visit"


def test_an_unknown_variant_is_refused_by_name():
    assert variant_of(GR, "sell").title == "sell something else"
    with pytest.raises(BadRecord, match="GR has no variant 'haggle'"):
        variant_of(GR, "haggle")


@given(st.sampled_from(FORK_TYPES), st.text(min_size=1, max_size=12), st.integers(0, 2**40))
def test_a_draw_depends_on_source_type_and_seed_alone(type_, source, seed):
    drawn = draw_variant(type_, source, seed)
    assert drawn == draw_variant(type_, source, seed)
    assert drawn in VARIANTS[type_]
    assert draw_variant(type_, source, seed, among=[drawn]) == drawn


def test_variants_are_drawn_with_equal_chances():
    counts = dict.fromkeys((v.key for v in VARIANTS[GR]), 0)
    for i in range(2000):
        counts[draw_variant(GR, f"source-{i}", 3).key] += 1
    assert all(330 < n < 470 for n in counts.values()), counts


def test_no_variant_left_is_an_error():
    with pytest.raises(BadRecord, match="no variant of SSPC"):
        draw_variant(SSPC, "a", 1, among=[])


@given(st.sampled_from(EVERY), st.text(max_size=8), st.integers(0, 999))
def test_a_foil_is_of_another_type_and_about_as_long(variant, item, seed):
    true = instruction(variant, task="party_plan")
    drawn = foil(true, seed=seed, item=item, avoid=variant.type, task="party_rsvp")
    assert drawn.type != variant.type
    assert abs(len(drawn.instruction) - len(true)) <= 0.3 * len(true)
    assert drawn == foil(true, seed=seed, item=item, avoid=variant.type, task="party_rsvp")


def test_foils_of_conformant_dialogues_are_of_every_type():
    types = {foil("", seed=1, item=str(i), avoid=None, task="x").type for i in range(200)}
    assert types == set(FORK_TYPES)


def test_without_another_task_no_foil_speaks_of_one():
    types = {foil("", seed=1, item=str(i), avoid=None).type for i in range(200)}
    assert types == {SSPC, GR, CSC}


def test_a_foil_that_cannot_be_as_long_is_an_error():
    with pytest.raises(BadRecord, match="about as long"):
        foil("short", seed=1, item="x", avoid=GR)


def test_generators_are_private_to_what_they_are_for():
    assert generator_of(1, "a", "b").random() == generator_of(1, "a", "b").random()
    assert generator_of(1, "a", "b").random() != generator_of(1, "ab").random()
    assert generator_of(1, "a").random() != generator_of(2, "a").random()


def test_the_id_of_a_fork_tells_source_type_and_position():
    assert fork_id("17", CSC, 3) == "17.CSC.3"
