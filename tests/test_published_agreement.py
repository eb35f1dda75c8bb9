"""Printed figures on people's judgements, rebuilt: rows with the printed sums go through our code.

DialFork's human study, Trajel's labels and judge, AgentProp's judge against its majority.
"""

from __future__ import annotations

from collections import Counter

import pytest

from annotation.agreement import cohen_kappa_of_table, gwet_ac_of_table, raw_agreement, wilson
from annotation.agreement_tables import panel
from annotation.benchmarks.synthetic import judgements
from annotation.label_agreement import label_set_agreement, per_label, precision_recall_f1
from annotation.long_ratings import long_ratings
from annotation.study_statistics import (
    confirmation_rate,
    mean_rating_by_position,
    onset_agreement,
    prefix_rate,
)
from scoring.rankings import roc_auc

# -- DialFork: 30 people, 428 dialogues, 526 judgements ------------------------------------------


def test_526_judgements_of_428_dialogues_leave_98_to_agree_on():
    rows = judgements(people=30, items=428, total=526)
    found = panel(long_ratings((j.person, j.item, j.rating) for j in rows))
    assert (found.units, found.pairs) == (526 - 428, 98)
    assert len(rows) / len({j.person for j in rows}) == pytest.approx(17.5, abs=0.05)


def answers_with_share(percent, positive, n=100):
    """`n` answers of which the first `percent` are positive, half of them the weaker word."""
    return [positive[i % 2] if i < percent else "no" for i in range(n)]


@pytest.mark.parametrize("percent", [91, 87, 96, 8, 45])
def test_yes_and_partly_both_confirm(percent):
    found = confirmation_rate(answers_with_share(percent, ("yes", "partly")))
    assert found.value == percent / 100
    assert found.ci == wilson(percent, 100).ci


def test_95_percent_followed_or_mostly_did():
    assert prefix_rate(answers_with_share(95, ("yes", "mostly"))).value == 0.95


def test_two_thirds_of_the_onsets_are_exact_and_ten_more_in_a_hundred_one_turn_away():
    offsets = [0] * 67 + [1] * 8 + [-1] * 2 + [3] * 21 + [-2] * 2
    found = onset_agreement([5 + away for away in offsets], [5] * 100)
    assert (found.detail["exact"], found.value, found.detail["at_or_after"]) == (0.67, 0.77, 0.96)
    assert found.detail["before"] == pytest.approx(0.04)
    for name in ("exact", "within_1", "at_or_after"):
        low, high = found.detail[f"{name}_ci"]
        assert low < found.detail[name] < high


def test_mean_ratings_by_position_and_of_conformant_dialogues_are_plain_means():
    printed = {1: 14, 2: 19, 3: 41, 4: 58, "conformant": 94}
    rows = [
        (f"p{who}", position, mean + away)
        for position, mean in printed.items()
        for who, away in enumerate((-6, -3, 0, 3, 6))
    ]
    found = mean_rating_by_position(rows, resamples=200)
    assert {position: each.value for position, each in found.items()} == printed
    assert all(each.ci[0] < each.value < each.ci[1] for each in found.values())


def test_the_printed_raw_agreement_and_ac1_of_the_prefix_belong_together():
    """Raw .87 beside AC1 .85 asks for one dominant answer; alpha and kappa then fall far below."""
    table, options = [[80, 5, 3], [4, 7, 0], [1, 0, 0]], ("yes", "mostly", "no")
    ac1 = gwet_ac_of_table(table, categories=options)
    assert round(ac1.detail["pa"], 2) == 0.87
    assert round(ac1.value, 2) == 0.85
    assert cohen_kappa_of_table(table, categories=options).value < 0.5


# -- Trajel: 224 trajectories judged by people and by a judge ------------------------------------

BOTH, PEOPLE_ONLY, JUDGE_ONLY, NEITHER = 141, 12, 36, 35


def test_the_judge_of_trajel_in_all_its_rates():
    found = precision_recall_f1(tp=BOTH, fp=JUDGE_ONLY, fn=PEOPLE_ONLY, tn=NEITHER)
    assert found.n == 224
    assert round(100 * found.detail["recall"], 1) == 92.2
    assert round(100 * found.detail["precision"], 1) == 79.7
    assert round(found.value, 3) == 0.855
    assert round(found.detail["accuracy"], 4) == 0.7857
    assert round(100 * wilson(BOTH + PEOPLE_ONLY, 224).value, 1) == 68.3
    assert round(100 * wilson(BOTH + JUDGE_ONLY, 224).value, 1) == 79.0
    assert round(wilson(NEITHER, NEITHER + JUDGE_ONLY).value, 3) == 0.493


def test_the_kappa_of_trajels_judge():
    table = [[BOTH, PEOPLE_ONLY], [JUDGE_ONLY, NEITHER]]
    found = cohen_kappa_of_table(table, categories=("present", "absent"))
    assert round(found.value, 3) == 0.456
    assert found.n == 224
    assert found.ci[0] < 0.456 < found.ci[1]


def test_trajels_247_labels_by_type():
    counts = {"procedural": 95, "factual": 65, "scope": 49, "logical": 21, "referential": 17}
    printed = [38.5, 26.3, 19.8, 8.5, 6.9]
    labels = [label for label, n in counts.items() for _ in range(n)]
    found = panel(
        long_ratings(
            [(who, unit, label) for unit, label in enumerate(labels) for who in "AB"],
            tuple(counts),
        )
    )
    assert found.units == 247
    assert [round(100 * share, 1) for share in found.prevalence.values()] == printed


PER_TYPE = {
    "procedural": (78, 26, 17, 0.750, 0.821, 0.784),
    "logical": (4, 6, 17, 0.40, 0.190, 0.258),
    "referential": (3, 7, 14, 0.30, 0.176, 0.222),
}


def test_the_judge_of_trajel_type_by_type():
    truth, guess = [], []
    for label, (tp, fp, fn, *_) in PER_TYPE.items():
        truth += [[label]] * tp + [[]] * fp + [[label]] * fn
        guess += [[label]] * tp + [[label]] * fp + [[]] * fn
    found = per_label(truth, guess, list(PER_TYPE))
    for label, (*_, precision, recall, f1) in PER_TYPE.items():
        assert found[label].detail["precision"] == pytest.approx(precision, abs=5e-4), label
        assert found[label].detail["recall"] == pytest.approx(recall, abs=6e-4), label
        assert found[label].value == pytest.approx(f1, abs=5e-4), label


def test_two_figures_that_trajels_text_calls_f1_are_recalls():
    assert round(precision_recall_f1(3, 7, 14).detail["recall"], 3) == 0.176
    assert round(precision_recall_f1(4, 6, 15).detail["recall"], 3) == 0.211
    assert round(1 - precision_recall_f1(4, 0, 15).detail["recall"], 2) == 0.79
    assert round(1 - precision_recall_f1(3, 0, 10).detail["recall"], 2) == 0.77


def test_58_percent_of_trajels_sets_of_types_are_the_same():
    same = [["factual", "scope"]] * 82
    truth, guess = [*same, *[["factual"]] * 59], [*same, *[["scope", "factual"]] * 59]
    found = label_set_agreement(truth, guess, ["factual", "scope"])
    assert found.n == BOTH
    assert round(100 * found.detail["exact_match"], 1) == 58.2
    assert round(100 * wilson(75, 154).value, 1) == 48.7


@pytest.mark.parametrize(
    ("tp", "fp", "fn", "precision", "f1"),
    [(31, 4, 3, None, 0.899), (26, 11, 1, 0.703, 0.812)],
)
def test_two_models_of_trajel(tp, fp, fn, precision, f1):
    found = precision_recall_f1(tp, fp, fn)
    assert round(found.value, 3) == f1
    if precision:
        assert round(found.detail["precision"], 3) == precision


@pytest.mark.parametrize(("k", "n", "printed"), [(22, 42, 52.4), (34, 42, 81.0)])
def test_rates_of_two_models_of_trajel(k, n, printed):
    assert round(100 * wilson(k, n).value, 1) == printed


@pytest.mark.parametrize(("same", "n", "printed"), [(96, 148, 64.9), (46, 77, 59.7)])
def test_trajels_pools_of_readers_agree(same, n, printed):
    rows = [["x"] * n, ["x"] * same + ["y"] * (n - same)]
    found = raw_agreement(rows, resamples=100)
    assert (found.n, found.detail["pairs"]) == (n, n)
    assert round(100 * found.value, 1) == printed
    assert found.ci[0] < found.value < found.ci[1]


@pytest.mark.parametrize(("absent", "auc"), [((148, 157), 0.9074), ((149, 158), 0.9075)])
def test_a_judges_clarity_signal_tells_trajels_labels_apart(absent, auc):
    """Absent: 94.3 % have a label; present: 5 of 55."""
    yes, n = absent
    truth = [1] * yes + [0] * (n - yes) + [1] * 5 + [0] * 50
    signal = [1] * n + [0] * 55
    assert roc_auc(truth, signal).value == pytest.approx(auc, abs=5e-5)
    assert round(100 * wilson(yes, n).value, 1) == 94.3
    assert round(100 * wilson(5, 55).value, 1) == 9.1


# -- AgentProp ---------------------------------------------------------------------------------


def test_agentprops_judge_against_its_majority():
    found = cohen_kappa_of_table([[41, 82], [9, 60]], categories=("yes", "no"))
    assert (found.n, round(found.detail["pa"], 4), round(found.value, 4)) == (192, 0.526, 0.1647)


def test_agreement_on_made_studies_counts_each_shared_item_once():
    rows = judgements()
    found = panel(
        long_ratings(
            ((j.person, j.item, j.prefix) for j in rows if j.prefix), ("yes", "mostly", "no")
        )
    )
    per_item = Counter(j.item for j in rows if j.prefix)
    assert found.units == sum(n == 2 for n in per_item.values())
