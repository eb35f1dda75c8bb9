"""Detectors of hallucinations in agent runs: what they learn, and what they may not see."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmark.label_records import LabelRecord, PlaceRecord
from scoring import linear_detectors
from scoring import trajectory_detectors as detectors
from scoring.encoders import LexicalEncoder
from scoring.linear_detectors import unbalanced
from scoring.question_folds import folds_of, question_groups
from scoring.roc_areas import ONE_CLASS, auc_estimate, roc_auc
from scoring.step_rankings import RankedRun, step_ranking
from scoring.trajectory_features import (
    CONTRADICTED,
    NEUTRAL,
    OTHERWISE,
    UNKNOWN,
    SeenRun,
    SeenStep,
    judge_columns,
    nli_truth,
    pair_features,
    step_truth,
    whole_text,
    windows,
)
from scoring.trajectory_methods import LABEL_METHODS

embed = LexicalEncoder().encode
SETTINGS = {
    name: {s.name: s.default for s in method.settings} for name, method in LABEL_METHODS.items()
}
SOUND = "The sensor table holds 12 rows for the pump."
FAULTY = "Invented: the moon reactor exploded yesterday."


def label(present, *steps, types=(), place_type="", rater="truth"):
    places = tuple(PlaceRecord(step, type=place_type) for step in steps)
    return LabelRecord(rater, present, types=types, places=places)


def seen(key, present, *, question=None, steps=4, faulty=2, judge=None, signals=None, **fields):
    """A run whose step `faulty` says something odd where there is a hallucination."""
    said = [
        FAULTY if present and n == faulty else f"{SOUND} Look {n}." for n in range(1, steps + 1)
    ]
    truth = None if present is None else label(present, *([faulty] if present else []))
    return SeenRun(
        **{
            "key": key,
            "corpus": "c",
            "question": question or f"q{key}",
            "task": "How is the pump?",
            "response": "It is well.",
            "steps": [SeenStep(n, "A", text) for n, text in enumerate(said, start=1)],
            "truth": truth,
            "judge": judge,
            "signals": signals,
        }
        | fields
    )


def pool(n=40):
    return [seen(key, key % 2 == 0, question=f"q{key // 4}") for key in range(n)]


def scores(method, runs, tested, **changes):
    found = detectors.out_of_fold(
        method, SETTINGS[method] | changes, runs, np.asarray(tested, bool), embed
    )
    return {each.key: each for each in found}


def pooled(method, runs, **changes):
    """Scores of every run, each by a detector that has not seen its question."""
    fold = folds_of([r.question for r in runs], [bool(r.present) for r in runs], folds=4)
    found = {}
    for each in np.unique(fold):
        found |= scores(method, runs, fold == each, **changes)
    return [found[run.key].value for run in runs]


@pytest.mark.parametrize(
    "method", ["step_classifier", "step_entailment", "long_context", "judge_hybrid"]
)
def test_a_plain_difference_is_learned(method):
    runs = pool()
    assert roc_auc(pooled(method, runs), [r.present for r in runs]) > 0.9


@pytest.mark.parametrize("method", ["step_classifier", "step_entailment", "long_context"])
def test_labels_drawn_at_random_teach_nothing(method):
    rng = np.random.default_rng(5)
    words = [
        "pump",
        "valve",
        "rotor",
        "sensor",
        "table",
        "row",
        "alarm",
        "query",
        "tool",
        "agent",
        "plan",
    ]
    areas = []
    for _ in range(3):
        present = rng.permutation([True, False] * 40)
        runs = []
        for key, yes in enumerate(present):
            said = [" ".join(rng.choice(words, 6)) for _ in range(3)]
            steps = [SeenStep(n, "A", text) for n, text in enumerate(said, start=1)]
            truth = label(bool(yes), *([1] if yes else []))
            runs.append(seen(key, bool(yes), question=f"q{key // 2}", steps=3, truth=truth))
            object.__setattr__(runs[-1], "steps", steps)
        areas.append(roc_auc(pooled(method, runs), [r.present for r in runs]))
    assert np.mean(areas) == pytest.approx(0.5, abs=0.13)


def test_training_labels_do_not_touch_the_features_of_a_tested_run():
    runs = pool(12)
    turned = [seen(r.key, not r.present, question=r.question, steps=4) for r in runs]
    for run, other in zip(runs, turned, strict=True):
        object.__setattr__(other, "steps", run.steps)
    for name, table in detectors.TABLES.items():
        one, two = (table(each, SETTINGS[name], embed).x for each in (runs, turned))
        assert np.array_equal(one, two), name


def test_a_run_of_the_tested_question_trains_nothing():
    runs = pool(24)
    tested = [run.key == 0 for run in runs]
    before = scores("step_classifier", runs, tested)[0]
    siblings = [
        run
        if run.question != "q0" or run.key == 0
        else seen(run.key, run.key % 2 == 1, question="q0")
        for run in runs
    ]
    after = scores("step_classifier", siblings, tested)[0]
    assert before.value == after.value


def test_the_label_of_the_tested_run_itself_is_never_read():
    runs = pool(24)
    tested = [run.key == 0 for run in runs]
    blind = [seen(0, None, question="q0", steps=4), *runs[1:]]
    object.__setattr__(blind[0], "steps", runs[0].steps)
    for method in ("step_classifier", "step_entailment", "long_context", "judge_hybrid"):
        assert scores(method, runs, tested)[0].value == scores(method, blind, tested)[0].value


def test_a_run_without_a_label_gets_a_score_but_trains_nothing():
    runs = [*pool(16), seen(99, None)]
    tested = [run.key == 99 for run in runs]
    assert scores("long_context", runs, tested)[99].value is not None


def test_training_without_a_class_gives_a_reason_instead_of_a_score():
    runs = [seen(key, True, question=f"q{key}") for key in range(6)]
    tested = [key == 0 for key in range(6)]
    found = scores("long_context", runs, tested)[0]
    assert (found.value, found.reason) == (None, linear_detectors.ONE_CLASS)


def test_steps_of_runs_that_are_all_faulty_still_teach_which_step_it_is():
    runs = [seen(key, True, question=f"q{key}", faulty=1 + key % 4) for key in range(20)]
    fold = folds_of([r.question for r in runs], [True] * 20, folds=4)
    for each in np.unique(fold):
        for found in scores("step_classifier", runs, fold == each).values():
            best = max(found.steps, key=lambda step: step[1])
            assert best[0] == 1 + found.key % 4


def test_a_run_without_a_step_has_a_reason():
    runs = [*pool(16), seen(50, True, steps=0)]
    found = scores("step_classifier", runs, [run.key == 50 for run in runs])[50]
    assert (found.value, found.reason) == (None, detectors.NO_STEP)


def test_a_hallucination_without_a_place_leaves_its_steps_unknown_unless_asked_weakly():
    run = seen(1, True, truth=label(True))
    assert list(step_truth([run])) == [UNKNOWN] * 4
    assert list(step_truth([run], weak=True)) == [1] * 4
    assert list(step_truth([seen(2, True), seen(3, False), seen(4, None, steps=1)])) == [
        0, 1, 0, 0, 0, 0, 0, 0, UNKNOWN,
    ]  # fmt: skip


def test_referential_contradicts_logical_is_neutral_and_the_rest_has_a_class_of_its_own():
    def place(type_, types=()):
        return seen(1, True, truth=label(True, 2, types=types or (type_,), place_type=type_))

    assert nli_truth([place("referential")])[1] == CONTRADICTED
    assert nli_truth([place("logical")])[1] == NEUTRAL
    assert nli_truth([place("factual")])[1] == OTHERWISE
    assert nli_truth([place("", ("referential",))])[1] == CONTRADICTED
    assert nli_truth([place("", ("referential", "logical"))])[1] == OTHERWISE


def test_a_premise_holds_the_task_and_the_steps_before_and_nothing_after():
    run = seen(1, True)
    changed = seen(1, True)
    object.__setattr__(changed, "steps", [*run.steps[:3], SeenStep(4, "A", "Something else.")])
    one, two = pair_features([run], embed), pair_features([changed], embed)
    assert np.array_equal(one[:3], two[:3])
    assert not np.array_equal(one[3], two[3])
    width = LexicalEncoder.dim
    task = embed([run.task])[0] * np.sqrt(width)
    assert one[0, :width] == pytest.approx(task, abs=1e-5)


def test_a_hypothesis_is_what_a_step_thinks_and_does_and_its_observation_is_history():
    steps = [
        SeenStep(1, "A", "Ask the table.\n12 rows.", "Ask the table."),
        SeenStep(2, "A", "So."),
    ]
    run = seen(1, False)
    object.__setattr__(run, "steps", steps)
    found, width = pair_features([run], embed), LexicalEncoder.dim
    claimed = embed(["Ask the table."])[0] * np.sqrt(width)
    assert found[0, width : 2 * width] == pytest.approx(claimed, abs=1e-5)
    before = embed([run.task]) + embed(["Ask the table.\n12 rows."])
    premise = (before / np.linalg.norm(before))[0] * np.sqrt(width)
    assert found[1, :width] == pytest.approx(premise, abs=1e-4)


@pytest.mark.parametrize(
    ("aggregator", "value"), [("max", 0.5), ("mean", 0.3), ("noisy_or", 1 - 0.9 * 0.5)]
)
def test_a_run_is_the_aggregate_of_its_steps(aggregator, value):
    assert detectors.run_score(np.array([0.1, 0.5]), aggregator, 0.5) == pytest.approx(value)


def test_balanced_probabilities_are_brought_back_to_the_share_of_faults():
    assert unbalanced(np.array([0.5]), 0.03)[0] == pytest.approx(0.03)


def test_a_noisy_or_of_many_sound_steps_stays_below_one_of_a_clear_fault():
    many = detectors.run_score(np.full(40, 0.3), "noisy_or", 0.02)
    clear = detectors.run_score(np.array([0.3] * 5 + [0.999]), "noisy_or", 0.02)
    assert many < clear < 1


def test_folds_keep_questions_together_and_do_not_hang_on_the_order():
    groups = [f"q{n % 13}" for n in range(60)]
    positive = [n % 3 == 0 for n in range(60)]
    fold = folds_of(groups, positive, folds=5, seed=3)
    assert all(len({f for f, g in zip(fold, groups, strict=True) if g == q}) == 1 for q in groups)
    order = np.random.default_rng(0).permutation(60)
    again = folds_of([groups[i] for i in order], [positive[i] for i in order], folds=5, seed=3)
    assert np.array_equal(again, fold[order])
    counts = [sum(p for p, f in zip(positive, fold, strict=True) if f == k) for k in range(5)]
    assert max(counts) - min(counts) <= 5
    with pytest.raises(ValueError, match="only 1 question"):
        folds_of(["a", "a"], [True, False], folds=2)


def test_runs_of_one_question_or_of_the_same_task_words_are_one_group():
    rows = [
        ("a", "3", "Q1", "Find the pump."),
        ("a", "1", "Q1", "Find a pump!"),
        ("b", "2", "", "find  THE pump."),
        ("b", "4", "Q1", "Other words"),
        ("b", "5", "", ""),
    ]
    found = question_groups(rows)
    assert found == ["a/1", "a/1", "a/1", "b/4", "b/5"]
    assert question_groups(rows[::-1]) == found[::-1]


def test_the_area_is_that_of_scikit_learn_with_ties_and_resampled_by_question():
    rng = np.random.default_rng(2)
    truth = rng.random(300) < 0.4
    values = np.round(truth * 0.5 + rng.normal(size=300), 1)
    groups = [f"q{n // 6}" for n in range(300)]
    found = auc_estimate(values, truth, groups, resamples=400)
    assert found.value == pytest.approx(roc_auc_score(truth, values), abs=1e-12)
    assert found.ci[0] < found.value < found.ci[1]
    assert (found.detail["positives"], found.detail["questions"]) == (int(truth.sum()), 50)
    # The same weights as repeating the rows of the drawn questions.
    drawn = rng.integers(0, 50, 50)
    rows = np.concatenate([np.flatnonzero(np.arange(300) // 6 == g) for g in drawn])
    assert roc_auc(values[rows], truth[rows]) == pytest.approx(
        roc_auc_score(truth[rows], values[rows]), abs=1e-12
    )


def test_an_area_without_a_class_has_a_reason():
    assert roc_auc([1, 2], [True, True]) is None
    found = auc_estimate([0.1, 0.2], [True, True], ["a", "b"])
    assert (found.value, found.reason, found.n) == (None, ONE_CLASS, 2)


def test_the_true_step_is_ranked_beside_first_last_and_random():
    runs = [
        RankedRun("a", [0.1, 0.9, 0.2, 0.3], 1),
        RankedRun("b", [0.9, 0.8, 0.1, 0.1], 3),
    ]
    found = step_ranking(runs, resamples=50)
    assert found["hit_at_1", "detector"].value == 0.5
    # Rank 1, and a tie for ranks 3 and 4.
    assert found["mrr", "detector"].value == pytest.approx((1 + (1 / 3 + 1 / 4) / 2) / 2)
    assert found["hit_at_1", "random step"].value == 0.25
    assert found["hit_at_1", "last step"].value == 0.5
    assert found["mrr", "first step"].value == pytest.approx((1 / 2 + 1 / 4) / 2)


def test_a_judges_columns_hold_presence_types_places_and_signals():
    judge = label(True, 1, 2, types=("factual",), rater="judge")
    row = judge_columns([seen(1, None, judge=judge, signals={"task_completion": False})])[0]
    assert list(row[:3]) == [1.0, 1.0, 1.0]
    assert row[7] == pytest.approx(np.log(3))
    assert list(row[8:]) == [-1, 0, 0, 0, 0]
    assert not judge_columns([seen(1, None)]).any()


def test_the_judge_alone_says_yes_or_no_or_has_a_reason():
    runs = [seen(0, True, judge=label(True, rater="j")), seen(1, False)]
    found = scores("judge_label", runs, [True, True])
    assert (found[0].value, found[1].reason) == (1.0, detectors.NO_JUDGE)


def test_the_majority_cannot_tell_any_two_runs_apart():
    runs = pool(12)
    assert roc_auc(pooled("majority", runs), [r.present for r in runs]) == 0.5


def test_length_and_position_are_controls_that_read_no_word():
    runs = [
        seen(key, key % 2 == 0, question=f"q{key}", steps=8 if key % 2 else 3) for key in range(20)
    ]
    assert roc_auc(pooled("run_length", runs, measure="steps"), [r.present for r in runs]) == 1.0
    renamed = [seen(r.key, r.present, question=r.question, steps=len(r.steps)) for r in runs]
    for run in renamed:
        object.__setattr__(run, "steps", [SeenStep(s.position, "", "x") for s in run.steps])
    assert pooled("step_position", renamed) == pooled("step_position", runs)


def test_windows_cover_the_whole_text_and_an_empty_run_has_one():
    assert windows("abcdefg", 3) == ["abc", "def", "g"]
    assert windows("", 3) == [""]
    assert whole_text(seen(1, False, steps=1)).splitlines() == [
        "How is the pump?", "A:", f"{SOUND} Look 1.", "It is well.",
    ]  # fmt: skip
