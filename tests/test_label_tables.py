"""Two raters, and more, on agent runs: the coefficients, their intervals, and what is left out."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation import label_intervals
from annotation.agreement import cohen_kappa, gwet_ac, krippendorff_alpha, wilson
from annotation.label_agreement import kappa_per_label, label_set_agreement, per_label
from annotation.label_binary import ac1, alpha, cells_of, f1, kappa
from annotation.label_intervals import ALWAYS_THE_SAME, ONE_CLUSTER, draws_of, estimates
from annotation.label_pairs import pairs_of
from annotation.label_several_tables import coefficients
from annotation.label_single_tables import ALL_CHOSEN
from annotation.label_tables import figures, several_rater_figures, single_rater_figures
from annotation.label_type_tables import set_estimates, type_rows
from benchmark.label_records import (
    FACTUAL,
    LOGICAL,
    ROLE_BREACH,
    SCOPE,
    TYPES,
    LabelRecord,
    PlaceRecord,
)
from benchmark.labelling import labelled_runs, store_labels
from benchmark.models import Corpus, Trajectory
from scoring.estimates import Estimate
from tests.labelled import JUDGE, PEOPLE, Run, named, of_cells, pair, row, said
from tests.run_rows import make_run

answers = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)
type_sets = st.none() | st.sets(st.sampled_from(TYPES), min_size=1).map(sorted)
typed = st.lists(st.tuples(type_sets, type_sets), min_size=2, max_size=25)
QUICK = {"resamples": 50}


def runs_of(given_answers, **more):
    return [pair(at, one, other, **more) for at, (one, other) in enumerate(given_answers)]


# -- the coefficients ----------------------------------------------------------------------------


@given(answers)
def test_each_coefficient_is_that_of_the_general_function(pairs):
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    cells = cells_of(np.array(one), np.array(other)).sum(axis=0)
    general = {
        kappa: cohen_kappa(one, other, categories=(False, True)),
        ac1: gwet_ac([one, other], categories=(False, True)),
        alpha: krippendorff_alpha([one, other], categories=(False, True)),
    }
    for ours, theirs in general.items():
        value = float(ours(cells))
        assert np.isnan(value) if theirs.value is None else value == pytest.approx(theirs.value)


@given(answers)
def test_coefficients_do_not_ask_who_is_the_reference(pairs):
    one, other = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    there, back = cells_of(one, other).sum(axis=0), cells_of(other, one).sum(axis=0)
    for statistic in (f1, kappa, ac1, alpha):
        np.testing.assert_allclose(statistic(there), statistic(back), equal_nan=True)


ratings = st.lists(
    st.lists(st.none() | st.booleans(), min_size=4, max_size=4), min_size=1, max_size=20
)


@given(ratings)
def test_coefficients_of_many_raters_are_those_of_the_general_functions(units):
    yes = np.array([[sum(r is True for r in unit)] for unit in units])
    rated = np.array([[sum(r is not None for r in unit)] for unit in units])
    draws = draws_of(list(range(len(units))), resamples=0)
    (found,) = coefficients(draws, yes, rated)
    table = [list(rater) for rater in zip(*units, strict=True)]
    general = {
        "ac1": gwet_ac(table, categories=(False, True)),
        "alpha": krippendorff_alpha(table, categories=(False, True)),
    }
    for name, theirs in general.items():
        if theirs.value is None:
            assert found[name].value is None
        else:
            assert found[name].value == pytest.approx(theirs.value)


def test_two_raters_of_many_are_the_pair():
    runs = of_cells(20, 7, 5, 11, type_=FACTUAL)
    found = several_rater_figures(runs, [PEOPLE, JUDGE], **QUICK)
    over_all = row(named(found, "raters"), asked="hallucination")
    two = named(figures(runs, PEOPLE, JUDGE, **QUICK), "agreement")
    for name, word in (("ac1", "AC1"), ("alpha", "alpha")):
        assert over_all[name].value == pytest.approx(row(two, measure=word)["value"].value)


@settings(max_examples=40, deadline=None)
@given(typed)
def test_types_and_sets_are_those_of_the_general_functions(given_answers):
    pairs = pairs_of(runs_of(given_answers), PEOPLE, JUDGE, resamples=0)
    one, other = ([sorted(r.types) for r in s.records] for s in (pairs.one, pairs.other))
    cells, kappas = per_label(one, other, TYPES), kappa_per_label(one, other, TYPES)
    for line in type_rows(pairs):
        name = line["type"]
        assert [line[k] for k in ("tp", "fp", "fn", "tn")] == [
            cells[name].detail[k] for k in ("tp", "fp", "fn", "tn")
        ]
        for ours, theirs in ((line["f1"], cells[name]), (line["kappa"], kappas[name])):
            assert ours.value == (theirs.value and pytest.approx(theirs.value))
    both = [at for at, (a, b) in enumerate(zip(one, other, strict=True)) if a and b]
    expected = label_set_agreement([one[at] for at in both], [other[at] for at in both], TYPES)
    found = set_estimates(pairs)
    if both:
        assert found["jaccard"].value == pytest.approx(expected.value)
        assert found["exact"].value == pytest.approx(expected.detail["exact_match"])
    else:
        assert found["jaccard"].value is None and found["exact"].value is None


# -- intervals -----------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(typed, st.randoms())
def test_the_order_of_the_runs_changes_nothing(given_answers, chance):
    runs = [
        pair(at, one, other, question=f"q{at % 4}", model=f"m{at % 3}")
        for at, (one, other) in enumerate(given_answers)
    ]
    shuffled = list(runs)
    chance.shuffle(shuffled)
    pools = {run.pk: f"p{run.pk % 2}" for run in runs}
    assert figures(runs, PEOPLE, JUDGE, pools=pools, **QUICK) == figures(
        shuffled, PEOPLE, JUDGE, pools=pools, **QUICK
    )
    assert single_rater_figures(runs, JUDGE, **QUICK) == single_rater_figures(
        shuffled, JUDGE, **QUICK
    )


def test_the_seed_decides_the_draws():
    runs = runs_of([([FACTUAL], [FACTUAL]), (None, [SCOPE]), ([SCOPE], None), (None, None)] * 8)

    def interval(seed):
        found = figures(runs, PEOPLE, JUDGE, seed=seed, resamples=300)
        return row(named(found, "agreement"), measure="kappa")["value"].ci

    assert interval(1) == interval(1) != interval(2)


def test_runs_of_one_question_have_no_interval_and_say_why():
    runs = of_cells(9, 3, 4, 6, type_=FACTUAL, question="q1")
    found = figures(runs, PEOPLE, JUDGE, **QUICK)
    for word in ("F1", "kappa", "AC1", "alpha"):
        value = row(named(found, "agreement"), measure=word)["value"]
        assert value.value is not None and value.ci is None and value.reason == ONE_CLUSTER
    assert row(named(found, "agreement"), measure="recall")["value"].ci == wilson(9, 12).ci


def test_reviews_of_one_run_without_a_question_are_drawn_together():
    runs = of_cells(5, 2, 3, 4, type_=FACTUAL, question="", external_id="the same run")
    value = row(named(figures(runs, PEOPLE, JUDGE, **QUICK), "agreement"), measure="kappa")["value"]
    assert value.reason == ONE_CLUSTER
    apart = of_cells(5, 2, 3, 4, type_=FACTUAL, question="")
    found = figures(apart, PEOPLE, JUDGE, **QUICK)
    assert row(named(found, "agreement"), measure="kappa")["value"].ci is not None


def test_a_group_inside_one_question_has_no_interval_though_the_study_has_many():
    runs = of_cells(5, 2, 2, 5, type_=FACTUAL, model="narrow", question="q1")
    runs += of_cells(5, 2, 2, 5, type_=FACTUAL, model="broad", start=50)
    table = named(figures(runs, PEOPLE, JUDGE, **QUICK), "agreement-models")
    assert row(table, group="narrow")["kappa"].reason == ONE_CLUSTER
    assert row(table, group="broad")["kappa"].ci is not None


def test_intervals_over_few_questions_are_called_too_narrow():
    few = named(figures(of_cells(2, 1, 1, 2), PEOPLE, JUDGE, **QUICK), "agreement")
    many = named(figures(of_cells(6, 3, 3, 6), PEOPLE, JUDGE, **QUICK), "agreement")
    assert "6 questions, which are so few" in few.note and "too narrow" not in many.note


def test_perfect_agreement_has_no_interval_of_no_width():
    found = figures(of_cells(12, 0, 0, 9, type_=FACTUAL), PEOPLE, JUDGE, **QUICK)
    value = row(named(found, "agreement"), measure="AC1")["value"]
    assert (value.value, value.ci, value.reason) == (1.0, None, ALWAYS_THE_SAME)


def test_questions_are_drawn_whole_so_repeated_runs_do_not_narrow_the_interval():
    answers_ = [([FACTUAL], [FACTUAL])] * 12 + [(None, [FACTUAL])] * 5 + [(None, None)] * 7
    once = runs_of(answers_)
    again = [
        Run(**{**vars(run), "pk": run.pk + 1000 * k, "external_id": f"{k}"})
        for run in once
        for k in range(5)
    ]

    def width(runs):
        found = figures(runs, PEOPLE, JUDGE, resamples=1000)
        low, high = row(named(found, "agreement"), measure="kappa")["value"].ci
        return high - low

    assert width(again) == pytest.approx(width(once), rel=0.15)


def test_the_interval_of_independent_runs_is_close_to_the_large_sample_one():
    chance = random.Random(4)
    one = [chance.random() < 0.6 for _ in range(600)]
    other = [a if chance.random() < 0.8 else not a for a in one]
    words = {True: [FACTUAL], False: None}
    runs = runs_of([(words[a], words[b]) for a, b in zip(one, other, strict=True)])
    drawn = row(named(figures(runs, PEOPLE, JUDGE), "agreement"), measure="kappa")["value"].ci
    assert drawn == pytest.approx(cohen_kappa(one, other, categories=(False, True)).ci, abs=0.012)


def test_a_mean_over_questions_drawn_by_hand_is_the_same():
    keys, values = ["a", "a", "b", "c", "c", "c"], np.array([1.0, 0, 1, 0, 0, 1])
    parts = np.stack([values, np.ones(6)], axis=-1)[:, None, :]
    mean = {"mean": (lambda sums: sums[..., 0] / sums[..., 1], "none")}
    found = estimates(draws_of(keys, resamples=500, seed=7), parts, mean, [6])["mean"][0]
    drawn = np.random.default_rng(7).integers(0, 3, (500, 3))
    sums, sizes = np.array([1.0, 1, 1]), np.array([2.0, 1, 3])
    by_hand = np.quantile(sums[drawn].sum(1) / sizes[drawn].sum(1), [0.025, 0.975])
    assert found.value == 0.5 and found.ci == pytest.approx(tuple(by_hand))


# -- what is left out ----------------------------------------------------------------------------


def test_a_hallucination_of_no_said_type_counts_for_yes_or_no_and_not_for_types():
    runs = runs_of([([FACTUAL], [FACTUAL]), ([FACTUAL], []), (None, None), ([LOGICAL], [])])
    found = figures(runs, PEOPLE, JUDGE, **QUICK)
    assert named(found, "agreement").n == 4
    types = named(found, "types-agreement")
    assert types.n == 2 and types.note.startswith("Left out: 2 of 4 runs")
    assert row(types, type=FACTUAL)["tp"] == 1 and row(types, type=LOGICAL)["fn"] == 0


def test_a_judge_that_gives_no_types_has_no_table_of_types_and_it_says_so():
    found = figures(runs_of([([FACTUAL], []), (None, None), ([SCOPE], [])]), PEOPLE, JUDGE)
    for name in ("types-agreement", "type-sets", "types-missed", "types-crossed"):
        table = named(found, name)
        assert not table.rows and table.reason == f"no types are given by {JUDGE}"


def test_only_runs_that_both_have_labelled_are_compared():
    alone = [Run(90 + at, {PEOPLE: said(PEOPLE, None)}) for at in range(5)]
    found = figures([*of_cells(3, 1, 1, 2), *alone], PEOPLE, JUDGE, **QUICK)
    assert named(found, "table").n == 7


def test_a_rater_is_not_compared_with_itself():
    with pytest.raises(ValueError, match="cannot be compared with itself"):
        figures([], PEOPLE, PEOPLE)


def test_a_rater_named_twice_or_alone_is_refused():
    for raters in ([], [PEOPLE], [PEOPLE, PEOPLE]):
        with pytest.raises(ValueError, match="two or more different raters"):
            several_rater_figures([], raters)


def cells_in(found):
    return [cell for figure in found for line in figure.rows for cell in line.values()]


def test_a_table_of_pairs_says_on_how_few_runs_it_rests():
    runs = [Run(1, {name: said(name, None) for name in (PEOPLE, JUDGE, "third")})]
    runs += [pair(at, None, None) for at in range(2, 5)]
    few = named(several_rater_figures(runs, [PEOPLE, JUDGE, "third"], **QUICK), "rater-pairs")
    assert few.note == "Every two share 1 to 4 runs. A pair of so few runs says little."
    many = several_rater_figures(of_cells(20, 1, 1, 8), [PEOPLE, JUDGE], **QUICK)
    assert named(many, "rater-pairs").note == "Every two share 30 runs."


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_or_no_runs_give_reasons_and_never_nothing(n):
    runs = [
        Run(at, {name: said(name, [FACTUAL]) for name in (PEOPLE, JUDGE, "third")})
        for at in range(n)
    ]
    found = figures(runs, PEOPLE, JUDGE, pools={}, **QUICK)
    found += single_rater_figures(runs, PEOPLE, tasks={}, **QUICK)
    found += several_rater_figures(runs, [PEOPLE, JUDGE, "third"], **QUICK)
    assert all(figure.rows or figure.reason for figure in found)
    for cell in cells_in(found):
        if isinstance(cell, Estimate):
            assert cell.reason if cell.value is None else np.isfinite(cell.value)
    names = [figure.name for figure in found]
    assert len(set(names)) == len(names)


def test_every_cell_has_a_column_of_its_kind():
    runs = of_cells(6, 2, 3, 4, type_=FACTUAL, model="m")
    found = figures(runs, PEOPLE, JUDGE, pools={0: "a", 1: "b"}, **QUICK)
    found += single_rater_figures(runs, PEOPLE, tasks={}, **QUICK)
    kinds = {"text": str, "count": int, "estimate": Estimate | None}
    for figure in found:
        for column in figure.columns if figure.rows else ():
            for line in figure.rows:
                assert isinstance(line[column.key], kinds[column.kind]), (figure.name, column.key)
        if figure.drawn:
            keys = {column.key for column in figure.columns}
            assert {figure.drawn.x, figure.drawn.y} <= keys
            assert not figure.drawn.group or figure.drawn.group in keys


def test_a_rate_of_one_hundred_percent_is_doubted():
    chosen = named(single_rater_figures(of_cells(12, 0, 0, 0), PEOPLE, **QUICK), "rates")
    assert chosen.note == ALL_CHOSEN
    some = named(single_rater_figures(of_cells(12, 0, 0, 1), PEOPLE, **QUICK), "rates")
    few = named(single_rater_figures(of_cells(3, 0, 0, 0), PEOPLE, **QUICK), "rates")
    assert some.note == few.note == ""


def test_runs_without_models_are_counted_once():
    rates = named(single_rater_figures(of_cells(3, 0, 0, 2), PEOPLE, **QUICK), "rates")
    assert [(r["model"], r["runs"], r["hallucinated"]) for r in rates.rows] == [
        ("all models", 5, 3)
    ]


# -- one rater -----------------------------------------------------------------------------------


def test_types_of_one_run_are_counted_side_by_side():
    runs = runs_of([([FACTUAL, SCOPE], None)] * 3 + [([FACTUAL], None)] * 2 + [(None, None)])
    table = named(single_rater_figures(runs, PEOPLE, **QUICK), "types-together")
    assert row(table, one=FACTUAL, other=SCOPE)["runs"] == 3
    assert row(table, one=FACTUAL, other=FACTUAL)["runs"] == 5
    assert row(table, one=SCOPE, other=FACTUAL)["share"].value == 1.0
    assert row(table, one=LOGICAL, other=FACTUAL)["share"].value is None


def test_readings_of_scope_are_told_apart():
    labels = [
        LabelRecord(PEOPLE, True, types=[SCOPE], flags=[ROLE_BREACH]),
        LabelRecord(PEOPLE, True, types=[SCOPE]),
        LabelRecord(PEOPLE, True, types=[FACTUAL]),
    ]
    runs = [Run(at, {PEOPLE: label}) for at, label in enumerate(labels)]
    table = named(single_rater_figures(runs, PEOPLE, **QUICK), "scope-readings")
    assert {r["flag"]: r["runs"] for r in table.rows} == {
        "role breach": 1,
        "target change": 0,
        "not said": 1,
    }


def test_every_two_of_three_raters_are_compared():
    names = (PEOPLE, JUDGE, "third")
    said_yes = [[(at + k) % 3 > 0 for k in range(3)] for at in range(9)]
    runs = [
        Run(
            at, {n: said(n, [FACTUAL] if yes else None) for n, yes in zip(names, row_, strict=True)}
        )
        for at, row_ in enumerate(said_yes)
    ]
    found = several_rater_figures(runs, names, **QUICK)
    pairs = named(found, "rater-pairs")
    assert [(r["one"], r["other"]) for r in pairs.rows] == [
        (PEOPLE, JUDGE),
        (PEOPLE, "third"),
        (JUDGE, "third"),
    ]
    assert row(named(found, "raters"), asked="hallucination")["runs"] == 9


# -- cost ----------------------------------------------------------------------------------------


def random_study(n=225, questions=42, models=6):
    chance = random.Random(1)

    def label(name):
        if chance.random() < 0.3:
            return said(name, None)
        types = [t for t in TYPES if chance.random() < 0.35] or [FACTUAL]
        place = PlaceRecord(chance.randint(1, 8), "action")
        return said(name, types, [place])

    return [
        Run(
            at,
            {name: label(name) for name in (PEOPLE, JUDGE)},
            external_id=str(at),
            model=f"m{at % models}",
            question=f"q{at % questions}",
            n_steps=8,
            agents=("IoT", "TSFM") * 4,
        )
        for at in range(n)
    ]


def test_a_study_of_225_runs_takes_less_than_a_fifth_of_a_second_with_all_intervals():
    runs = random_study()
    pools = {run.pk: f"p{run.pk % 2}" for run in runs}
    spent = []
    for _ in range(3):
        start = time.process_time()
        found = figures(runs, PEOPLE, JUDGE, pools=pools)
        found += single_rater_figures(runs, PEOPLE) + single_rater_figures(runs, JUDGE)
        spent.append(time.process_time() - start)
    assert len(found) > 30
    assert min(spent) < 0.2


def test_draws_made_in_parts_are_as_many_and_say_nearly_the_same(monkeypatch):
    runs = random_study(120, 60)
    pairs = pairs_of(runs, PEOPLE, JUDGE)
    cells = cells_of(pairs.one.present, pairs.other.present)[:, None, :]
    whole = estimates(pairs.draws, cells, {"kappa": (kappa, "")}, [120])["kappa"][0]
    monkeypatch.setattr(label_intervals, "MOST_CELLS", 60 * 300)
    monkeypatch.setattr(label_intervals, "MOST_KEPT", 0)
    again = pairs_of(runs, PEOPLE, JUDGE).draws
    sums = again.resampled(again.cluster_sums(cells[:, 0, :]))
    parted = estimates(again, cells, {"kappa": (kappa, "")}, [120])["kappa"][0]
    assert sums.shape == (2000, 4) and not again.kept
    assert (parted.value, parted.ci) == (whole.value, pytest.approx(whole.ci, abs=0.03))


def test_labels_read_from_the_database_give_the_same_tables(db):
    corpus = Corpus.objects.create(slug="stations")
    made = [make_run(corpus, number, question=f"q{number % 3}") for number in range(1, 7)]
    labels = [said(PEOPLE, [FACTUAL] if at % 2 else None) for at in range(6)]
    labels += [said(JUDGE, [FACTUAL] if at % 3 else None, kind="judge") for at in range(6)]
    store_labels([(run.pk, label) for run, label in zip(made * 2, labels, strict=True)])
    read = labelled_runs(Trajectory.objects.filter(corpus=corpus))
    plain = [
        pair(
            run.pk,
            *([FACTUAL] if at % k else None for k in (2, 3)),
            external_id=run.external_id,
            corpus=corpus.slug,
            model=run.model,
            question=run.question,
            n_steps=3,
        )
        for at, run in enumerate(made)
    ]
    assert figures(read, PEOPLE, JUDGE, **QUICK) == figures(plain, PEOPLE, JUDGE, **QUICK)
    assert named(figures(read, PEOPLE, JUDGE), "table").n == 6
