"""The figures of a study report: what they say in words, and what they leave out."""

from __future__ import annotations

import json

import pytest

from annotation.design import POSITIONS, TYPES
from annotation.fork_summary import as_json, summarise
from annotation.judgement_rows import Judgement
from annotation.report_charts import figures
from scoring.charts import SHAPES


def forks(ratings: dict[int, int], people: str = "ABC", **given) -> list[Judgement]:
    """Each person judges one fork of every type at every k of `ratings`."""
    return [
        Judgement(
            person,
            f"{type_}{k}",
            "w",
            given.get("is_foil", False),
            type_,
            k,
            2 * k - 1,
            rating + place,
            given.get("confirmed"),
            given.get("onset", lambda fork: None)(2 * k - 1),
            given.get("prefix") if k > 1 else None,
        )
        for place, person in enumerate(people)
        for type_ in TYPES
        for k, rating in ratings.items()
    ]


def drawn(judgements: list[Judgement]) -> dict:
    found = figures(as_json(summarise(judgements)), "people")
    return {figure.name.removeprefix("people-"): figure for figure in found}


RISING = {1: 10, 2: 20, 3: 40, 4: 60}


def test_a_question_without_an_answer_has_no_figure():
    assert set(drawn(forks(RISING))) == {"ratings", "ratings-by-type"}


def test_the_heading_says_which_way_the_ratings_go():
    assert "the lower the rating (tau-b 1.00)" in drawn(forks(RISING))["ratings"].heading
    falling = dict(zip(POSITIONS, (60, 40, 20, 10), strict=True))
    assert "the higher the rating (tau-b -1.00)" in drawn(forks(falling))["ratings"].heading


def test_a_heading_claims_no_order_that_the_interval_does_not_show():
    mixed = forks(RISING, "A") + forks(dict(zip(POSITIONS, (60, 40, 20, 10), strict=True)), "B")
    assert drawn(mixed)["ratings"].heading.startswith("RQ1 · No order of ratings")
    assert drawn(forks(RISING, "A"))["ratings"].heading.startswith("RQ1 · No order of ratings")


def test_onsets_before_the_fork_are_told_from_those_after_it():
    early = forks(RISING, "A", confirmed="yes", onset=lambda fork: max(1, fork - 1))
    late = forks(RISING, "B", confirmed="yes", onset=lambda fork: fork + 9)
    figure = drawn(early + late)["onsets"]
    rows = {row[0]: row[1:] for row in figure.rows}
    assert rows["0"] == (4, 0, 4)
    assert rows["1"] == (0, 12, 12)
    assert rows["5 or more"] == (16, 0, 16)
    assert "12 %" in figure.heading


def test_a_few_onsets_are_counted_in_whole_numbers():
    def marks(rises: dict[int, int]) -> int | None:
        judged = forks(rises, "A", confirmed="yes", onset=lambda fork: fork)
        return drawn(judged)["onsets"].drawing["layout"]["yaxis"].get("dtick")

    assert marks({1: 20}) == 1
    assert marks(RISING) is None


def test_shares_before_the_fork_add_up_to_all_answers():
    judged = forks(RISING, "A", confirmed="no", prefix="yes")
    judged += forks(RISING, "B", confirmed="no", prefix="no")
    rows = drawn(judged)["before-the-fork"].rows
    assert [row[0] for row in rows] == [2, 3, 4]
    assert all(row[1] + row[2] + row[3] == row[4] == 8 for row in rows)
    assert all(row[5] == 0.5 for row in rows)


def test_each_type_has_its_shape_and_a_label_at_its_line():
    figure = drawn(forks(RISING))["ratings-by-type"]
    shapes = [trace["marker"]["symbol"] for trace in figure.drawing["data"]][:4]
    assert shapes == [SHAPES[type_] for type_ in TYPES]
    labels = {note["text"] for note in figure.drawing["layout"]["annotations"]}
    assert labels == set(TYPES)


@pytest.mark.parametrize("people", ["A", "AB"])
def test_a_drawing_is_json_with_a_table_of_as_many_cells_as_columns(people):
    judged = forks(RISING, people, confirmed="yes", onset=lambda fork: fork, prefix="mostly")
    judged += [Judgement("A", "c", "w", True, rating=99, confirmed="no")]
    found = drawn(judged)
    assert len(found) == 5
    for figure in found.values():
        json.dumps(figure.drawing, allow_nan=False)
        assert figure.label and figure.note
        assert all(len(row) == len(figure.columns) for row in figure.rows)
