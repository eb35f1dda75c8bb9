"""Numbers printed in the DialFork paper, reproduced: rebuilt rows go through the product's code.

Rows are rebuilt so that their sums are the paper's; what is checked is what the code makes of them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmark.corruption import fork_points
from benchmark.records import FORK_TYPES
from benchmark.splitting import train_half
from scoring.composition_tables import DialogueSize, by_condition, by_workflow
from scoring.detection_metrics import (
    WEIGHTS,
    detection,
    detection_score,
    first_turn,
    last_turn,
)
from scoring.fork_order import KS, ForkDistance, taus_by_type
from scoring.rankings import exact_recovery, order_taus
from scoring.set_orders import SetRow, summaries
from scoring.significance import paired_bootstrap_ci

WIC, SSPC, GR, CSC = FORK_TYPES


def parted(total: int, n: int) -> list[int]:
    """`n` whole numbers as equal as can be with this sum."""
    return [total // n + (i < total % n) for i in range(n)]


def sizes(workflow, condition, mean_turns, mean_words, n, split="", k=0):
    turns, words = parted(round(mean_turns * n), n), parted(round(mean_words * n), n)
    return [
        DialogueSize(workflow, "", condition, t, w, split, k)
        for t, w in zip(turns, words, strict=True)
    ]


# -- the corpus --------------------------------------------------------------------------------

LENGTHS = {
    "conformant": (15.52, 186.94),
    WIC: (20.02, 258.49),
    SSPC: (19.31, 187.47),
    GR: (24.79, 342.23),
    CSC: (20.58, 247.64),
}


def test_table_5_counts_shares_and_turns_of_the_whole_corpus():
    rows = []
    for condition, (turns, words) in LENGTHS.items():
        n = 2134 if condition == "conformant" else 4 * 2134
        rows += sizes("all", condition, turns, words, n)
    found = {row.condition: row for row in by_condition(rows)}
    assert found["conformant"].sizes.n == 2134
    assert {found[type_].sizes.n for type_ in FORK_TYPES} == {8536}
    assert found["forks"].sizes.n == 34144 and found["all"].sizes.n == 36278
    assert round(100 * found["conformant"].share, 2) == 5.88
    assert {round(100 * found[type_].share, 2) for type_ in FORK_TYPES} == {23.53}
    assert found["forks"].sizes.mean_turns == pytest.approx(21.175, abs=1e-4)
    assert found["all"].sizes.turns == pytest.approx(756_119, abs=3)
    for name, (turns, words) in LENGTHS.items():
        assert round(found[name].sizes.mean_turns, 2) == turns
        assert round(found[name].sizes.mean_words, 2) == words


# Workflow: conformant dialogues, their mean turns and words; forks, likewise; all; train and test.
TABLE_6 = {
    "apartment_schedule": (206, 18.65, 235.68, 3296, 22.36, 294.07, 3502, 22.15, 290.64, 103, 1751),
    "apartment_search": (30, 11.87, 271.57, 480, 17.07, 300.99, 510, 16.77, 299.26, 15, 255),
    "bank_balance": (46, 13.52, 125.39, 736, 18.78, 214.28, 782, 18.47, 209.05, 23, 391),
    "bank_fraud_report": (135, 13.73, 166.71, 2160, 19.90, 232.26, 2295, 19.54, 228.40, 67, 1156),
    "doctor_followup": (42, 9.38, 110.36, 672, 13.85, 173.54, 714, 13.59, 169.83, 21, 357),
}


@pytest.mark.parametrize("workflow", TABLE_6)
def test_table_6_totals_weighted_means_and_halves(workflow):
    n, turns, words, forks, fork_turns, fork_words, total, *expected = TABLE_6[workflow]
    train = train_half(0, map(str, range(n)))
    halves = ["train" if str(i) in train else "test" for i in range(n)]
    rows = [
        row._replace(split=half)
        for row, half in zip(sizes(workflow, "conformant", turns, words, n), halves, strict=True)
    ]
    forked = sizes(workflow, GR, fork_turns, fork_words, 16 * n)
    rows += [row._replace(split=halves[i // 16]) for i, row in enumerate(forked)]
    found = by_workflow(rows)[0]
    assert (found.conformant.n, found.forks.n, found.total.n) == (n, forks, total)
    assert found.total.mean_turns == pytest.approx(expected[0], abs=0.01)
    assert found.total.mean_words == pytest.approx(expected[1], abs=0.01)
    assert [found.train, found.test] == expected[2:]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (4, (1, 2, 3, 4)),
        (7, (1, 3, 5, 6)),
        (8, (1, 3, 5, 7)),
        (11, (1, 4, 7, 9)),
        (12, (1, 4, 7, 10)),
    ],
)
def test_fork_points_where_no_half_is_rounded(turns, expected):
    assert fork_points(turns) == fork_points(turns, "half_up") == expected


# -- task 1 ------------------------------------------------------------------------------------

# Cells of table 2 times 144 (24 workflows, tau in sixths), the printed cells, and the average.
TABLE_2 = {
    "fbd": ((140, 114, 142, 130), (0.972, 0.792, 0.986, 0.903), 0.913),
    "prd": ((134, 110, 142, 120), (0.931, 0.764, 0.986, 0.833), 0.878),
    "flow_kl": ((122, 130, 136, 120), (0.847, 0.903, 0.944, 0.833), 0.882),
    "word": ((32, 30, 84, -30), (0.222, 0.208, 0.583, -0.208), 0.201),
    "turn": ((-11, -49, 40, -30), (-0.076, -0.340, 0.278, -0.208), -0.087),
}
# Units per type that are not in exact order: what is left of 24 x 4 after the exact recoveries.
NOT_EXACT = {"fbd": (2, 12, 1, 7), "prd": (5, 12, 1, 12), "flow_kl": (10, 6, 4, 11)}
RECOVERED = {"fbd": (74, 77.1), "prd": (66, 68.8), "flow_kl": (65, 67.7)}
ORDERS = {}
for order in itertools.permutations([4.0, 3.0, 2.0, 1.0]):
    inversions = sum(a < b for a, b in itertools.combinations(order, 2))
    ORDERS.setdefault(inversions, order)


def units_of(cell, not_exact=None):
    """24 units whose taus sum to cell / 6; an odd cell needs a unit with two tied sets."""
    tied = cell % 2
    n = 24 - tied
    lost = (6 * n - (cell - tied)) // 2
    astray = n if not_exact is None else not_exact
    swaps = [0] * (n - astray) + parted(lost, astray)
    # Three pairs in order, two against it, one tied: tau-b is 1 / sqrt(30).
    return [ORDERS[count] for count in swaps] + [(3.0, 1.0, 2.0, 2.0)] * tied


def rows_of(method):
    cells, *_ = TABLE_2[method]
    not_exact = NOT_EXACT.get(method, (None,) * 4)
    for type_, cell, odd in zip(FORK_TYPES, cells, not_exact, strict=True):
        for workflow, unit in enumerate(units_of(cell, odd)):
            for k, value in zip(KS, unit, strict=True):
                yield SetRow(workflow, type_, k, value)


def figures(method):
    names = {}
    found = summaries(list(rows_of(method)), names, seed=0, resamples=50)
    return {(each.statistic, each.group): each.estimate for each in found}


@pytest.mark.parametrize("method", TABLE_2)
def test_table_2_cells_are_means_of_tau_over_24_workflows(method):
    cells, printed, average = TABLE_2[method]
    found = figures(method)
    for type_, cell, shown in zip(FORK_TYPES, cells, printed, strict=True):
        tau = found["tau", type_]
        assert tau.n == 24
        assert tau.value == pytest.approx(shown, abs=0.00051)
        if cell % 2 == 0:
            assert tau.value == pytest.approx(cell / 144, abs=1e-12)
    assert found["tau", "all"].value == pytest.approx(average, abs=0.0006)
    assert found["tau", "all"].n == 96


@pytest.mark.parametrize("method", RECOVERED)
def test_exact_recoveries_over_96_units(method):
    count, percent = RECOVERED[method]
    found = figures(method)["exact_recovery", "all"]
    assert found.n == 96
    assert found.value == pytest.approx(count / 96)
    assert round(100 * found.value, 1) == percent
    assert figures(method)["fisher_p", "all"].value < 0.001


def test_chance_recovers_one_order_of_24():
    every = list(itertools.permutations([1.0, 2.0, 3.0, 4.0]))
    assert round(100 * exact_recovery(every).value, 1) == 4.2
    assert order_taus(every).mean() == pytest.approx(0, abs=1e-12)


def test_the_difference_of_flow_kl_and_fbd_over_paired_units():
    taus = {}
    for method in ("flow_kl", "fbd"):
        rows = np.array([row.value for row in rows_of(method)]).reshape(-1, 4)
        taus[method] = order_taus(rows).tolist()
    found = paired_bootstrap_ci(taus["flow_kl"], taus["fbd"], resamples=200)
    assert found.n == 96
    assert found.value == pytest.approx(-9 / 288)
    assert round(found.value, 3) == -0.031


# -- task 2 ------------------------------------------------------------------------------------

TABLE_3 = {
    "turn": ((0.025, 0.251, 0.226, 0.002), 0.126),
    "word": ((0.220, 0.242, 0.390, 0.040), 0.223),
    "prefix": ((0.688, 0.668, 0.712, 0.662), 0.682),
    "LaBSE mean": ((0.816, 0.745, 0.895, 0.579), 0.759),
    "LaBSE full": ((0.755, 0.705, 0.813, 0.428), 0.675),
}


@pytest.mark.parametrize("method", TABLE_3)
def test_table_3_averages_are_plain_means_of_the_types(method):
    cells, average = TABLE_3[method]
    rows = []
    for type_, cell in zip(FORK_TYPES, cells, strict=True):
        n = 600
        swaps = parted(round(3 * n * (1 - cell)), n)
        rows += [
            ForkDistance(source, type_, k, value)
            for source, count in enumerate(swaps)
            for k, value in zip(KS, ORDERS[count], strict=True)
        ]
    found = taus_by_type(rows, seed=0, resamples=10)
    for type_, cell in zip(FORK_TYPES, cells, strict=True):
        assert found[type_].value == pytest.approx(cell, abs=0.0003)
    assert found["all"].value == pytest.approx(average, abs=0.00081)


def test_table_7_has_8536_pairs_one_per_source_and_type():
    rows = [
        ForkDistance(source, type_, k, -float(k))
        for source in range(2134)
        for type_ in FORK_TYPES
        for k in KS
    ]
    found = taus_by_type(rows, seed=0, resamples=2)
    assert found["all"].n == 8536
    assert {found[type_].n for type_ in FORK_TYPES} == {2134}


# -- task 3 ------------------------------------------------------------------------------------

# Method: error of CSC, GR, SSPC and WIC, their average, fork coverage, conformant error and
# coverage, Score. Tables 4 and 9.
TABLE_9 = {
    "random": ((6.31, 7.92, 5.74, 6.44), 6.60, 100, 7.50, 100, 0.94),
    "first turn": ((5.64, 5.64, 5.64, 5.64), 5.64, 100, 14.12, 100, 0.00),
    "last turn": ((12.01, 15.57, 10.26, 12.22), 12.52, 100, 1.00, 100, 0.00),
    "LaBSE SS": ((4.21, 1.56, 1.30, 1.68), 2.19, 93.24, 6.33, 12.02, 73.69),
    "LaBSE SS+NC": ((4.13, 1.61, 1.33, 1.71), 2.20, 93.56, 6.58, 15.47, 72.45),
    "LaBSE IT": ((4.13, 0.93, 1.25, 1.63), 1.98, 93.86, 6.52, 12.49, 73.60),
    "LaBSE IT+NC": ((3.94, 0.92, 1.29, 1.60), 1.94, 94.80, 6.55, 16.31, 73.23),
    "D2F SS": ((4.82, 1.99, 1.70, 2.42), 2.73, 90.92, 6.72, 10.81, 70.91),
}
WORST = {"most_fork_error": 12.52, "most_conformant_error": 14.12}


def score_of(method, weights=WEIGHTS):
    _, error, coverage, calm_error, false_alarms, _ = TABLE_9[method]
    return detection_score(
        fork_error=error,
        fork_coverage=coverage,
        conformant_error=calm_error,
        false_alarms=false_alarms,
        weights=weights,
        **WORST,
    )


@pytest.mark.parametrize("method", TABLE_9)
def test_the_score_of_every_complete_row_within_two_hundredths(method):
    assert score_of(method) == pytest.approx(TABLE_9[method][-1], abs=0.0201)


@pytest.mark.parametrize("coverage", [0.10, 0.15, 0.20, 0.25])
def test_the_best_row_stays_the_best_under_other_weights(coverage):
    weights = (0.5 - coverage, coverage) * 2
    scores = {method: score_of(method, weights) for method in TABLE_9}
    assert max(scores, key=scores.__getitem__) == "LaBSE SS"
    assert all(scores[name] < 40 for name in ("first turn", "last turn", "random"))


@pytest.mark.parametrize("method", TABLE_9)
def test_the_average_error_is_the_plain_mean_of_the_types(method):
    errors, average, *_ = TABLE_9[method]
    forks = [
        (type_, 40, 40 + each)
        for type_, error in zip((CSC, GR, SSPC, WIC), errors, strict=True)
        for each in parted(round(100 * error), 100)
    ]
    found = detection(forks, [])
    assert found.error_by_type == {
        type_: pytest.approx(error)
        for type_, error in zip((CSC, GR, SSPC, WIC), errors, strict=True)
    }
    assert found.fork_error == pytest.approx(average, abs=0.0051)


def test_first_and_last_turn_baselines_have_the_properties_of_the_printed_rows():
    forks = {"first": [], "last": []}
    spans, calm = [], {"first": [], "last": []}
    for turns in range(4, 17):
        said = list(range(1, 2 * turns, 2))
        for type_, more in zip(FORK_TYPES, (0, 2, 5, 3), strict=True):
            for point in fork_points(turns):
                whole = list(range(1, 2 * (turns + more), 2))
                truth = said[point - 1]
                forks["first"].append((type_, truth, first_turn(whole)))
                forks["last"].append((type_, truth, last_turn(whole)))
                spans.append(whole[-1] - whole[0])
        calm["first"].append((said[-1], first_turn(said)))
        calm["last"].append((said[-1], last_turn(said)))
    found = {name: detection(forks[name], calm[name]) for name in forks}
    assert len(set(found["first"].error_by_type.values())) == 1, "the fork point is the source's"
    assert found["first"].fork_error + found["last"].fork_error == pytest.approx(np.mean(spans))
    assert found["last"].conformant_error == 1.0
    assert {each.false_alarms for each in found.values()} == {100.0}
