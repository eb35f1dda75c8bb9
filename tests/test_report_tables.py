"""The tables of a study report: who disagrees on what, and figures that recompute from the rows."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict

import krippendorff
import numpy as np
import pytest
from scipy import stats

from annotation import report_tables
from annotation.design import POSITIONS, TYPES
from annotation.fork_summary import as_json, summarise
from annotation.group_reports import group_report
from annotation.imagined_judges import Case, Judge
from annotation.item_spread import differing
from annotation.judge_profiles import profiles
from annotation.judgement_rows import PEOPLE, Judgement, JudgementRow, counted
from annotation.models import Assignment, Item, Seat, SliderRating
from annotation.models.working import StepTime
from annotation.pair_agreement import by_question, pairs
from annotation.rehearsal import simulate_study
from annotation.report_resampling import report_intervals
from annotation.report_rows import Filters, matching, read_all
from annotation.reports import fork_study, group_reports
from tests.judged_studies import NO, YES, A, Answer, B, C, address, judged_study, table
from tests.studies import make_study


@pytest.fixture
def visitor(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def rehearsed(db):
    """Eight simulated judges over shared items, and a free seat."""
    study = make_study(n_seats=9, n_simulated=8, overlap=0.5)
    simulate_study(study)
    return study


# -- who disagrees -----------------------------------------------------------------------------


@pytest.fixture
def contrary(db):
    """Three people over six items; C says the opposite of both others on every one."""
    agreed = [YES, YES, YES, NO, NO, NO]
    opposite = [NO, NO, NO, YES, YES, YES]
    return judged_study({A: agreed, B: agreed, C: opposite})


def test_the_pair_matrix_shows_one_high_cell_and_two_low_ones(visitor, contrary):
    shares = {
        (row["judge"], row["other_judge"]): float(row["share"])
        for row in table(visitor, contrary, "pairs")
        if row["question"] == "confirmation"
    }
    assert shares == {(A, B): 1.0, (A, C): 0.0, (B, C): 0.0}
    html = visitor.get(address(contrary)).content.decode()
    assert html.count('class="heat-4"') == 2
    assert html.count('class="heat-0"') == 4


def test_the_table_of_items_lists_those_whose_judges_differ(visitor, contrary):
    rows = table(visitor, contrary, "items")
    keys = set(contrary.items.values_list("id", flat=True))
    assert {int(row["item"]) for row in rows if "confirmation" in row["differ"]} == keys
    assert rows[0]["judge_names"] == f"{A} {B} {C}"
    assert rows[0]["appears"] in ("yes yes no", "no no yes")
    assert rows[0]["rating_range"] == "60"


def test_items_that_are_judged_alike_are_not_among_those_that_differ(db):
    study = judged_study({A: [YES, YES], B: [YES, NO]})
    people = group_reports(study)[0]
    second = study.items.order_by("id")[1].pk
    assert [int(item.item) for item in differing(people.items)] == [second]


def test_each_two_judges_have_their_kappa_and_their_distance(db):
    first = [Answer(10, "yes", 1), Answer(20, "yes", 1), Answer(30, "no"), Answer(40, "no")]
    second = [Answer(12, "yes", 3), Answer(20, "no"), Answer(60, "no"), Answer(45, "no")]
    study = judged_study({A: first, B: second})
    found = group_reports(study)[0].pairs
    # seen 3/4; by chance 2/4 * 1/4 + 2/4 * 3/4 = 1/2
    assert found["confirmation"][0].kappa == pytest.approx(0.5)
    assert (found["rating"][0].agreeing, found["rating"][0].n) == (3, 4)
    assert found["rating"][0].distance == pytest.approx((2 + 0 + 30 + 5) / 4)
    assert (found["onset"][0].agreeing, found["onset"][0].n) == (0, 1)
    assert found["prefix"] == []


def test_agreement_is_told_apart_by_answer(visitor, db):
    partly = Answer(50, "partly", 1)
    study = judged_study({A: [YES, YES, NO, partly], B: [YES, NO, NO, NO]})
    shown = {
        row["statistic"]: row
        for row in table(visitor, study, "agreement")
        if row["part"] == "Step 2, instruction"
    }
    # one pair says yes twice, one yes once: 2 * 1 / (2 + 1)
    assert float(shown["agreement on “yes”"]["value"]) == pytest.approx(2 / 3)
    assert float(shown["agreement on “no”"]["value"]) == pytest.approx(2 / 4)
    assert float(shown["agreement on “partly”"]["value"]) == 0


def test_pairs_of_hundreds_of_thousands_of_answers_take_no_time():
    rng = np.random.default_rng(1)
    judgements = [
        Judgement(f"P{(item + 7 * place) % 100:02}", str(item), "w", False, rating=int(rating))
        for item in range(2000)
        for place, rating in enumerate(rng.integers(0, 101, 5))
    ]
    start = time.perf_counter()
    found = pairs(by_question(judgements)["rating"], "rating")
    assert time.perf_counter() - start < 3
    assert sum(pair.n for pair in found) == 2000 * 10


# -- figures from the rows ---------------------------------------------------------------------


def test_the_figures_recompute_from_the_exported_rows(visitor, rehearsed):
    rows = [row for row in table(visitor, rehearsed, "rows") if row["counted"] == "yes"]
    forks = [row for row in rows if row["type"] != "conformant"]
    shown = {(row["part"], row["statistic"]): row for row in table(visitor, rehearsed, "questions")}

    def figure(part: str, statistic: str, column: str = "value") -> float:
        return float(shown[part, statistic][column])

    groups = defaultdict(list)
    for row in forks:
        groups[row["judge"], row["workflow"]].append((int(row["k"]), int(row["rating"])))
    taus = [
        stats.kendalltau(*zip(*g, strict=True)).statistic for g in groups.values() if len(g) > 1
    ]
    taus = [tau for tau in taus if np.isfinite(tau)]
    name = "tau-b of rating and k within person and workflow, all types"
    assert figure("RQ1", name) == pytest.approx(np.mean(taus), abs=1e-9)
    wins = [
        (b > a) + (a == b) / 2
        for group in groups.values()
        for (k, a), (j, b) in itertools.combinations(sorted(group), 2)
        if j > k
    ]
    name = "probability that a later fork is rated above an earlier one, all types"
    assert figure("RQ1", name) == pytest.approx(np.mean(wins), abs=1e-9)

    breaking = [r for r in forks if r["k"] == "2" and r["type"] in ("WIC", "SSPC", "GR")]
    mean = np.mean([int(row["rating"]) for row in breaking])
    name = "mean rating, WIC, SSPC and GR, k = 2"
    assert figure("RQ1", name) == pytest.approx(mean, abs=1e-9)

    foils = [row for row in forks if row["instruction"] == "foil"]
    yes = sum(row["appears"] in ("yes", "partly") for row in foils)
    wilson = stats.binomtest(yes, len(foils)).proportion_ci(method="wilson")
    name = "confirmed, foil on a fork"
    assert figure("RQ2", name) == pytest.approx(yes / len(foils), abs=1e-9)
    assert figure("RQ2", name, "low") == pytest.approx(wilson.low, abs=1e-9)
    assert figure("RQ2", name, "high") == pytest.approx(wilson.high, abs=1e-9)

    away = [
        int(row["onset_minus_fork"])
        for row in forks
        if row["instruction"] == "true" and row["onset_minus_fork"]
    ]
    near = np.mean([abs(d) <= 1 for d in away])
    assert figure("RQ3", "onset within one assistant turn") == pytest.approx(near, abs=1e-9)
    asked = [row["prefix"] for row in forks if row["prefix"]]
    followed = np.mean([answer in ("yes", "mostly") for answer in asked])
    assert figure("RQ4", "followed, or mostly") == pytest.approx(followed, abs=1e-9)


def test_the_coefficients_recompute_from_the_exported_rows(visitor, rehearsed):
    rows = [row for row in table(visitor, rehearsed, "rows") if row["counted"] == "yes"]
    shown = {
        (row["part"], row["statistic"]): float(row["value"])
        for row in table(visitor, rehearsed, "agreement")
        if row["value"]
    }
    judges = sorted({row["judge"] for row in rows})
    items = sorted({row["item"] for row in rows})
    ratings = np.full((len(judges), len(items)), np.nan)
    words = np.full((len(judges), len(items)), np.nan)
    for row in rows:
        place = judges.index(row["judge"]), items.index(row["item"])
        ratings[place] = int(row["rating"])
        words[place] = ("yes", "partly", "no").index(row["appears"])
    alpha = krippendorff.alpha(ratings, level_of_measurement="interval")
    name = ("Step 1, rating", "Krippendorff’s alpha, interval")
    assert shown[name] == pytest.approx(alpha, abs=1e-9)
    nominal = krippendorff.alpha(words, level_of_measurement="nominal")
    name = ("Step 2, instruction", "Krippendorff’s alpha")
    assert shown[name] == pytest.approx(nominal, abs=1e-9)
    shares = []
    for column in words.T:
        given = column[np.isfinite(column)]
        same = [a == b for a, b in itertools.combinations(given, 2)]
        if same:
            shares.append(np.mean(same))
    assert shown["Step 2, instruction", "raw agreement"] == pytest.approx(np.mean(shares), abs=1e-9)


def test_pairs_and_conditions_recompute_from_the_exported_rows(visitor, rehearsed):
    rows = [row for row in table(visitor, rehearsed, "rows") if row["counted"] == "yes"]
    given = {(row["judge"], row["item"]): row for row in rows}
    listed = table(visitor, rehearsed, "pairs")
    assert listed
    for pair in listed:
        if pair["question"] != "rating":
            continue
        one, other = pair["judge"], pair["other_judge"]
        shared = [i for j, i in given if j == one and (other, i) in given]
        apart = [abs(int(given[one, i]["rating"]) - int(given[other, i]["rating"])) for i in shared]
        assert int(pair["shared_items"]) == len(shared)
        assert float(pair["mean_distance"]) == pytest.approx(np.mean(apart), abs=1e-9)
        assert float(pair["share"]) == pytest.approx(np.mean(np.array(apart) <= 10), abs=1e-9)
    for cell in table(visitor, rehearsed, "conditions"):
        same = [r for r in rows if all(r[c] == cell[c] for c in ("type", "k", "instruction"))]
        assert int(cell["judgements"]) == len(same)
        mean = np.mean([int(row["rating"]) for row in same])
        assert float(cell["mean_rating"]) == pytest.approx(mean, abs=1e-9)


def test_every_figure_leads_to_the_rows_it_was_counted_from(rehearsed):
    simulated = group_reports(rehearsed)[1]
    figures = report_tables.questions(simulated.statistics)
    assert len(figures) > 20
    for row in figures:
        where = dict(row.where)
        shares = row.shown == "share" and "pairs" not in row.n
        if shares or row.shown == "rating":
            wanted = Filters(group="simulated", **where)
            assert matching(rehearsed, wanted).count() == row.count, row.measure
    for block in report_tables.agreement_blocks(simulated.statistics):
        where = {**block.rows[0].where, "shared": True}
        found = matching(rehearsed, Filters(group="simulated", **where))
        assert found.values("item").distinct().count() == block.items


def test_shares_have_the_interval_of_people_drawn_beside_wilsons(visitor, rehearsed):
    judgements = counted(read_all(rehearsed))
    drawn = report_intervals(judgements, resamples=1000, seed=rehearsed.seed)
    shown = {row["statistic"]: row for row in table(visitor, rehearsed, "questions")}
    for name, path in (
        ("confirmed, foil on a fork", "rq2.foil_on_fork"),
        ("onset exactly at the fork turn", "rq3.all.exact"),
    ):
        row, (low, high) = shown[name], drawn[path].ci
        assert float(row["value"]) == pytest.approx(drawn[path].value, abs=1e-9)
        assert float(row["low_over_people"]) == pytest.approx(low, abs=1e-9)
        assert float(row["high_over_people"]) == pytest.approx(high, abs=1e-9)
        assert row["low"] != row["low_over_people"]


def test_a_share_of_all_has_no_interval_of_no_width(visitor, db):
    study = judged_study({A: [YES] * 4, B: [YES] * 4})
    shown = {row["statistic"]: row for row in table(visitor, study, "questions")}
    row = shown["confirmed, true instruction"]
    assert (row["value"], row["high"], row["low_over_people"]) == ("1.0", "1.0", "")
    assert float(row["low"]) < 0.7


# -- what counts -------------------------------------------------------------------------------


def test_what_expired_was_withdrawn_or_opened_again_is_left_out_and_counted_beside(db):
    study = judged_study({A: [YES, YES, YES, YES], B: [NO, NO, NO, NO]})
    mine = list(Assignment.objects.filter(seat__pseudonym=A).order_by("rank"))
    for assignment, ended in zip(mine, ("expired", "withdrawn"), strict=False):
        Assignment.objects.filter(pk=assignment.pk).update(ended=ended)
    again = Assignment.objects.create(
        seat=mine[2].seat, item=mine[2].item, rank=9, attempt=2, post_reveal=True
    )
    SliderRating.objects.create(assignment=again, value=99)
    counts = fork_study(study)["groups"][PEOPLE]["counts"]
    assert counts["judgements"] == 6
    assert (counts["expired"], counts["withdrawn"], counts["reopened"]) == (1, 1, 1)
    assert counts["assigned"] == 6
    assert 99 not in [judged.rating for judged in counted(read_all(study))]


def test_practice_and_attention_items_are_no_judgements(visitor, contrary):
    seat = contrary.seats.get(pseudonym=A)
    source = contrary.items.order_by("id").first()
    for rank, kind in ((50, Item.Kind.PRACTICE), (51, Item.Kind.ATTENTION)):
        item = Item.objects.create(
            study=contrary,
            kind=kind,
            dialogue=source.dialogue,
            instruction="x",
            instruction_type="GR",
            instruction_variant="test",
            is_foil=False,
            expected={"rating": [37, 37]},
        )
        assignment = Assignment.objects.create(seat=seat, item=item, rank=rank)
        SliderRating.objects.create(assignment=assignment, value=37)
    rows = table(visitor, contrary, "rows")
    assert len(rows) == 18
    assert "37" not in {row["rating"] for row in rows}
    judges = {row["judge"]: row for row in table(visitor, contrary, "judges")}
    assert (judges[A]["attention_passed"], judges[A]["attention_answered"]) == ("1", "1")
    assert judges[B]["attention_passed"] == ""


def test_people_and_simulated_seats_stand_in_rows_of_their_own(visitor, db):
    study = judged_study({A: [YES, NO], B: [YES, NO]}, simulated=[B])
    for name in ("questions", "agreement", "means", "conditions", "items", "judges", "coverage"):
        assert {row["group"] for row in table(visitor, study, name)} == {"people", "simulated"}
    assert table(visitor, study, "pairs") == []
    html = visitor.get(address(study)).content.decode()
    assert html.index("Judgements by people") < html.index("Simulated judgements")


def test_judges_who_answer_everything_alike_stand_out():
    def row(rank: int, rating: int, ms: int | None = None) -> JudgementRow:
        judged = Judgement(A, str(rank), "w", True, rating=rating, confirmed="no")
        return JudgementRow(rank, PEOPLE, rank, 1, "d", "finished", judged, active_ms=ms)

    alike = profiles([row(i, 50, 1000 * i) for i in range(1, 6)], {A: (1, 2)})[0]
    assert (alike.same_rating, alike.spread, alike.run, alike.same_answer) == (1, 0, 5, 1)
    assert (alike.seconds, alike.timed, alike.attention) == (3, 5, (1, 2))
    varied = profiles([row(i, v) for i, v in enumerate((10, 10, 90, 10), start=1)], {})[0]
    assert (varied.same_rating, varied.run, varied.seconds) == (0.75, 2, None)


def test_active_time_is_summed_over_the_steps_of_an_item(visitor, contrary):
    assignment = Assignment.objects.filter(seat__pseudonym=A).first()
    for step, ms in (("rate", 20_000), ("instruction", 15_500)):
        StepTime.objects.create(assignment=assignment, step=step, active_ms=ms)
    judges = {row["judge"]: row for row in table(visitor, contrary, "judges")}
    assert float(judges[A]["median_active_seconds"]) == 35.5
    assert judges[A]["timed_items"] == "1"


def test_coverage_adds_up_to_what_was_assigned(visitor, rehearsed):
    rows = table(visitor, rehearsed, "coverage")
    done = ("finished", "skipped", "in_progress", "waiting")
    for row in rows:
        assert sum(int(row[name]) for name in done) == int(row["planned"])
    everything = Assignment.objects.filter(seat__study=rehearsed).count()
    assert sum(int(row["planned"]) for row in rows) == everything


def test_a_report_of_thirty_people_is_made_within_a_second():
    rows = []
    for number in range(526):
        person = number % 30
        type_, k = TYPES[number % 4], POSITIONS[number // 4 % 4]
        case = Case(type_, k, number % 2 == 1, fork=2 * k - 1, assistant_turns=range(1, 9))
        answer = Judge(f"{person}").judge(case)
        judged = Judgement(
            f"A-{person:08}",
            str(number % 428),
            f"w{number % 5}",
            case.is_foil,
            type_,
            k,
            case.fork,
            answer.rating,
            answer.confirmed,
            answer.onset or None,
            answer.prefix or None,
        )
        rows.append(JudgementRow(number, PEOPLE, number, 1, "d", "finished", judged))
    start = time.perf_counter()
    statistics = as_json(summarise(counted(rows), seed=1))
    found = group_report(PEOPLE, rows, statistics, {}, seed=1)
    assert time.perf_counter() - start < 3, "under one second on a quiet machine"
    assert found.counts["judgements"] == 526
    assert found.counts["shared_items"] == 98


def test_the_same_answers_have_the_same_figures_and_a_new_answer_others(contrary):
    before = fork_study(contrary)["groups"][PEOPLE]["statistics"]
    assert fork_study(contrary)["groups"][PEOPLE]["statistics"] == before
    SliderRating.objects.filter(assignment__seat__pseudonym=A).update(value=99)
    assert fork_study(contrary)["groups"][PEOPLE]["statistics"] != before


def test_a_free_seat_has_no_judge_and_a_taken_one_is_counted(db):
    study = make_study(n_seats=2)
    assert Seat.objects.filter(study=study).count() == 2
    counts = fork_study(study)["groups"][PEOPLE]["counts"]
    assert (counts["seats"], counts["judges"]) == (2, 0)
