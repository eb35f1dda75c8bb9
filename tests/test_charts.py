"""Charts: nothing is drawn that is not there, nothing high is lost, colours are names only."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scoring.charts import MAX_BARS, axis_of, downsample, interval_bar, turn_strip

value = st.none() | st.floats(0, 50, allow_nan=False)


def rows_of(values):
    return [{"number": i, "surprisal": v, "p": None} for i, v in enumerate(values, start=1)]


@given(st.lists(value, max_size=1500), st.sets(st.integers(1, 1500), max_size=4))
def test_downsampling_keeps_order_the_maximum_and_the_marked_turns(values, keep):
    rows = rows_of(values)
    kept = downsample(rows, keep=frozenset(keep))
    numbers = [row["number"] for row in kept]
    assert numbers == sorted(set(numbers))
    assert len(kept) <= MAX_BARS + len(keep)
    assert keep & {row["number"] for row in rows} <= set(numbers)
    defined = [v for v in values if v is not None]
    if defined:
        assert max(r["surprisal"] for r in kept if r["surprisal"] is not None) == max(defined)


def test_a_short_dialogue_is_drawn_whole_and_a_turn_without_value_has_no_bar():
    figure = turn_strip(rows_of([1.0, None, 0.0]), {1: "user", 2: "assistant", 3: "assistant"})
    bars = figure["data"][0]
    assert bars["x"] == [1, 3] and bars["y"] == [1.0, 0.0]


def test_bars_are_filled_for_the_assistant_and_outlined_for_the_user():
    figure = turn_strip(rows_of([1.0, 2.0]), {1: "user", 2: "assistant"})
    marker = figure["data"][0]["marker"]
    assert marker["color"] == ["--user-bg", "--text-3"]
    assert marker["line"]["color"] == ["--user-line", "--text-3"]


def test_the_fork_is_an_upright_before_its_turn_with_a_label():
    layout = turn_strip(rows_of([1.0] * 9), {}, forks={5: "fork, turn 5 (k = 2)"})["layout"]
    assert [shape["x0"] for shape in layout["shapes"]] == [4.5]
    assert [note["text"] for note in layout["annotations"]] == ["fork, turn 5 (k = 2)"]


def test_a_figure_is_strict_json_and_its_axes_are_two_objects():
    figure = turn_strip(rows_of([None, 3.0]), {}, forks={2: "fork"})
    json.dumps(figure, allow_nan=False)
    assert figure["layout"]["xaxis"] is not figure["layout"]["yaxis"]


def test_colours_are_names_of_tokens_that_exist():
    figure = turn_strip(rows_of([1.0] * 120), {1: "user", 2: "observation"}, forks={2: "fork"})
    named = set(re.findall(r'"(--[\w-]+)"', json.dumps(figure)))
    tokens = (Path(__file__).parents[1] / "static/css/tokens.css").read_text()
    assert named and all(f"{name}:" in tokens for name in named)
    assert "#" not in json.dumps(figure)


def test_tau_has_a_fixed_axis_and_other_statistics_one_that_holds_zero_and_all_values():
    assert axis_of("tau", [0.2]) == (-1.0, 1.0)
    assert axis_of("path score", [0.2, 0.4]) == (0.0, 0.4)
    assert axis_of("path score", []) == (0.0, 1.0)


@given(value, st.floats(-3, 3), st.floats(0, 3))
def test_an_interval_bar_stays_on_its_axis(middle, low, width):
    bar = interval_bar(middle, low, low + width, -1.0, 1.0)
    if middle is None:
        assert bar is None
    else:
        assert bar["x"] >= 4 and bar["x"] <= 116 and 4 <= bar["at"] <= 116 and bar["width"] >= 1


def test_without_an_interval_only_the_point_is_drawn():
    assert interval_bar(0.5, None, None, 0.0, 1.0) == {"at": 60.0, "zero": 4.0}
