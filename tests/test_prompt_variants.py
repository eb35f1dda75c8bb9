"""What other words in a prompt change: paired on the same runs, with intervals, nothing dropped."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmark.judge_answer_files import AnswerRow
from benchmark.judge_answer_imports import Import, import_answers
from benchmark.judge_prompts import load
from benchmark.judge_raters import judge_rater
from benchmark.label_records import TYPES
from benchmark.prompt_variant_rows import judged, variant_sets
from benchmark.prompt_variant_tables import figures
from benchmark.prompt_variants import Judged, Table, Verdict, differences, mcnemar, turned
from tests.judge_texts import judge_text
from tests.run_studies import make_runs

YES, NO = Verdict(True, ("procedural",)), Verdict(False)


def judge(version: int, verdicts, *, model: str = "large", rejected: int = 0) -> Judged:
    """A judge of the set that comes with the project."""
    prompt = load("whole-run", version)
    name = f"{model} / {prompt}"
    return Judged(name, model, str(prompt), version, prompt.variant, verdicts, rejected)


def said(text: str) -> dict[int, Verdict]:
    """Verdicts on runs 1, 2, ...: y, n, or . where nothing could be read."""
    return {run: YES if c == "y" else NO for run, c in enumerate(text, start=1) if c != "."}


def by_name(table: Table):
    return {figure.name: figure for figure in figures(table)}


ONE_EACH = {run: f"q{run}" for run in range(1, 100)}


def test_a_rate_is_over_the_answers_that_could_be_read():
    table = Table([judge(1, said("yyn."), rejected=1), judge(2, said("nnnn"))], ONE_EACH)
    first, second = by_name(table)["rates"].rows
    assert (first["answered"], first["rejected"], first["positive"]) == (3, 1, 2)
    assert first["rate"].value == pytest.approx(2 / 3)
    # statsmodels.stats.proportion.proportion_confint(2, 3, method="wilson")
    assert first["rate"].ci == pytest.approx((0.2076596, 0.9385081), abs=1e-6)
    assert (first["base"], second["base"]) == ("base", "–")
    assert (first["axis_specificity"], second["axis_specificity"]) == ("high", "low")


def test_axes_on_which_nothing_differs_are_no_column():
    table = Table([judge(1, said("yn")), judge(2, said("yn"))], ONE_EACH)
    assert table.axes == ["specificity"]


def test_a_difference_takes_the_runs_both_have_answered():
    table = Table([judge(1, said("yyynn.")), judge(2, said("yn.yyy"))], ONE_EACH)
    (row,) = by_name(table)["differences"].rows
    assert (row["only_base"], row["only_this"], row["difference"].n) == (1, 2, 4)
    assert row["difference"].value == pytest.approx(1 / 4)
    assert row["p"].value == pytest.approx(1.0) and row["p"].n == 3
    assert row["changed"] == "specificity"


@pytest.mark.parametrize(
    ("b", "c", "p"),
    # R: binom.test(b, b + c)$p.value; mcnemar.exact of the package exact2x2 gives the same.
    [(0, 5, 0.0625), (1, 9, 0.021484375), (10, 2, 0.03857421875), (3, 3, 1.0)],
)
def test_mcnemar_is_the_exact_test(b, c, p):
    found = mcnemar(b, c)
    assert found.value == pytest.approx(p) and found.n == b + c
    assert mcnemar(c, b).value == pytest.approx(p)


def test_without_disagreement_there_is_no_test():
    assert (mcnemar(0, 0).value, mcnemar(0, 0).reason) == (None, "both say the same of every run")


def test_the_interval_of_a_difference_draws_whole_questions():
    """Against a plain loop over questions drawn with replacement."""
    rng = np.random.default_rng(5)
    questions = {run: f"q{run % 12}" for run in range(1, 61)}
    one = "".join(rng.choice(["y", "n"], 60))
    other = "".join(rng.choice(["y", "y", "n"], 60))
    table = Table([judge(1, said(one)), judge(2, said(other))], questions, resamples=4000)
    found = by_name(table)["differences"].rows[0]["difference"]
    change = np.array([(o == "y") - (a == "y") for a, o in zip(one, other, strict=True)], float)
    clusters = [change[[r - 1 for r, q in questions.items() if q == f"q{k}"]] for k in range(12)]
    means = [
        np.concatenate([clusters[k] for k in rng.integers(0, 12, 12)]).mean() for _ in range(4000)
    ]
    assert found.value == pytest.approx(change.mean())
    assert found.ci == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.02)


def test_one_question_has_no_interval_and_says_why():
    table = Table([judge(1, said("yynn")), judge(2, said("yyyn"))], dict.fromkeys(range(5), "q"))
    found = by_name(table)["differences"].rows[0]["difference"]
    assert found.value == 0.25 and found.ci is None and "one question" in found.reason


def test_an_axis_pools_every_pair_that_differs_on_it_alone():
    verdicts = {1: "yyyy", 2: "ynnn", 3: "yyyn", 5: "nnny"}
    table = Table([judge(v, said(text)) for v, text in verdicts.items()], ONE_EACH)
    rows = {row["axis"]: row for row in by_name(table)["axes"].rows}
    assert set(rows) == {"specificity", "order"}
    specific = rows["specificity"]
    # high to low: version 1 to 2, and 3 to 5.
    assert (specific["pairs"], specific["down"], specific["up"]) == (2, 6, 1)
    assert specific["difference"].value == pytest.approx(-5 / 8)
    assert specific["difference"].n == 8
    assert specific["p"].value is None and "several pairs" in specific["p"].reason
    assert rows["order"]["change"] == "order: evidence first to verdict first"


def test_one_pair_on_an_axis_has_its_test():
    table = Table([judge(1, said("yyyyyy")), judge(4, said("ynnnnn"))], ONE_EACH)
    (row,) = by_name(table)["axes"].rows
    assert row["p"].value == pytest.approx(0.0625)


def test_models_are_not_compared_with_each_other():
    table = Table(
        [
            judge(1, said("yy")),
            judge(2, said("yn")),
            judge(1, said("nn"), model="small"),
            judge(3, said("nn"), model="small"),
        ],
        ONE_EACH,
    )
    rows = by_name(table)["differences"].rows
    assert [(r["model"], r["prompt"]) for r in rows] == [
        ("large", "whole-run@2"),
        ("small", "whole-run@3"),
    ]
    assert {(r["axis"], r["model"]) for r in by_name(table)["axes"].rows} == {
        ("large: specificity", "large"),
        ("small: order", "small"),
    }


def test_judges_whose_model_nobody_knows_are_not_taken_for_one():
    judges = [judge(1, said("yy"), model=""), judge(2, said("yn"), model="")]
    found = by_name(Table(judges, ONE_EACH))
    assert [row["base"] for row in found["rates"].rows] == ["base", "base"]
    assert not found["differences"].rows and not found["axes"].rows


def test_the_type_mix_is_over_the_answers_that_name_types():
    untyped = Verdict(True)
    verdicts = {1: Verdict(True, ("factual", "scope")), 2: YES, 3: untyped, 4: NO}
    table = Table([judge(1, verdicts), judge(2, verdicts)], ONE_EACH)
    rows = {r["type"]: r for r in by_name(table)["types"].rows if r["prompt"] == "whole-run@1"}
    assert [rows[name]["times"] for name in TYPES] == [1, 0, 0, 1, 1]
    assert rows["factual"]["share"].n == 2
    shares = by_name(table)["axis-types"].rows
    assert {row["difference"].n for row in shares} == {3}
    assert {row["difference"].value for row in shares} == {0.0}


def test_what_cannot_be_compared_has_a_reason():
    for judges in ([], [judge(1, said("yn"))], [judge(1, {}), judge(2, {})]):
        found = by_name(Table(judges, {}))
        for name in ("differences", "axes", "axis-types"):
            figure = found[name]
            assert figure.reason or all(r["difference"].value is None for r in figure.rows)
    apart = Table([judge(1, said("y.")), judge(2, said(".y"))], ONE_EACH)
    row = by_name(apart)["differences"].rows[0]
    assert (row["difference"].value, row["difference"].n) == (None, 0)
    assert row["difference"].reason == "no run is answered under both prompts"
    assert row["holm"] is None


@given(st.lists(st.tuples(st.sampled_from("yn."), st.sampled_from("yn.")), min_size=1, max_size=30))
def test_turning_the_pair_round_turns_the_sign(rows):
    one, other = ("".join(column) for column in zip(*rows, strict=True))
    table = Table([judge(1, said(one)), judge(2, said(other))], ONE_EACH, resamples=50)
    (there,) = differences(table, [(0, 1)], table.present[..., None], table.answered)
    (back,) = differences(table, [(1, 0)], table.present[..., None], table.answered)
    assert turned(table, [(0, 1)]) == turned(table, [(1, 0)])[::-1]
    if there.value is None:
        assert back.value is None
    else:
        assert there.value == pytest.approx(-back.value)
        up, down = turned(table, [(0, 1)])
        assert there.value == pytest.approx((up - down) / there.n)


def test_a_rate_that_moves_by_chance_alone_is_seldom_called_a_change():
    """The exact test keeps its level: at most one in twenty, here with room for chance."""
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(300):
        a, b = rng.random(60) < 0.6, rng.random(60) < 0.6
        p = mcnemar(int((a & ~b).sum()), int((~a & b).sum())).value
        hits += p is not None and p < 0.05
    assert hits <= stats.binom.ppf(0.999, 300, 0.05)


def test_eight_variants_on_225_runs_take_no_time():
    rng = np.random.default_rng(0)
    verdicts = ["".join(rng.choice(["y", "n"], 225)) for _ in range(8)]
    judges = [judge(v, said(text)) for v, text in enumerate(verdicts, start=1)]
    questions = {run: f"q{run % 42}" for run in range(1, 226)}
    figures(Table(judges, questions, resamples=10))
    start = time.perf_counter()
    found = figures(Table(judges, questions))
    assert time.perf_counter() - start < 0.6
    assert [len(figure.rows) for figure in found] == [8, 40, 7, 3, 15]


@pytest.mark.django_db
def test_answers_of_a_corpus_are_loaded_in_four_queries(django_assert_num_queries):
    corpus = make_runs("plant", models=2, questions=3)
    names = list(corpus.trajectories.order_by("pk").values_list("external_id", flat=True))
    for version, texts in {1: [judge_text(True)] * 5 + ["?"], 2: [judge_text(False)] * 6}.items():
        prompt = load("whole-run", version)
        rater = judge_rater(f"large {version}", model="large", prompt=prompt)
        rows = [AnswerRow("a", raw, run=n) for n, raw in zip(names, texts, strict=True)]
        import_answers(Import(corpus, rater), rows)
        import_answers(Import(corpus, rater, trial=2), rows[:2])
    import_answers(Import(corpus, judge_rater("other")), [AnswerRow("a", judge_text(), names[0])])
    assert variant_sets(corpus) == ["whole-run"]
    with django_assert_num_queries(4):
        table = judged(corpus, "whole-run")
    assert [(j.prompt, len(j.verdicts), j.rejected) for j in table.judges] == [
        ("whole-run@1", 5, 1),
        ("whole-run@2", 6, 0),
    ]
    (row,) = by_name(table)["differences"].rows
    assert (row["difference"].value, row["difference"].n) == (-1.0, 5)
    assert row["difference"].detail["clusters"] == 3
