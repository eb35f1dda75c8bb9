"""A result table is described once; the page, the chart and the file tell the same numbers."""

from __future__ import annotations

import json

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from annotation.figure_charts import MOST_ROWS, drawing, in_words, value_of
from annotation.figure_files import columns_of, rows_of
from annotation.figure_pages import shown
from annotation.figure_tables import Column, Drawn, Figure
from scoring.estimates import Estimate, undefined

COLUMNS = (
    Column("model", "Model"),
    Column("runs", "Runs", "count"),
    Column("rate", "Rate", "estimate", percent=True),
)
ROWS = (
    {"model": "m-1", "runs": 1200, "rate": Estimate(0.25, n=1200, ci=(0.2, 0.31))},
    {"model": "<b>m-2</b>", "runs": 0, "rate": undefined("no_run")},
)


def figure(kind="points", rows=ROWS, group="", **changes):
    values = {
        "name": "rates",
        "title": "Rates",
        "columns": COLUMNS,
        "rows": rows,
        "n": 1200,
        "drawn": Drawn(kind, "model", "rate", group),
    }
    return Figure(**values | changes)


def test_an_estimate_has_five_columns_in_the_file():
    assert columns_of(figure()) == [
        *("model", "runs", "rate", "rate_low", "rate_high", "rate_n", "rate_reason")
    ]
    assert rows_of(figure()) == [
        ["m-1", 1200, 0.25, 0.2, 0.31, 1200, None],
        ["<b>m-2</b>", 0, None, None, None, 0, "no_run"],
    ]


def test_the_page_says_share_interval_n_and_reason_and_shows_markup_as_text():
    (one,) = shown([figure()])
    html = render_to_string("annotation/_figure.html", {"one": one, "csv": "/x/"})
    assert "25.0 %" in html
    assert "[20.0, 31.0]" in html
    assert "n 1,200" in html
    assert "no run" in html
    assert "<b>m-2" not in html
    assert 'href="/x/rates.csv"' in html


def test_a_table_without_rows_says_why_and_has_no_chart():
    (one,) = shown([figure(rows=(), reason="nobody has labelled a run")])
    html = render_to_string("annotation/_figure.html", {"one": one})
    assert "nobody has labelled a run" in html
    assert "data-figure" not in html


@pytest.mark.parametrize("kind", ["bars", "points", "stacked"])
def test_what_has_no_value_has_no_mark(kind):
    (series,) = drawing(figure(kind))["data"]
    assert series["x"] == [0.25]
    assert series["error_x"]["array"] == [pytest.approx(0.06)]
    assert series["error_x"]["arrayminus"] == [pytest.approx(0.05)]


def test_nothing_to_draw_is_no_drawing():
    assert drawing(figure(rows=ROWS[1:])) is None
    assert drawing(figure(drawn=None)) is None
    assert in_words(figure(drawn=None)) == ""


def test_a_heat_map_has_a_cell_for_each_pair_and_none_where_there_is_none():
    columns = (Column("type", "Type"), Column("part", "Part"), Column("n", "Places", "count"))
    rows = [
        {"type": "factual", "part": "thought", "n": 3},
        {"type": "scope", "part": "action", "n": 5},
    ]
    drawn = Drawn("heat", "part", "n", "type")
    (cells,) = drawing(figure(rows=rows, columns=columns, drawn=drawn))["data"]
    assert cells["z"] == [[3, None], [None, 5]]
    assert cells["text"] == [["3", ""], ["", "5"]]


def test_series_are_told_apart_by_shape_and_name():
    rows = [
        {"model": model, "runs": 1, "rate": Estimate(0.5, n=4), "who": who}
        for model in "ab"
        for who in ("people", "judge")
    ]
    found = drawing(figure(rows=rows, group="who", columns=(*COLUMNS, Column("who", "Who"))))
    one, other = found["data"]
    assert one["marker"]["symbol"] != other["marker"]["symbol"]
    assert {one["name"], other["name"]} == {"people", "judge"}
    assert found["layout"]["showlegend"]
    assert set(one["y"]).isdisjoint(other["y"])


def test_a_drawing_names_tokens_and_follows_no_markup():
    text = json.dumps(drawing(figure(rows=[{**ROWS[0], "model": "<a href=x>m</a>"}])))
    assert "<a" not in text
    assert "&lt;a" in text
    assert "#" not in text


def test_what_a_drawing_says_in_words_has_every_value():
    words = in_words(figure())
    assert "m-1 25.0 %" in words
    assert "no value" in words


@given(st.lists(st.tuples(st.text(max_size=30), st.floats(-5, 5)), max_size=60))
def test_a_drawing_is_json_whatever_the_names(cells):
    rows = [{"model": m, "runs": 1, "rate": Estimate(v, n=1)} for m, v in cells]
    found = drawing(figure(rows=rows))
    json.dumps(found, allow_nan=False)
    if found:
        assert len(found["layout"]["yaxis"]["ticktext"]) <= MOST_ROWS


def test_a_flag_is_no_number():
    assert value_of(True) is None
    assert value_of("3") is None
    assert value_of(undefined("x")) is None
