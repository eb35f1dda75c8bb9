"""Printed figures on labels of agent runs, rebuilt: runs with the printed counts go through our
tables. Trajel's tables and texts; AgentProp-Bench's judge against its majority; Who&When's labels.
"""

from __future__ import annotations

import gzip
import json

import pytest

from annotation.label_onsets import figures as onset_figures
from annotation.label_tables import figures, single_rater_figures
from benchmark.formats import who_when as who_when_format
from benchmark.importing import import_records
from benchmark.label_records import (
    COMPONENTS,
    FACTUAL,
    LOGICAL,
    PROCEDURAL,
    PUBLISHED,
    REFERENTIAL,
    SCOPE,
    LabelRecord,
    PlaceRecord,
)
from benchmark.labelling import labelled_runs
from benchmark.models import Corpus
from tests.labelled import JUDGE, PEOPLE, Run, dealt, named, of_cells, pair, row, said

QUICK = {"resamples": 200}


def measure(found, word):
    return row(named(found, "agreement"), measure=word)["value"]


# -- Trajel: 225 runs of six models, 224 with both labels ----------------------------------------


@pytest.fixture(scope="module")
def trajel():
    """The published table; the last run has no judgement, so that 224 of 225 are compared."""
    runs = of_cells(141, 12, 36, 35, type_=FACTUAL)
    return [*runs, Run(225, {PEOPLE: said(PEOPLE, [FACTUAL])}, question="q225")]


def test_the_judge_of_trajel_in_all_its_printed_rates(trajel):
    found = figures(trajel, PEOPLE, JUDGE)
    table = named(found, "table")
    assert [r["runs"] for r in table.rows] == [141, 12, 36, 35] and table.n == 224
    printed = {
        "recall": 0.9216,
        "precision": 0.7966,
        "F1": 0.8545,
        "agreement": 0.7857,
        "kappa": 0.4558,
        f"rate of {PEOPLE}": 0.6830,
        f"rate of {JUDGE}": 0.7902,
        "specificity": 0.4930,
    }
    for word, value in printed.items():
        assert measure(found, word).value == pytest.approx(value, abs=5e-5), word
    assert measure(found, "AC1").value == pytest.approx(0.650, abs=5e-4)
    assert measure(found, "alpha").value == pytest.approx(0.449, abs=5e-4)
    assert (measure(found, "agreement").n, measure(found, "agreement").detail["k"]) == (224, 176)
    for word in (*printed, "AC1", "alpha"):
        low, high = measure(found, word).ci
        assert low < measure(found, word).value < high, word


def test_people_find_247_types_in_154_runs_of_which_75_show_several():
    counts = {PROCEDURAL: 95, FACTUAL: 65, SCOPE: 49, LOGICAL: 21, REFERENTIAL: 17}
    sets = dealt(counts, [1] * 79 + [2] * 57 + [3] * 18)
    runs = [pair(at, types, None) for at, types in enumerate([*sets, *[None] * 71])]
    found = single_rater_figures(runs, PEOPLE, **QUICK)
    types = named(found, "types")
    assert types.n == 247 and "247 types of 154 runs" in types.note
    printed = {PROCEDURAL: 38.5, FACTUAL: 26.3, SCOPE: 19.8, LOGICAL: 8.5, REFERENTIAL: 6.9}
    for name, percent in printed.items():
        line = row(types, type=name)
        assert line["runs"] == counts[name]
        assert 100 * line["of_types"].value == pytest.approx(percent, abs=0.05)
    several = row(named(found, "type-numbers"), types="2 or more")
    assert (several["runs"], several["share"].n) == (75, 154)
    assert 100 * several["share"].value == pytest.approx(48.7, abs=0.05)
    assert row(named(found, "rates"), model="all models")["hallucinated"] == 154


def test_82_of_141_sets_are_the_same_and_the_mean_overlap_is_three_quarters():
    halves = [([FACTUAL], [FACTUAL, SCOPE])] * 40
    thirds = [([FACTUAL], [FACTUAL, SCOPE, LOGICAL])] * 9
    quarter = [([FACTUAL, PROCEDURAL], [FACTUAL, SCOPE, LOGICAL])]
    apart = [([FACTUAL], [SCOPE])] * 9
    same = [([PROCEDURAL], [PROCEDURAL])] * 82
    lone = [([FACTUAL], None)] * 12 + [(None, [SCOPE])] * 36 + [(None, None)] * 35
    answers = [*same, *halves, *thirds, *quarter, *apart, *lone]
    runs = [pair(at, one, other) for at, (one, other) in enumerate(answers)]
    sets = named(figures(runs, PEOPLE, JUDGE, **QUICK), "type-sets")
    exact = row(sets, measure="the same set")["value"]
    assert (exact.detail["k"], exact.n) == (82, 141)
    assert exact.value == pytest.approx(0.582, abs=5e-4)
    overlap = row(sets, measure="mean overlap (Jaccard)")["value"]
    assert overlap.value == pytest.approx(0.746, abs=5e-4) and overlap.n == 141
    rest = row(sets, measure="mean overlap of sets that are not the same")["value"]
    assert rest.value == pytest.approx(0.393, abs=2e-3) and rest.n == 59


@pytest.mark.parametrize(
    ("name", "cells", "precision", "recall", "f1"),
    [
        (PROCEDURAL, (78, 17, 26, 103), 0.750, 0.821, 0.784),
        (LOGICAL, (4, 17, 6, 197), 0.40, 0.190, 0.258),
        (REFERENTIAL, (3, 14, 7, 200), 0.30, 0.176, 0.222),
    ],
)
def test_the_judge_type_by_type(name, cells, precision, recall, f1):
    line = row(
        named(figures(of_cells(*cells, type_=name), PEOPLE, JUDGE, **QUICK), "types-agreement"),
        type=name,
    )
    assert tuple(line[key] for key in ("tp", "fn", "fp", "tn")) == cells
    values = (line["precision"].value, line["recall"].value, line["f1"].value)
    assert values == pytest.approx((precision, recall, f1), abs=5e-4)


@pytest.mark.parametrize(("name", "both", "missed"), [(LOGICAL, 19, 15), (REFERENTIAL, 13, 10)])
def test_where_both_see_a_hallucination_four_of_five_hard_types_are_missed(name, both, missed):
    named_by_people = [([name], [FACTUAL])] * missed + [([name], [name])] * (both - missed)
    others = [([FACTUAL], [FACTUAL])] * (141 - both)
    alone = [([name], None)] * 2
    answers = [*named_by_people, *others, *alone]
    runs = [pair(at, one, other) for at, (one, other) in enumerate(answers)]
    table = named(figures(runs, PEOPLE, JUDGE, **QUICK), "types-missed")
    share = row(table, type=name, by=PEOPLE)["missed"]
    assert (table.n, share.n, share.detail["k"]) == (141, both, missed)
    assert round(100 * share.value) == {LOGICAL: 79, REFERENTIAL: 77}[name]


def test_models_differ_in_how_often_and_in_what():
    six = [pair(at, [SCOPE] if at < 2 else [FACTUAL], None, model="Model_6") for at in range(22)]
    six += [pair(100 + at, None, None, model="Model_6") for at in range(20)]
    seventeen = of_cells(31, 3, 4, 4, start=200, type_=REFERENTIAL, model="Model_17")
    nineteen = of_cells(26, 1, 11, 4, start=300, type_=SCOPE, model="Model_19")
    runs = [*six, *seventeen, *nineteen]
    rates = named(single_rater_figures(runs, PEOPLE, **QUICK), "rates")
    for model, k, percent in (("Model_6", 22, 52.4), ("Model_17", 34, 81.0)):
        line = row(rates, model=model)
        assert (line["hallucinated"], line["runs"]) == (k, 42)
        assert 100 * line["rate"].value == pytest.approx(percent, abs=0.05)
    assert row(rates, model="Model_19")["hallucinated"] == 27
    types = named(single_rater_figures(runs, PEOPLE, **QUICK), "model-types")
    assert row(types, model="Model_6", type=SCOPE)["runs"] == 2
    of_models = named(figures(runs, PEOPLE, JUDGE, **QUICK), "agreement-models")
    assert row(of_models, group="Model_17")["f1"].value == pytest.approx(0.899, abs=5e-4)
    line = row(of_models, group="Model_19")
    assert line["precision"].value == pytest.approx(0.703, abs=5e-4)
    assert line["f1"].value == pytest.approx(0.812, abs=5e-4)


def test_seven_referential_runs_of_one_model_and_eighteen_of_scope_of_another():
    runs = [pair(at, [REFERENTIAL], None, model="Model_17") for at in range(7)]
    runs += [pair(50 + at, [FACTUAL], None, model="Model_17") for at in range(27)]
    runs += [pair(100 + at, [SCOPE, FACTUAL], None, model="Model_19") for at in range(18)]
    runs += [pair(150 + at, [PROCEDURAL], None, model="Model_19") for at in range(9)]
    types = named(single_rater_figures(runs, PEOPLE, **QUICK), "model-types")
    assert row(types, model="Model_17", type=REFERENTIAL)["runs"] == 7
    assert row(types, model="Model_19", type=SCOPE)["runs"] == 18


def placed_run(pk, types, places, steps=8):
    label = said(PEOPLE, types, places)
    return Run(pk, {PEOPLE: label}, question=f"q{pk}", n_steps=steps, agents=("IoT",) * steps)


def test_179_places_lie_mostly_in_actions_and_responses():
    totals = {"action": 70, "response": 58, "thought": 40, "observation": 11}
    names = [name for name, count in totals.items() for _ in range(count)]
    runs = [placed_run(at, [FACTUAL], [PlaceRecord(2, name)]) for at, name in enumerate(names)]
    table = named(single_rater_figures(runs, PEOPLE, **QUICK), "components")
    assert table.n == 179
    assert {r["component"]: r["places"] for r in table.rows} == totals
    assert row(table, component="action")["share"].value == pytest.approx(70 / 179)


@pytest.mark.parametrize(
    ("name", "part", "inside", "of", "percent"),
    [
        (FACTUAL, "response", 25, 62, 40.3),
        (PROCEDURAL, "action", 38, 80, 47.5),
        (REFERENTIAL, "thought", 11, 25, 44.0),
    ],
)
def test_each_type_has_its_part_of_a_step(name, part, inside, of, percent):
    elsewhere = [each for each in COMPONENTS if each != part]
    parts = [part] * inside + [elsewhere[at % 3] for at in range(of - inside)]
    runs = [placed_run(at, [name], [PlaceRecord(1, each)]) for at, each in enumerate(parts)]
    table = named(single_rater_figures(runs, PEOPLE, **QUICK), "type-components")
    line = row(table, type=name, component=part)
    assert (line["places"], line["share"].n) == (inside, of)
    assert 100 * line["share"].value == pytest.approx(percent, abs=0.05)
    assert {r["places"] for r in table.rows if r["type"] != name} == {0}


def test_places_peak_in_the_third_task_and_fall_from_the_sixth_to_the_eighth():
    counts = {1: 20, 2: 31, 3: 63, 4: 28, 5: 17, 6: 10, 7: 7, 8: 3}
    steps = [step for step, count in counts.items() for _ in range(count)]
    runs = [placed_run(at, [FACTUAL], [PlaceRecord(s, "action")]) for at, s in enumerate(steps)]
    tasks = {run.pk: range(1, 9) for run in runs}
    table = named(single_rater_figures(runs, PEOPLE, tasks=tasks, **QUICK), "tasks")
    places = {int(r["task"]): r["places"] for r in table.rows}
    assert places == counts and table.n == 179
    assert max(places, key=places.get) == 3 and places[6] > places[7] > places[8]


def test_the_two_pools_agree_in_96_of_148_and_46_of_77():
    first = of_cells(80, 20, 32, 16, type_=FACTUAL)
    second = of_cells(36, 11, 20, 10, start=500, type_=FACTUAL)
    pools = {run.pk: "first" for run in first} | {run.pk: "second" for run in second}
    table = named(
        figures([*first, *second], PEOPLE, JUDGE, pools=pools, **QUICK), "agreement-pools"
    )
    for pool, k, n, percent in (("first", 96, 148, 64.9), ("second", 46, 77, 59.7)):
        share = row(table, group=pool)["agreement"]
        assert (share.detail["k"], share.n) == (k, n)
        assert 100 * share.value == pytest.approx(percent, abs=0.05)
    assert table.n == 225


# -- AgentProp-Bench -----------------------------------------------------------------------------


def test_the_heuristic_judge_of_agentprop_agrees_in_half_and_hardly_beyond_chance():
    found = figures(of_cells(41, 82, 9, 60), PEOPLE, JUDGE, **QUICK)
    assert measure(found, "agreement").value == pytest.approx(0.5260, abs=5e-5)
    assert measure(found, "agreement").n == 192
    assert measure(found, "kappa").value == pytest.approx(0.1647, abs=5e-5)
    assert "no types are given" in named(found, "types-agreement").reason


# -- Who&When: 158 published logs ----------------------------------------------------------------

ARCHIVES = ("algorithm-generated", "hand-crafted")


@pytest.fixture(scope="module")
def logs(shared):
    """The logs as published, by archive: plain dictionaries."""
    folder = shared / "data" / "who_when"
    found = {}
    for name in ARCHIVES:
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            found[name] = [json.loads(line) for line in lines]
    return found


def speakers(log):
    return [turn.get("name") or turn["role"] for turn in log["history"]]


@pytest.fixture(scope="module")
def who_when(logs):
    runs = []
    for archive, each in logs.items():
        for log in each:
            place = PlaceRecord(int(log["mistake_step"]) + 1)
            label = LabelRecord(
                PUBLISHED, True, places=[place], meta={"mistake_agent": log["mistake_agent"]}
            )
            agents = tuple(speakers(log))
            runs.append(
                Run(
                    len(runs),
                    {PUBLISHED: label},
                    external_id=f"{archive}/{log['file']}",
                    corpus=archive,
                    question=log["question_ID"],
                    n_steps=len(agents),
                    agents=agents,
                )
            )
    return runs


def by_hand(logs):
    """Accuracies counted log by log without our code; "Orchestrator (thought)" is Orchestrator."""
    sums = {}

    def add(key, value):
        sums.setdefault(key, []).append(value)

    for log in logs:
        names = [name.split(" (")[0] for name in speakers(log)]
        step, agent = int(log["mistake_step"]), log["mistake_agent"]
        last, different = len(names) - 1, sorted(set(names))
        add(("first", "within_0"), step == 0)
        add(("last", "within_0"), step == last)
        add(("first", "agent"), names[0] == agent)
        add(("last", "agent"), names[last] == agent)
        add(("random agent", "agent"), (agent in different) / len(different))
        guesses = [(name == agent, abs(at - step)) for at, name in enumerate(names)]
        add(("random step", "agent"), sum(right for right, _ in guesses) / len(names))
        for within in (0, 1, 3, 5):
            near = sum(away <= within for _, away in guesses) / len(names)
            add(("random step", f"within_{within}"), near)
        add(("random step", "distance"), sum(away for _, away in guesses) / len(names))
    return {key: sum(values) / len(values) for key, values in sums.items()}


def check_by_hand(logs, found):
    whole, groups = named(found, "onsets"), named(found, "onsets-groups")
    assert (whole.n, {r["runs"] for r in whole.rows}) == (158, {158})
    for (predictor, key), value in by_hand(logs[ARCHIVES[0]] + logs[ARCHIVES[1]]).items():
        assert row(whole, predictor=predictor)[key].value == pytest.approx(value, abs=1e-12)
    for archive, n in zip(ARCHIVES, (108, 50), strict=True):
        for (predictor, key), value in by_hand(logs[archive]).items():
            line = row(groups, group=archive, predictor=predictor)
            assert line["runs"] == n
            assert line[key].value == pytest.approx(value, abs=1e-12)


def test_baselines_on_who_and_when_are_those_counted_by_hand(logs, who_when):
    check_by_hand(logs, onset_figures(who_when, PUBLISHED, **QUICK))


def test_a_rater_that_repeats_the_published_label_is_right_everywhere(who_when):
    runs = [
        Run(**{**vars(run), "labels": run.labels | {"echo": run.labels[PUBLISHED]}})
        for run in who_when
    ]
    line = row(named(onset_figures(runs, PUBLISHED, ["echo"], **QUICK), "onsets"), predictor="echo")
    assert line["within_0"].value == line["agent"].value == 1.0
    assert line["unanswered"].value == line["distance"].value == 0.0


@pytest.fixture
def imported(db, shared):
    """The same logs, imported and read back from the database."""
    corpus = Corpus.objects.create(slug="who-when")
    for name in ARCHIVES:
        path = shared / "data" / "who_when" / f"{name}.jsonl.gz"
        report = import_records(corpus, "who_when", who_when_format.read(path))
        assert not report.rejected
    return labelled_runs(corpus.trajectories.all())


def test_imported_logs_have_the_baselines_counted_by_hand(logs, imported):
    archive = {run.pk: run.external_id.split("/")[0] for run in imported}
    found = onset_figures(imported, PUBLISHED, groups=archive, **QUICK)
    check_by_hand(logs, found)
