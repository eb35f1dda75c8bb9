"""A result table is described once; the page, the chart and the file tell the same numbers."""

from __future__ import annotations

import json

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from annotation.figure_charts import MOST_LINES, chart, short
from annotation.figure_files import csv_text, table_of
from annotation.figure_tables import Column, Drawn, Figure
from annotation.figure_words import described, value_of
from annotation.templatetags.figures import show_figure
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


def html_of(figure, **more):
    return render_to_string("annotation/_figure.html", show_figure(figure, **more))


def test_an_estimate_has_five_columns_in_the_file():
    columns, rows = table_of(figure())
    assert columns == [*("model", "runs", "rate", "rate_low", "rate_high", "rate_n", "rate_reason")]
    assert rows == [
        ["m-1", 1200, 0.25, 0.2, 0.31, 1200, ""],
        ["<b>m-2</b>", 0, None, None, None, 0, "no_run"],
    ]


def test_a_name_that_a_spreadsheet_would_run_is_text_in_the_file():
    text = csv_text(figure(rows=[{**ROWS[0], "model": "=1+1"}]))
    assert "'=1+1" in text


def test_the_page_says_share_interval_and_reason_and_shows_markup_as_text():
    html = html_of(figure(), csv="/x/rates.csv")
    assert "25.0 %" in html
    assert "[20.0, 31.0]" in html
    assert "n = 1,200" in html
    assert "no run" in html
    assert "<b>m-2" not in html
    assert 'href="/x/rates.csv"' in html


def test_a_table_without_rows_says_why_and_has_no_chart():
    html = html_of(figure(rows=(), reason="nobody has labelled a run"))
    assert "nobody has labelled a run" in html
    assert "data-figure" not in html


@pytest.mark.parametrize("kind", ["bars", "points"])
def test_what_has_no_value_has_no_mark(kind):
    (series,) = chart(figure(kind))["data"]
    assert series["x"] == [0.25]
    assert series["error_x"]["array"] == [pytest.approx(0.06)]
    assert series["error_x"]["arrayminus"] == [pytest.approx(0.05)]


def test_nothing_to_draw_is_no_drawing():
    assert chart(figure(rows=ROWS[1:])) is None
    assert chart(figure(drawn=None)) is None


def test_too_much_to_draw_is_a_table_alone():
    rows = [{**ROWS[0], "model": str(n)} for n in range(MOST_LINES + 1)]
    assert chart(figure(rows=rows)) is None
    assert "data-figure" not in html_of(figure(rows=rows))


def test_a_heat_map_has_a_cell_for_each_pair_and_none_where_there_is_none():
    columns = (Column("type", "Type"), Column("part", "Part"), Column("n", "Places", "count"))
    rows = [
        {"type": "factual", "part": "thought", "n": 3},
        {"type": "scope", "part": "action", "n": 5},
    ]
    drawn = Drawn("heat", "part", "n", "type")
    layout = chart(figure(rows=rows, columns=columns, drawn=drawn))["layout"]
    assert [(note["x"], note["y"], note["text"]) for note in layout["annotations"]] == [
        *((0, 0, "3"), (1, 1, "5"))
    ]
    assert len(layout["shapes"]) == 2


def test_a_drawing_names_tokens_and_follows_no_markup():
    text = json.dumps(chart(figure(rows=[{**ROWS[0], "model": "<a href=x>m</a>"}])))
    assert "<a" not in text
    assert "&lt;a" in text
    assert "#" not in text


def test_what_a_drawing_says_in_words_has_every_value():
    words = described(figure())
    assert "m-1: 25.0 %" in words
    assert "undefined (no run)" in words


@given(st.lists(st.tuples(st.text(max_size=30), st.floats(-5, 5)), max_size=60))
def test_a_drawing_is_json_whatever_the_names(cells):
    rows = [{"model": m, "runs": 1, "rate": Estimate(v, n=1)} for m, v in cells]
    found = chart(figure(rows=rows))
    json.dumps(found, allow_nan=False)
    assert (found is None) == (not rows or len(rows) > MOST_LINES)


def test_an_axis_reaches_to_the_lowest_end_and_marks_zero_where_any_is_negative():
    rows = [{**ROWS[0], "rate": Estimate(-0.07, n=60, ci=(-0.22, 0.09))}]
    axis = chart(figure(rows=rows))["layout"]["xaxis"]
    assert axis["range"][0] < -0.22 and 0.09 < axis["range"][1] < 0.2
    assert axis["zeroline"] and axis["tickformat"] == ".0%"
    assert chart(figure())["layout"]["xaxis"]["range"] == [0, 1.02]


def test_the_name_of_a_signal_parts_where_its_words_do_and_loses_nothing():
    assert short("generalized_result_verification") == "generalized_result_<br>verification"
    assert short("watsonx/meta-llama/llama-4") == "watsonx/meta-llama/<br>llama-4"
    assert short("plain") == "plain"


def test_the_title_of_a_heat_map_keeps_clear_of_its_names():
    columns = (Column("type", "Type"), Column("part", "Part"), Column("n", "Places", "count"))
    drawn = Drawn("heat", "part", "n", "type")
    rows = [{"type": "a long name of a row", "part": "thought", "n": 3}]
    layout = chart(figure(rows=rows, columns=columns, drawn=drawn))["layout"]
    assert layout["yaxis"]["title"]["standoff"] > 0 and layout["yaxis"]["automargin"]


def test_what_n_counts_stands_behind_it():
    assert "n = 1,200 steps. Two are left out." in html_of(
        figure(note="n counts steps. Two are left out.")
    )
    assert "n = 1,200. Two are left out." in html_of(figure(note="Two are left out."))


def test_a_code_of_a_reason_is_said_in_words_and_stays_a_code_in_the_file():
    rows = [{**ROWS[0], "rate": undefined("no_observations")}]
    assert "there is nothing to count" in html_of(figure(rows=rows))
    assert table_of(figure(rows=rows))[1][0][-1] == "no_observations"


def test_a_chart_of_words_is_a_mistake():
    with pytest.raises(TypeError, match="is text"):
        value_of("3")
