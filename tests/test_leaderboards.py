"""Leaderboards: the stored results and nothing else, in order, with every filter in the address."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from benchmark.models import Corpus
from scoring import leaderboard_tables as tables
from scoring.leaderboard_tables import Cell, Difference, Entry
from scoring.leaderboards import Choice, board
from scoring.models import DialogueScore, RunResult
from scoring.views import csv_files
from tests.boards import add_order_run, compare, make_boards, make_run, results


def entry(run, value, label="FBD", encoder="", origin="paper"):
    cell = Cell(value, "" if value is not None else "no pairs")
    return Entry(run, label.lower(), label, origin, encoder, (), {}, {"tau-all": cell})


COLUMNS = tables.columns("task2")


@given(st.lists(st.none() | st.floats(-1, 1), max_size=12))
def test_undefined_values_are_last_in_both_directions(values):
    rows = [entry(run, value) for run, value in enumerate(values)]
    for sort in ("tau-all", "-tau-all"):
        found = [e.cells["tau-all"].value for e in tables.ordered(rows, sort, COLUMNS)]
        defined = [value for value in found if value is not None]
        assert found[len(defined) :] == [None] * (len(values) - len(defined))
        assert defined == sorted(defined, reverse=sort.startswith("-"))


def test_a_row_without_the_result_is_sorted_with_the_undefined_ones():
    bare = Entry(3, "mean", "Mean-turn", "paper", "", (), {}, {})
    rows = tables.ordered([bare, entry(1, None), entry(2, 0.5)], "tau-all", COLUMNS)
    assert [row.run for row in rows] == [2, 1, 3]


def test_a_column_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no column 'else'"):
        tables.ordered([], "else", COLUMNS)


def test_the_best_is_never_a_control_and_never_undefined():
    rows = [entry(1, 0.9, origin="control"), entry(2, None), entry(3, 0.4), entry(4, 0.6)]
    assert tables.best(rows, COLUMNS[4]).run == 4
    assert tables.best(rows[:2], COLUMNS[4]) is None


def test_lower_is_better_for_errors_and_higher_for_the_score():
    shown = tables.columns("task3")
    by_key = {column.key: column for column in shown}
    assert tables.best_first(by_key["error-all"]) == "error-all"
    assert tables.best_first(by_key["score-all"]) == "-score-all"
    assert tables.main_column(shown).key == "score-all"
    only = tables.columns("task3", fork_type="GR")
    assert tables.main_column(only, fork_type="GR").key == "error-GR"
    assert not {c.statistic for c in tables.columns("task3", k=2)} & {"score", "false_alarms"}


@pytest.mark.parametrize(
    ("low", "high", "p", "tied", "marks"),
    [
        (-0.01, 0.02, 0.2, True, ""),
        (0.01, 0.02, 0.049, False, "*"),
        (0.01, 0.02, 0.009, False, "**"),
        (-0.02, -0.01, 0.0009, False, "***"),
        (None, None, None, False, ""),
    ],
)
def test_ties_and_stars_follow_the_interval_and_holm(low, high, p, tied, marks):
    found = Difference(0.0, low=low, high=high, p=p)
    assert (found.tied, found.marks) == (tied, marks)


def test_settings_are_named_where_they_differ_or_are_unusual():
    usual = {"order": 6, "node_confidence": False}
    said = tables.settings_words(
        "task3",
        [
            ("ngram_it", usual),
            ("ngram_it", {**usual, "node_confidence": True}),
            ("ngram_ss", usual),
        ],
    )
    assert said == [["without NC"], ["with NC"], []]
    assert tables.settings_words("task3", [("ngram_it", {**usual, "order": 3})]) == [["N = 3"]]


@pytest.mark.parametrize(
    ("method", "settings", "says"),
    [
        ("novelty", {"form": "exact"}, "promised at most 10 %, expected 9.4 %"),
        ("novelty", {"form": "leave_one_out"}, "no promise, expected 9.4 %"),
        ("workflow_aware", {"form": "split"}, "promised at most 10 %, expected 9.4 %"),
        ("novelty_remaining", {}, "no promise, expected 9.4 %"),
    ],
)
def test_only_the_forms_that_promise_are_said_to(method, settings, says):
    row = Entry(1, method, method, "beyond", "", (), {"settings": settings}, {})
    cell = Cell(10.0, detail={"alpha": 0.1, "expectation": 9.4, "silent_workflows": 0})
    assert tables.promise_words(row, cell) == says
    assert tables.promise_words(row, Cell(10.0, detail={"expectation": None})) == ""


# -- read from rows ----------------------------------------------------------------------------


@pytest.fixture
def stage(db):
    """A corpus without dialogues: a leaderboard reads nothing but results."""
    return Corpus.objects.create(slug="small-forks")


@pytest.fixture
def runs(stage):
    return make_boards(stage)


def test_the_board_asks_the_same_few_questions_at_any_size(runs, stage, django_assert_num_queries):
    for _ in range(3):
        add_order_run(stage, "task2", "full", 0.5, "wordllama")
    with django_assert_num_queries(5):
        found = board(stage, Choice("task2"))
    assert len(found.entries) == 7 and len(found.controls) == 1


def test_values_are_those_of_the_rows_and_their_reasons(runs, stage):
    found = {e.run: e for e in board(stage, Choice("task2")).all_entries}
    for row in RunResult.objects.filter(run__kind="task2", workflow="", statistic="tau"):
        cell = found[row.run_id].cells[f"tau-{row.group}"]
        assert (cell.value, cell.reason, cell.n) == (row.value, row.reason, row.n)
        assert (cell.low, cell.high, cell.skipped) == (row.ci_low, row.ci_high, row.skipped)


def test_runs_over_another_state_or_over_several_corpora_are_counted_not_shown(runs, stage):
    add_order_run(stage, "task2", "mean", 0.7, corpora=[stage.slug, "other"])
    newest = add_order_run(stage, "task2", "mean", 0.7, content="later")
    found = board(stage, Choice("task2"))
    assert [e.run for e in found.all_entries] == [newest.pk]
    assert (found.older, found.several) == (5, 1)


def test_a_workflow_and_a_k_have_rows_of_their_own(runs, stage):
    rows = RunResult.objects.filter(statistic="error", group="all", run=runs["task3"][0])
    rows.filter(workflow="table_book", k=0).update(value=9.5)
    rows.filter(workflow="", k=3).update(value=7.25)
    first = {"workflow": "table_book"}, {"k": 3}
    found = [
        next(
            e.cells["error-all"].value
            for e in board(stage, Choice("task3", **more)).entries
            if e.run == runs["task3"][0].pk
        )
        for more in first
    ]
    assert found == [9.5, 7.25]


def test_the_comparison_with_the_best_is_preferred_to_a_newer_one(runs, stage):
    best, second = runs["task2"][:2]
    compare("task2", second, {best: (-0.02, 0.9)})
    assert board(stage, Choice("task2")).comparison.reference == best.pk
    found = board(stage, Choice("task2")).comparison.differences
    assert found[second.pk].tied and not found[runs["task2"][2].pk].tied
    assert board(stage, Choice("task1")).comparison is None


# -- pages -------------------------------------------------------------------------------------


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


def place(corpus, task, query=""):
    return reverse("scoring:leaderboard", args=[corpus.slug, task]) + query


def body(answer) -> str:
    assert answer.status_code == 200, answer.content.decode()[:500]
    return answer.content.decode()


@pytest.mark.parametrize("task", [1, 2, 3])
def test_every_number_links_to_its_run_and_controls_stand_below(signed_in, runs, stage, task):
    page = body(signed_in.get(place(stage, task)))
    for run in runs[f"task{task}"]:
        assert run.get_absolute_url() in page
    above, below = page.split("Controls:")
    assert "not in the paper" not in below or task == 3
    label = {1: "Turn count", 2: "Random", 3: "First turn"}[task]
    assert f">{label}</a>" in below and f">{label}</a>" not in above


def test_the_discount_is_named_where_discounted_alignment_is_shown(signed_in, runs, stage):
    page = body(signed_in.get(place(stage, 2)))
    assert "earlier is farther" in page and "Soft LCS is the same alignment" in page


def test_the_standing_against_the_best_is_shown_with_p_after_holm(signed_in, runs, stage):
    page = body(signed_in.get(place(stage, 2)))
    assert "tied with the reference" in page and "+0.180" in page and "p &lt; .001" in page
    assert "not compared" in page


def test_without_a_comparison_the_page_says_so_and_offers_one(signed_in, runs, stage):
    page = body(signed_in.get(place(stage, 3)))
    best = runs["task3"][0]
    assert "no comparison of these runs has been made" in page
    link = f"/runs/new/comparison/?corpus={stage.slug}&amp;task=task3&amp;reference={best.pk}"
    assert link in page


def test_one_workflow_is_not_said_to_be_compared(signed_in, runs, stage):
    page = body(signed_in.get(place(stage, 2, "?workflow=table_book")))
    assert "comparisons are over all" in page and "tied with" not in page


def test_the_promise_stands_beside_the_false_alarms(signed_in, runs, stage):
    page = body(signed_in.get(place(stage, 3)))
    assert "promised at most 10 %, expected 9.4 %; 1 workflows too small" in page


def order_of(page: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'class="stick method"><a href="/runs/(\d+)/"', page)]


def test_the_address_sorts_filters_and_keeps_what_is_chosen(signed_in, runs, stage):
    up = order_of(body(signed_in.get(place(stage, 2, "?sort=tau-GR"))))
    down = order_of(body(signed_in.get(place(stage, 2, "?sort=-tau-GR"))))
    undefined = runs["task2"][3].pk
    assert up[3] == down[3] == undefined and up[:3] == down[:3][::-1]
    page = body(signed_in.get(place(stage, 2, "?encoder=minilm&type=GR&sort=tau-GR")))
    assert order_of(page) == [runs["task2"][2].pk, runs["task2"][4].pk]
    assert "encoder=minilm" in re.search(r'href="(\?[^"]*sort=-tau-GR[^"]*)"', page).group(1)


@pytest.mark.parametrize(
    ("query", "allowed"),
    [
        ("type=XYZ", "WIC, SSPC, GR, CSC"),
        ("k=5", "1, 2, 3, 4"),
        ("encoder=none", "minilm, wordllama"),
        ("workflow=none", "table_book"),
        ("sort=none", "method, encoder, error-WIC"),
        ("run=999", "it must be one of"),
        ("format=pdf", "html, csv"),
        ("format=csv&of=none", "errors-WIC"),
    ],
)
def test_an_unknown_word_is_400_and_names_what_is_allowed(signed_in, runs, stage, query, allowed):
    answer = signed_in.get(place(stage, 3, f"?{query}"))
    assert answer.status_code == 400 and allowed in answer.content.decode()


def test_an_order_by_a_column_that_a_filter_hides_gives_way_to_the_best_first(
    signed_in, runs, stage
):
    page = body(signed_in.get(place(stage, 2, "?sort=tau-all&type=GR")))
    assert order_of(page)[0] == runs["task2"][0].pk


def test_an_average_says_how_many_types_it_is_over(signed_in, runs, stage):
    rows = RunResult.objects.filter(run=runs["task2"][0], statistic="tau", group="CSC")
    rows.update(value=None, reason="no unit", ci_low=None, ci_high=None)
    page = body(signed_in.get(place(stage, 2)))
    assert page.count("mean of 3 types, 1 without a value") == 1


def test_figures_in_the_detail_of_a_tau_have_columns(signed_in, stage):
    run = make_run(stage, "task2", "mean", "wordllama")
    more = {"exact_recovery": 0.625, "sixteen": {"value": 0.8125, "reason": "", "n": 7}}
    RunResult.objects.bulk_create(results(run, "tau", {"all": 0.5}, detail=more))
    page = body(signed_in.get(place(stage, 2)))
    assert "62.5 %" in page and "0.812" in page and "All 16 together" in page


def test_k_is_a_filter_of_task_3_only(signed_in, runs, stage):
    assert signed_in.get(place(stage, 2, "?k=1")).status_code == 400
    assert signed_in.get(place(stage, 4)).status_code == 404


def test_another_corpus_is_another_address(signed_in, runs, stage):
    corpus = Corpus.objects.create(slug="other")
    answer = signed_in.get(place(stage, 2, f"?corpus={corpus.slug}"))
    assert (answer.status_code, answer.headers["Location"]) == (302, place(corpus, 2))
    assert "No done run of this task" in body(signed_in.get(place(corpus, 2)))
    assert signed_in.get(place(stage, 2, "?corpus=nowhere")).status_code == 404


def table_of(answer) -> list[list[str]]:
    assert answer.headers["Content-Type"].startswith("text/csv")
    return list(csv.reader(io.StringIO(answer.content.decode())))


def test_the_table_and_each_figure_are_there_as_csv(signed_in, runs, stage):
    head, *rows = table_of(signed_in.get(place(stage, 2, "?format=csv")))
    assert len(rows) == 5 and all(len(row) == len(head) for row in rows)
    at = head.index("tau all")
    undefined = next(row for row in rows if row[0] == str(runs["task2"][3].pk))
    assert (undefined[at], undefined[at + 5]) == ("", "no unit has all four forks")
    for task, names in ((2, ("tau-WIC", "encoders")), (3, ("curve", "errors-CSC", "error-GR"))):
        for name in names:
            answer = signed_in.get(place(stage, task, f"?format=csv&of={name}"))
            assert len(table_of(answer)) > 1, name


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_cell_is_a_formula(text):
    assert csv_files.cell(text) == f"'{text}"
    assert csv_files.cell(-0.5) == -0.5 and csv_files.cell(None) == ""


def test_likelihoods_of_one_workflow_are_drawn_for_a_flow_run(signed_in, forked, corpus):
    flow = add_order_run(forked, "task1", "flow_kl", 0.8, "wordllama")
    dialogues = [*corpus.dialogues.all(), *forked.dialogues.prefetch_related("forks")]
    DialogueScore.objects.bulk_create(
        DialogueScore(run=flow, dialogue=d, value=0.5 - 0.0001 * i) for i, d in enumerate(dialogues)
    )
    page = body(signed_in.get(place(forked, 1)))
    assert page.count('id="likelihoods-') == 4 and "workflow table_book" in page
    rows = table_of(signed_in.get(place(forked, 1, "?format=csv&of=likelihoods-GR")))
    assert {row[0] for row in rows[1:]} == {"conformant", "k = 1", "k = 2", "k = 3", "k = 4"}


def test_the_list_of_leaderboards_names_corpora_with_results(signed_in, runs, stage):
    page = body(signed_in.get(reverse("scoring:leaderboards")))
    assert [place(stage, task) in page for task in (1, 2, 3)] == [True] * 3


def test_without_any_run_the_list_says_what_to_do(signed_in, db):
    assert "No results yet" in body(signed_in.get(reverse("scoring:leaderboards")))


def test_a_run_without_results_is_on_the_board_without_a_value(signed_in, stage):
    run = make_run(stage, "task2", "mean", "wordllama")
    assert order_of(body(signed_in.get(place(stage, 2)))) == [run.pk]
    RunResult.objects.bulk_create(results(run, "tau", {"all": 0.5}))
    assert "0.500" in body(signed_in.get(place(stage, 2)))
