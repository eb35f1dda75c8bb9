"""Figures of leaderboards: every number drawn is in the table behind it, and no other."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.charts import NUMBER_PX, line_numbers
from scoring.leaderboard_charts import MOST_BARS, by_encoder, type_bars
from scoring.leaderboard_tables import Cell, Entry, columns, written
from scoring.likelihood_charts import ridges
from scoring.onset_charts import MOST_LINES, WIDEST_ERROR, curve_of, error_histograms, score_curves

TOKENS = (Path(__file__).parents[1] / "static/css/tokens.css").read_text()
GR = next(column for column in columns("task2") if column.group == "GR")
AVERAGE = columns("task2")[4]


def entry(run, value, encoder="wordllama", label="FlowScore", key=GR.key, **more):
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    cell = Cell(value, "" if value is not None else "no pairs", 8, 1, low, high, **more)
    return Entry(run, label.lower(), label, "paper", encoder, (), {}, {key: cell})


def holds(figure):
    """Strict JSON, colours that are tokens, no markup that needs a style, rows as wide as heads."""
    text = json.dumps(figure.drawing, allow_nan=False)
    named = set(re.findall(r'"(--[\w-]+)"', text))
    assert named and all(f"{name}:" in TOKENS for name in named)
    assert not re.search(r"<(b|i|span|sup|sub|a)\b", text)
    assert all(len(row) == len(figure.columns) for row in figure.rows)
    assert all(len(row) == len(figure.file[0]) for row in figure.file[1])
    assert figure.heading and figure.label


@settings(max_examples=40)
@given(st.lists(st.none() | st.floats(-1, 1), max_size=24))
def test_bars_are_drawn_for_defined_values_only_and_agree_with_the_table(values):
    figure = type_bars([entry(run, value) for run, value in enumerate(values)], GR)
    defined = [value for value in values if value is not None]
    if not defined:
        assert figure is None
        return
    holds(figure)
    bars, points = figure.drawing["data"]
    assert bars["x"] == points["x"] == [row[3] for row in figure.rows] == defined[:MOST_BARS]
    low, high = figure.drawing["layout"]["xaxis"]["range"]
    assert low <= min(0, *defined[:MOST_BARS]) and high >= max(defined[:MOST_BARS])
    if len(defined) > MOST_BARS:
        assert f"The first {MOST_BARS} of {len(defined)} rows" in figure.note


def test_an_interval_is_drawn_from_its_low_to_its_high_end():
    error = type_bars([entry(1, 0.5)], GR).drawing["data"][1]["error_x"]
    assert error["array"] == pytest.approx([0.1]) and error["arrayminus"] == pytest.approx([0.1])
    cells = {GR.key: Cell(0.5, n=8)}
    bare = Entry(1, "mean", "Mean-turn", "paper", "", (), {}, cells)
    error = type_bars([bare], GR).drawing["data"][1]["error_x"]
    assert error["array"] == error["arrayminus"] == [0.0]


def test_a_name_with_markup_is_shown_and_not_followed():
    figure = type_bars([entry(1, 0.5, encoder="<img src=x>")], GR)
    assert "<img" not in json.dumps(figure.drawing)
    assert "&lt;img src=x&gt;" in json.dumps(figure.drawing)


def test_the_encoder_is_drawn_across_for_methods_with_two_and_takes_the_best_setting():
    rows = [
        entry(1, 0.5, "a", key=AVERAGE.key),
        entry(2, 0.7, "a", key=AVERAGE.key),
        entry(3, 0.6, "b", key=AVERAGE.key),
        entry(4, 0.9, "a", "Mean-turn", key=AVERAGE.key),
        entry(5, None, "b", "Mean-turn", key=AVERAGE.key),
    ]
    figure = by_encoder(rows, AVERAGE)
    holds(figure)
    assert [(row[0], row[1], row[2]) for row in figure.rows] == [
        ("FlowScore", "a", 0.7),
        ("FlowScore", "b", 0.6),
    ]
    assert figure.key == ["FlowScore"]
    assert by_encoder(rows[3:], AVERAGE) is None


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9))
def test_numbers_at_the_ends_of_lines_do_not_lie_on_each_other(values):
    marks = line_numbers([(1, value) for value in values], height=300)
    spread = (max(values) - min(values)) or 1.0
    places = sorted((m["y"] - min(values)) / spread * 300 + m["yshift"] for m in marks)
    assert all(b - a >= NUMBER_PX - 0.2 for a, b in pairwise(places))
    assert sorted(m["text"] for m in marks) == sorted(str(i + 1) for i in range(len(values)))


@settings(max_examples=40)
@given(st.dictionaries(st.integers(-60, 60), st.integers(1, 9), min_size=1, max_size=20))
def test_every_flagged_fork_is_in_one_bar(counts):
    by_type = {"GR": {str(k): n for k, n in counts.items()}, "WIC": {}}
    (figure,) = error_histograms(by_type, ("WIC", "GR", "CSC"), "run 1")
    holds(figure)
    bars = figure.drawing["data"][0]
    assert sum(bars["y"]) == sum(counts.values())
    assert len(bars["x"]) == 2 * WIDEST_ERROR + 1
    assert dict(zip(bars["x"], bars["y"], strict=True))[0] == counts.get(0, 0)
    assert dict(figure.rows) == counts


def test_figures_that_stand_beside_each_other_have_the_same_axis():
    both = error_histograms({"GR": {"0": 3}, "WIC": {"0": 30}}, ("WIC", "GR"), "run 1")
    assert len({str(figure.drawing["layout"]["yaxis"]["range"]) for figure in both}) == 1
    typed = columns("task2")[:4]
    cells = {column.key: Cell(0.2 * place - 0.3, n=3) for place, column in enumerate(typed)}
    row = Entry(1, "mean", "Mean-turn", "paper", "", (), {}, cells)
    bars = [type_bars([row], column, beside=typed) for column in typed]
    assert len({str(figure.drawing["layout"]["xaxis"]["range"]) for figure in bars}) == 1


def test_no_winner_is_named_inside_an_interval():
    rows = [entry(1, 0.5), entry(2, 0.45, label="Mean-turn"), entry(3, 0.1, label="FlowDTW")]
    assert (
        type_bars(rows, GR).heading
        == "GR: FlowScore 0.500, and 1 more whose interval meets its own"
    )
    assert type_bars(rows[::2], GR).heading == "GR: FlowScore 0.500, highest"


def test_what_rounds_to_nothing_has_no_sign():
    assert [written(v, "tau") for v in (-0.0001, -0.0006, None)] == ["0.000", "-0.001", "–"]


def curve(*points):
    return {
        "detail": {"curve": [dict(zip(("false_alarms", "score"), p, strict=True)) for p in points]}
    }


def test_a_point_without_a_score_is_not_drawn_and_lines_run_to_the_right():
    row = entry(1, 70.0, key="score-all", **curve((20, 60.0), (5, 70.0), (10, None), (None, 3.0)))
    assert [p["false_alarms"] for p in curve_of(row, "score-all")] == [5, 20]
    figure = score_curves([row, entry(2, 1.0, key="score-all")], "score-all")
    holds(figure)
    assert figure.drawing["data"][0]["x"] == [5, 20] and "70.0 at 5 %" in figure.heading
    assert score_curves([entry(2, 1.0, key="score-all")], "score-all") is None


def test_more_curves_than_can_be_told_apart_are_said_to_be_left_out():
    rows = [entry(i, 70.0, key="score-all", **curve((5, 70.0 - i), (9, 60.0))) for i in range(9)]
    figure = score_curves(rows, "score-all")
    assert len(figure.key) == MOST_LINES and f"first {MOST_LINES} of 9 rows" in figure.note


def test_each_set_has_a_ridge_and_a_constant_one_a_spike_with_a_note():
    found = {
        "conformant": {0: [0.5, 0.6, 0.7, None]},
        "GR": {1: [0.5] * 10, 2: [0.4], 3: [0.1, 0.2, float("nan")], 4: []},
    }
    figure = ridges("GR", found, "run 1")
    holds(figure)
    text = json.dumps(figure.drawing)
    assert text.count("too few distinct values") == 2
    rows = {row[0]: row for row in figure.rows}
    assert rows["conformant"][1:3] == (4, 1) and rows["k = 3"][1:3] == (3, 1)
    assert rows["k = 4"][-1] == "no value" and rows["k = 1"][-1] == "too few distinct values"


def test_without_conformant_dialogues_or_forks_there_is_no_density():
    assert ridges("GR", {"GR": {1: [0.1, 0.2]}}, "run 1") is None
    assert ridges("GR", {"conformant": {0: [0.1]}}, "run 1") is None
    assert ridges("GR", {"conformant": {0: [None]}, "GR": {1: [None]}}, "run 1") is None
