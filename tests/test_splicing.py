"""Forks of human dialogues: what each of them promises, and what each type does."""

from __future__ import annotations

import itertools
from collections import defaultdict
from functools import lru_cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.bank import BANK_VERSION, bank_label, bank_turns, is_bank_label, variants_with
from benchmark.bank_turns import BANK
from benchmark.corruption import (
    FORK_TYPES,
    VARIANTS,
    Refusal,
    fork_points,
    generator_of,
    instruction,
    variant_of,
)
from benchmark.records import (
    ASSISTANT,
    CSC,
    EDITED,
    EXACT,
    GR,
    SSPC,
    WIC,
    BadRecord,
    DialogueRecord,
    TurnRecord,
)
from benchmark.splice_pool import SplicePool, is_assent
from benchmark.splicing import NO_PARTNER, SURPLUS, SpliceEngine
from benchmark.witnesses import assistant_labels, assistant_numbers
from scoring.encoders import LexicalEncoder
from tests import human


@lru_cache(maxsize=64)
def _encoded(texts):
    return LexicalEncoder().encode(texts)


def encode(texts):
    return _encoded(tuple(texts))


quick = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def engine(pool=None, *, seed=5, **named):
    return SpliceEngine(
        human.pool() if pool is None else pool,
        human.workflows(),
        seed=seed,
        encode=encode,
        **named,
    )


def made(source, **named):
    forks = [f for f in engine(**named).forks(source) if isinstance(f, DialogueRecord)]
    assert forks
    return forks


sources = st.builds(
    human.dialogue,
    st.sampled_from(sorted(human.TASKS)),
    st.integers(0, 11),
    drop=st.integers(0, 1),
)


@given(sources, st.integers(0, 2**32))
@quick
def test_every_fork_keeps_its_promises(source, seed):
    n = sum(t.role == ASSISTANT for t in source.turns)
    points = fork_points(n)
    numbers = assistant_numbers(source.turns)
    variants = defaultdict(set)
    for fork in made(source, seed=seed):
        (mark,) = fork.forks
        at = mark.fork_turn - 1
        assert fork.external_id == f"{source.external_id}.{mark.type}.{mark.k}"
        assert fork.conformant is False and fork.workflow == source.workflow
        assert mark.fork_assistant_turn == points[mark.k - 1]
        assert mark.fork_turn == numbers[mark.fork_assistant_turn - 1]
        assert list(fork.turns[:at]) == list(source.turns[:at])
        assert fork.turns[at].role == ASSISTANT
        assert fork.turns[at].text != source.turns[at].text
        assert mark.replay == EXACT and mark.seed == seed
        assert mark.witness["from"] == {
            "assistant_turn": mark.fork_assistant_turn,
            "turn": mark.fork_turn,
        }
        assert mark.instruction == instruction(
            variant_of(mark.type, mark.variant), task=mark.witness.get("other_workflow", "")
        )
        assert fork.turns[-1].role == source.turns[-1].role
        variants[mark.type].add(mark.variant)
    assert all(len(found) == 1 for found in variants.values())


@given(sources, st.integers(0, 2**32))
@quick
def test_later_positions_start_to_deviate_later(source, seed):
    starts = defaultdict(list)
    for fork in made(source, seed=seed):
        starts[fork.forks[0].type].append(fork.forks[0].witness["from"]["turn"])
    assert all(a < b for found in starts.values() for a, b in itertools.pairwise(found))


@given(sources, st.integers(0, 2**32))
@quick
def test_how_much_longer_a_fork_is_does_not_depend_on_where_it_begins(source, seed):
    for fork in made(source, seed=seed):
        longer = (len(fork.turns) - len(source.turns)) / 2
        assert longer in SURPLUS and longer == fork.forks[0].witness["surplus"]


@given(st.integers(0, 11), st.integers(0, 2**32))
@quick
def test_the_same_arguments_give_the_same_bytes(number, seed):
    source = human.dialogue("table_book", number)
    again = list(reversed(human.pool()))
    assert engine(seed=seed).forks(source) == engine(again, seed=seed).forks(source)
    one, other = engine(seed=seed).forks(source), engine(seed=seed + 1).forks(source)
    assert [f.turns for f in one] != [f.turns for f in other]


def test_all_sixteen_forks_come_in_the_order_of_type_and_position():
    source = human.dialogue("table_book", 1)
    marks = [f.forks[0] for f in made(source)]
    assert [(m.type, m.k) for m in marks] == [(t, k) for t in FORK_TYPES for k in (1, 2, 3, 4)]


def test_forks_of_a_source_outside_the_pool_are_made_too():
    stranger = human.dialogue("table_book", 99)
    assert len(made(stranger)) == 16


def test_a_dialogue_with_three_assistant_turns_is_refused():
    short = DialogueRecord("s", human.dialogue("table_book", 1).turns[:6], workflow="table_book")
    with pytest.raises(BadRecord, match="at least 4"):
        engine().forks(short)


def of_type(type_, *, number=1, task="table_book", seed=5, **named):
    source = human.dialogue(task, number)
    return source, [f for f in made(source, seed=seed, **named) if f.forks[0].type == type_]


def test_wic_goes_on_with_the_other_task_of_the_domain():
    for number in range(6):
        source, forks = of_type(WIC, number=number)
        own = {key for key, _, _ in human.TASKS["table_book"][1]}
        for fork in forks:
            mark = fork.forks[0]
            tail = fork.turns[mark.fork_turn - 1 :]
            assert mark.witness["partner"] == "same domain"
            assert mark.witness["other_workflow"] == "meal_order"
            assert set(mark.witness["foreign"]) - own
            donors = {t.meta["from"] for t in tail if t.role == ASSISTANT and t.meta}
            assert all(name.startswith("meal_order-") for name in donors)
            assert "meal order" in mark.instruction
        assert source.turns


def test_a_text_that_takes_over_is_named_first():
    forks = [
        f
        for number in range(12)
        for f in of_type(WIC, number=number)[1]
        if f.forks[0].variant == "text_borne"
    ]
    assert forks
    for fork in forks:
        first = fork.turns[fork.forks[0].fork_turn - 1]
        assert first.label == bank_label(WIC, "text_borne") and "meal order" in first.text


def test_a_task_alone_in_its_domain_turns_to_the_nearest_one_and_says_so():
    _, forks = of_type(WIC, task="parcel_track")
    assert {f.forks[0].witness["partner"] for f in forks} == {"other domain"}


def test_without_any_other_task_wic_is_refused():
    alone = [d for d in human.pool() if d.workflow == "parcel_track"]
    answers = engine(alone).forks(alone[0])
    refused = [r for r in answers if isinstance(r, Refusal)]
    assert [(r.type, r.k, r.reason) for r in refused] == [
        (WIC, k, NO_PARTNER) for k in (1, 2, 3, 4)
    ]


def test_sspc_says_only_what_the_source_said_or_puts_off():
    for number in range(12):
        source, forks = of_type(SSPC, number=number)
        own = {t.text for t in source.turns if t.role == ASSISTANT}
        for fork in forks:
            tail = [t for t in fork.turns[fork.forks[0].fork_turn - 1 :] if t.role == ASSISTANT]
            strange = {t.label for t in tail if t.text not in own}
            assert strange <= {bank_label(SSPC, "stall")}
            assert not fork.forks[0].witness["foreign"]


def test_every_strategy_is_realised_somewhere():
    pool = human.pool(20, blank=0.0)
    maker = engine(pool)
    found = {
        f.forks[0].variant
        for source in pool
        for f in maker.forks(source)
        if isinstance(f, DialogueRecord) and f.forks[0].type == SSPC
    }
    assert found == {v.key for v in VARIANTS[SSPC]}


def test_gr_leaves_the_task_for_good():
    for number in range(6):
        source, forks = of_type(GR, number=number)
        human_turns = {t.text for t in source.turns if t.role == "user"}
        for fork in forks:
            mark = fork.forks[0]
            tail = fork.turns[mark.fork_turn - 1 :]
            labels = {t.label for t in tail if t.role == ASSISTANT}
            assert labels == {bank_label(GR, mark.variant)}
            heard = [t.text for t in tail if t.role == "user"]
            assert all(text in human_turns or is_assent(text) for text in heard)


def test_csc_comes_back_every_second_or_third_turn():
    for number in range(6):
        source, forks = of_type(CSC, number=number)
        own = {t.text for t in source.turns if t.role == ASSISTANT}
        for fork in forks:
            mark = fork.forks[0]
            tail = [t for t in fork.turns[mark.fork_turn - 1 :] if t.role == ASSISTANT]
            aside = [i for i, t in enumerate(tail) if t.label == bank_label(CSC, mark.variant)]
            assert aside[0] == 0
            task = [t for i, t in enumerate(tail) if i not in aside]
            assert all(t.text in own for t in task)
            rest = len(own) - mark.fork_assistant_turn + 1
            if len(task) < rest:
                gaps = {b - a for a, b in itertools.pairwise(aside)}
                assert gaps <= {2, 3}


def test_turns_of_the_fork_carry_no_times_of_the_source():
    for fork in made(human.dialogue("table_book", 2)):
        tail = fork.turns[fork.forks[0].fork_turn - 1 :]
        assert all("time" not in t.meta for t in tail)


def test_a_reworded_prefix_keeps_roles_steps_and_numbers():
    pool = human.pool(30)
    edited = total = 0
    for source in pool[:20]:
        for fork in engine(pool, reword_prefix=True).forks(source):
            if isinstance(fork, Refusal):
                continue
            mark = fork.forks[0]
            prefix = fork.turns[: mark.fork_turn - 1]
            changed = [
                (new, old)
                for new, old in zip(prefix, source.turns, strict=False)
                if new.text != old.text
            ]
            assert [(t.role, t.label) for t in prefix] == [
                (t.role, t.label) for t in source.turns[: mark.fork_turn - 1]
            ]
            assert len(changed) == mark.witness["reworded_turns"]
            assert (mark.replay == EDITED) == bool(changed)
            for new, old in changed:
                assert 0.75 <= float(encode([new.text])[0] @ encode([old.text])[0]) <= 0.9701
            edited += len(changed)
            total += len(prefix)
    assert 0.15 < edited / total < 0.40


def test_unlabelled_turns_take_the_label_of_the_nearest_labelled_turn():
    pool = SplicePool(human.pool(blank=0.3), human.workflows(), encode)
    guessed = [
        (pieces.labels[i], turn.text)
        for pieces in pool.tasks["table_book"]
        for i, turn in enumerate(pieces.said)
        if pieces.guessed[i]
    ]
    right = {said: key for key, said, _ in human.TASKS["table_book"][1] if "{" not in said}
    known = [(label, right[text]) for label, text in guessed if text in right]
    assert len(known) >= 5
    assert all(label == truth for label, truth in known)


def test_the_engine_looks_at_nothing_but_conformant_dialogues_of_its_pool():
    source = human.dialogue("table_book", 3)
    pool = human.pool()
    known = {t.text for d in pool for t in d.turns}
    banked = {t for found in BANK.values() for rows in found.values() for r in rows for t in r}
    for fork in engine(pool).forks(source):
        for turn in fork.turns:
            text = turn.text.split(": ", 1)[-1] if ": " in turn.text else turn.text
            filled = text.replace("meal order", "{task}")
            assert turn.text in known or text in known or filled in banked or turn.text in banked


def test_without_labels_step_corruption_still_stalls_and_nothing_breaks():
    bare = [
        DialogueRecord(
            d.external_id,
            [TurnRecord(t.role, t.text) for t in d.turns],
            workflow=d.workflow,
            conformant=True,
        )
        for d in human.pool()
    ]
    answers = engine(bare).forks(bare[0])
    by_type = defaultdict(list)
    for answer in answers:
        kind = answer.type if isinstance(answer, Refusal) else answer.forks[0].type
        by_type[kind].append(answer)
    assert all(isinstance(a, Refusal) for a in by_type[WIC])
    assert {a.forks[0].variant for a in by_type[SSPC]} == {"stall"}
    assert all(assistant_labels(a.turns) for a in by_type[GR] + by_type[CSC])


# -- the bank --------------------------------------------------------------------------------


def test_the_bank_holds_each_variant_that_needs_it():
    assert BANK_VERSION
    for type_ in (GR, CSC):
        assert variants_with(type_) == tuple(v.key for v in VARIANTS[type_])
        for key in variants_with(type_):
            openers, others = BANK[type_][key]
            assert len(openers) >= 4 and len(openers) + len(others) >= 12


def test_no_text_stands_twice_in_the_bank_and_none_has_a_slot_left():
    texts = [t for found in BANK.values() for rows in found.values() for r in rows for t in r]
    assert len(set(texts)) == len(texts)
    assert all("{" not in t.replace("{task}", "") for t in texts)
    assert all(t[0].isupper() and t[-1] in ".?!" for t in texts)


def test_bank_turns_come_round_only_after_all_others():
    turns = bank_turns(GR, "survey", generator_of(1, "x"))
    openers, others = BANK[GR]["survey"]
    first = [next(turns).text for _ in range(1 + len(others))]
    assert first[0] in openers and set(first[1:]) == set(others)
    more = [next(turns).text for _ in range(len(others))]
    assert more[0] != first[-1] and set(more) == set(others)


def test_an_unknown_variant_of_the_bank_is_refused():
    with pytest.raises(BadRecord, match="no turns for GR haggle"):
        next(bank_turns(GR, "haggle", generator_of(1, "x")))
    assert is_bank_label(bank_label(GR, "sell")) and not is_bank_label("ask_name")


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("Okay, thanks!", True),
        ("Yes please.", True),
        ("My name is Mark.", False),
        ("Is it?", False),
        ("", False),
        ("ok ok ok ok ok", False),
    ],
)
def test_brief_replies_only_agree_decline_or_thank(text, fits):
    assert is_assent(text) is fits
