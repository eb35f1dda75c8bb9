"""Intervals over people: all figures at once are those of a plain loop over drawn people."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement import cohen_kappa, gwet_ac, krippendorff_alpha, ratings_of, raw_agreement
from annotation.design import POSITIONS, TYPES
from annotation.fork_summary import as_json, summarise
from annotation.group_orders import group_orders
from annotation.judgement_rows import Judgement
from annotation.long_ratings import long_ratings
from annotation.pair_agreement import CONFIRMATIONS, PREFIXES
from annotation.people_resampling import person_weights, resampled_agreement
from annotation.report_resampling import report_intervals
from annotation.study_statistics import (
    confirmation_rate,
    onset_agreement,
    prefix_rate,
    superiority_within_groups,
    tau_b_within_groups,
)
from scoring.rankings import kendall_tau_b

PEOPLE = [f"p{i}" for i in range(6)]


def study(seed: int = 0) -> list[Judgement]:
    """Six people, forks of four types, many shared items, some questions left open."""
    rng = random.Random(seed)
    rows = []
    for person in PEOPLE:
        for item in range(24):
            if rng.random() < 0.4:
                continue
            k = item % 4 + 1 if item < 20 else 0
            confirmed = rng.choice(CONFIRMATIONS)
            rows.append(
                Judgement(
                    person,
                    f"i{item}",
                    f"w{item // 8}",
                    is_foil=item % 3 == 0 or not k,
                    type=TYPES[item // 4 % 4] if k else "",
                    k=k,
                    fork=2 * k - 1 if k else 0,
                    rating=min(100, 20 * k + rng.randrange(0, 60, 10)),
                    confirmed=confirmed if rng.random() < 0.9 else None,
                    onset=rng.randint(1, 8) if confirmed != "no" else None,
                    prefix=rng.choice(PREFIXES) if k > 1 else None,
                )
            )
    return rows


def plain(rows: list[Judgement]) -> dict[str, float | None]:
    """Figures of the report by the functions for one set of rows."""
    forks = [j for j in rows if j.type]
    true = [j for j in forks if not j.is_foil]
    tasks = [(f"{j.person}|{j.workflow}", j.k, j.rating) for j in forks]
    found = {
        "rq1.tau": tau_b_within_groups(tasks).value,
        "rq1.superiority": superiority_within_groups(tasks).value,
        "rq1.conformant": mean(j.rating for j in rows if not j.type),
        "rq2.true": confirmation_rate(j.confirmed for j in true).value,
        "rq2.foil_on_fork": confirmation_rate(j.confirmed for j in forks if j.is_foil).value,
        "rq4.all": prefix_rate(j.prefix for j in forks if j.fork > 1).value,
    }
    for type_ in TYPES:
        mine = [j for j in forks if j.type == type_]
        by_person = [(j.person, j.k, j.rating) for j in mine]
        found[f"rq1.tau_by_type.{type_}"] = tau_b_within_groups(by_person).value
        for k in POSITIONS:
            path = f"rq1.mean_by_type.{type_}.{k}"
            found[path] = mean(j.rating for j in mine if j.k == k)
    marked = [j for j in true if j.onset is not None]
    onsets = onset_agreement([j.onset for j in marked], [j.fork for j in marked])
    for name in ("exact", "within_1", "at_or_after"):
        found[f"rq3.all.{name}"] = onsets.detail[name]
    return found


def mean(values) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def drawn_rows(rows: list[Judgement], seed: int, resamples: int):
    """The rows of each resample; a person drawn twice becomes two people."""
    by_person = defaultdict(list)
    for row in rows:
        by_person[row.person].append(row)
    names = sorted(by_person)
    rng = np.random.default_rng(seed)
    for _ in range(resamples):
        draw = rng.integers(0, len(names), len(names))
        yield [
            replace(row, person=f"{names[who]}#{copy}")
            for copy, who in enumerate(draw)
            for row in by_person[names[who]]
        ]


def test_all_figures_of_all_resamples_are_those_of_a_plain_loop_over_people():
    rows, resamples = study(), 25
    found = report_intervals(rows, resamples=resamples, seed=3)
    loop = [plain(sample) for sample in drawn_rows(rows, 3, resamples)]
    points = plain(rows)
    assert len(points) > 25
    for path, value in points.items():
        values = np.array([each[path] for each in loop if each[path] is not None])
        assert found[path].value == pytest.approx(value, abs=1e-12), path
        assert found[path].detail["resamples_undefined"] == resamples - len(values), path
        expected = tuple(np.quantile(values, [0.025, 0.975]))
        assert found[path].ci == pytest.approx(expected, abs=1e-12), path


def pairs_of(sample, answer):
    """Every two answers of an item by different people, with what each weighs in alpha and raw."""
    by_item = defaultdict(list)
    for row in sample:
        if answer(row) is not None:
            by_item[row.item].append((row.person, answer(row)))
    return by_item


def plain_agreement(whole, sample, answer, level):
    """Alpha and raw agreement of drawn people, pair by pair; nobody is paired with themselves."""
    sizes = {item: len(rows) for item, rows in pairs_of(whole, answer).items()}
    coincidences: Counter = Counter()
    agreeing = all_pairs = 0.0
    for item, rows in pairs_of(sample, answer).items():
        for (one, a), (other, b) in itertools.combinations(rows, 2):
            if one.split("#")[0] == other.split("#")[0]:
                continue
            m = sizes[item]
            coincidences[a, b] += 1 / (m - 1)
            coincidences[b, a] += 1 / (m - 1)
            agreeing += (a == b) / (m * (m - 1))
            all_pairs += 1 / (m * (m - 1))
    if not coincidences:
        return None, None
    totals: Counter = Counter()
    for (a, _), mass in coincidences.items():
        totals[a] += mass
    n = sum(totals.values())
    away = (lambda a, b: a != b) if level == "nominal" else (lambda a, b: (a - b) ** 2)
    seen = sum(mass * away(a, b) for (a, b), mass in coincidences.items())
    chance = sum(totals[a] * totals[b] * away(a, b) for a in totals for b in totals) / (n - 1)
    return (1 - seen / chance if chance else None), agreeing / all_pairs


@pytest.mark.parametrize(
    ("question", "answer", "level"),
    [
        ("rating", lambda j: j.rating, "interval"),
        ("onset", lambda j: j.onset, "interval"),
        ("confirmation", lambda j: j.confirmed, "nominal"),
    ],
)
def test_agreement_of_drawn_people_is_counted_pair_by_pair_as_a_loop_does(question, answer, level):
    rows, resamples = study(1), 20
    found = report_intervals(rows, resamples=resamples, seed=5)
    loop = [
        plain_agreement(rows, sample, answer, level) for sample in drawn_rows(rows, 5, resamples)
    ]
    for at, name in enumerate(("alpha", "raw")):
        values = [each[at] for each in loop if each[at] is not None]
        expected = tuple(np.quantile(values, [0.025, 0.975]))
        assert found[f"agreement.{question}.{name}"].ci == pytest.approx(expected, abs=1e-12)


def test_with_everybody_drawn_once_agreement_is_that_of_the_published_formulas():
    rows = study(2)
    records = [(j.person, j.item, j.confirmed) for j in rows if j.confirmed]
    table = ratings_of(records)
    once = np.ones((1, len(PEOPLE)))
    found = resampled_agreement(long_ratings(records, CONFIRMATIONS), once)
    assert found["alpha"][0] == pytest.approx(
        krippendorff_alpha(table, categories=CONFIRMATIONS).value
    )
    assert found["ac1"][0] == pytest.approx(gwet_ac(table, categories=CONFIRMATIONS).value)
    assert found["raw"][0] == pytest.approx(raw_agreement(table).value)
    numbers = [(j.person, j.item, j.rating) for j in rows]
    for level in ("ordinal", "interval"):
        alpha = krippendorff_alpha(ratings_of(numbers), level=level).value
        again = resampled_agreement(long_ratings(numbers), once, level=level)["alpha"][0]
        assert again == pytest.approx(alpha)
    kappas = []
    for one, other in itertools.combinations(table, 2):
        kappa = cohen_kappa(one, other, categories=CONFIRMATIONS)
        if kappa.value is not None:
            kappas.append((kappa.n, kappa.value))
    weighted = sum(n * k for n, k in kappas) / sum(n for n, _ in kappas)
    assert found["kappa"][0] == pytest.approx(weighted)


def test_every_figure_of_the_report_has_an_interval_over_people_at_its_own_path():
    rows = study(4)
    summary = as_json(summarise(rows, seed=1))
    found = report_intervals(rows, seed=1, resamples=50)
    for path, estimate in found.items():
        value = summary
        *steps, last = path.split(".")
        for step in steps:
            value = value[step]
        if last == "mean_offset":
            continue
        value = value[last]
        value = value["value"] if isinstance(value, dict) else value
        if value is None:
            assert estimate.value is None and estimate.reason, path
        else:
            assert estimate.value == pytest.approx(value), path
            assert estimate.ci is None or estimate.ci[0] <= estimate.ci[1]
    wanted = {"rq1.tau", "rq1.superiority", "rq3.all.exact", "agreement.rating.alpha"}
    wanted |= {"agreement.prefix.ac1", "agreement.confirmation.kappa", "rq2.true_by_type.CSC"}
    assert wanted <= {path for path, estimate in found.items() if estimate.ci}


def test_one_person_has_figures_and_no_interval():
    rows = [row for row in study() if row.person == "p0"]
    found = report_intervals(rows, resamples=10)
    assert found["rq1.conformant"].value is not None
    assert found["rq1.conformant"].ci is None
    assert found["rq1.conformant"].reason == "fewer_than_two_clusters"
    assert found["agreement.rating.alpha"].value is None


def test_nobody_has_nothing():
    assert report_intervals([]) == {}


def test_an_answer_that_is_none_of_the_options_is_refused():
    with pytest.raises(ValueError, match="'maybe' is not an answer; yes, partly, no are"):
        report_intervals([replace(study()[0], confirmed="maybe")])


def test_draws_repeat_by_seed_and_each_draws_as_many_people_as_there_are():
    found = person_weights(7, resamples=40, seed=2)
    assert (found == person_weights(7, resamples=40, seed=2)).all()
    assert (found.sum(axis=1) == 7).all()
    assert (found != person_weights(7, resamples=40, seed=3)).any()


columns = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 4), st.integers(0, 5)), min_size=1, max_size=20
)


@given(columns, st.sampled_from([0, 300]))
def test_orders_within_groups_are_kendalls_pair_by_pair_and_by_sorting(rows, large):
    groups, x, y = (np.array(column) for column in zip(*rows, strict=True))
    kept, groups = np.unique(groups, return_inverse=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("annotation.group_orders.LARGE_GROUP", large)
        found = group_orders(groups, x.astype(float), y.astype(float))
    for group in range(len(kept)):
        mine = groups == group
        tau = kendall_tau_b(x[mine].tolist(), y[mine].tolist()).value
        if tau is None:
            assert np.isnan(found.taus[group])
        else:
            assert found.taus[group] == pytest.approx(tau)
        pairs = list(itertools.combinations(zip(x[mine], y[mine], strict=True), 2))
        wins = [((b - d) * (a - c) > 0) + (b == d) / 2 for (a, b), (c, d) in pairs if a != c]
        assert found.pairs[group] == len(wins)
        assert found.wins[group] == pytest.approx(sum(wins))
