"""What a corpus is made of: every dialogue is counted once or said to be left out."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.core.cache import cache
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.models import Corpus, Dialogue, Fork, Turn
from benchmark.records import FORK_TYPES
from scoring import composition_charts
from scoring.composition_tables import (
    CONDITIONS,
    DialogueSize,
    around_forks,
    by_condition,
    by_workflow,
    spreads,
)
from scoring.compositions import composition, sizes
from scoring.corpora import with_sources
from tests.boards import make_boards
from tests.small import add_dialogue

TOKENS = (Path(__file__).parents[1] / "static/css/tokens.css").read_text()
sizes_of_dialogues = st.lists(
    st.builds(
        DialogueSize,
        workflow=st.sampled_from(["a", "b"]),
        domain=st.sampled_from(["", "x"]),
        condition=st.sampled_from(CONDITIONS),
        turns=st.integers(0, 60),
        words=st.integers(0, 900),
        split=st.sampled_from(["", "train", "test"]),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True)
def empty_cache():
    cache.clear()


@given(sizes_of_dialogues)
def test_both_tables_count_the_same_dialogues_and_every_one_once(rows):
    conditions, workflows = by_condition(rows), by_workflow(rows)
    every = conditions[-1]
    assert every.condition == "all" and every.sizes.n == len(rows)
    assert workflows[-1].total == every.sizes
    assert sum(row.sizes.n for row in conditions[:-2]) == len(rows)
    assert sum(row.total.n for row in workflows[:-1]) == len(rows)
    for row in workflows:
        assert row.train + row.test + row.unsplit == row.total.n and row.unsplit >= 0
    if rows:
        assert sum(row.share for row in conditions[:-2]) == pytest.approx(1)


def test_a_mean_over_no_dialogue_is_no_number():
    forks, every = by_condition([])
    assert (forks.sizes.mean_turns, forks.share, every.sizes.mean_words) == (None, None, None)
    assert spreads([]) == [] and around_forks([]) == []


def test_a_fork_of_a_training_dialogue_is_in_neither_half():
    rows = [
        DialogueSize("a", "x", "conformant", 10, 90, "train"),
        DialogueSize("a", "x", "GR", 12, 99, "train"),
        DialogueSize("a", "x", "conformant", 10, 90, "test"),
        DialogueSize("a", "x", "GR", 12, 99, "test"),
    ]
    row = by_workflow(rows)[0]
    assert (row.train, row.test, row.unsplit) == (1, 2, 1)


def test_the_fork_turn_counts_as_after_and_both_sides_make_the_whole():
    rows = [DialogueSize("a", "x", "GR", 12, 99, "test", k=2, fork_turn=5)]
    side = around_forks(rows)[0]
    assert (side.k, side.n, side.before, side.after) == (2, 1, 4, 8)


def test_whiskers_are_the_5th_and_95th_percentile():
    rows = [DialogueSize("a", "x", "WIC", turns, 0) for turns in range(1, 102)]
    assert spreads(rows)[0].quantiles == (6, 26, 51, 76, 96)


def test_forks_are_counted_with_their_sources_wherever_these_are(corpus, forked):
    found = composition(forked)
    by = {row.condition: row.sizes.n for row in found.conditions}
    assert by == {"conformant": 4, **dict.fromkeys(FORK_TYPES, 16), "forks": 64, "all": 68}
    row = found.workflows[0]
    assert (row.train, row.test, row.unsplit) == (2, 2 * 17, 2 * 16)
    assert found.sources == [corpus.slug] and found.left_out == {}
    assert composition(corpus).conditions[0].sizes.n == 4


def test_words_are_counted_by_whitespace_over_all_turns(corpus):
    dialogue = Dialogue.objects.first()
    Turn.objects.filter(dialogue=dialogue, number=1).update(text="  two\twords ")
    Turn.objects.filter(dialogue=dialogue, number=2).update(text=" \n ")
    counted = {row.words for row in sizes(corpus, [corpus])}
    expected = {
        sum(len(text.split()) for text in d.turns.values_list("text", flat=True))
        for d in Dialogue.objects.all()
    }
    assert counted == expected


def test_what_is_in_no_table_is_said(forked):
    flow = Dialogue.objects.filter(corpus=forked).first().workflow
    add_dialogue(forked, flow, "unknown", [("user", "Hi", "")])
    add_dialogue(forked, flow, "off", [("user", "Hi", "")], conformant=False)
    one = Fork.objects.filter(dialogue__corpus=forked).first()
    Fork.objects.create(
        **{
            name: getattr(one, name)
            for name in ("dialogue", "source", "type", "variant", "k", "fork_turn")
        },
        ordinal=2,
        fork_assistant_turn=1,
        instruction="Also this.",
        seed=1,
        replay="exact",
        generator="tests",
    )
    found = composition(forked)
    assert found.left_out == {
        "several forks in one dialogue": 1,
        "deviating, and not a fork": 1,
        "not known to follow its workflow": 1,
    }
    assert found.conditions[-1].sizes.n == 4 + 63


def test_the_texts_are_read_once_for_a_state_of_the_corpus(forked, django_assert_num_queries):
    composition(forked)
    with django_assert_num_queries(5):
        composition(forked)
    Dialogue.objects.filter(corpus=forked).first().delete()
    assert composition(forked).conditions[-1].sizes.n == 67


def test_reading_asks_the_same_few_questions_at_any_size(forked, django_assert_num_queries):
    scope = with_sources([forked])
    assert [corpus.slug for corpus in scope] == ["small", "small-forks"]
    with django_assert_num_queries(3):
        sizes(forked, scope)


def figures_of(rows):
    workflows = by_workflow(rows)
    return [
        composition_charts.domains(workflows),
        composition_charts.lengths(workflows),
        composition_charts.boxes(spreads(rows)),
        composition_charts.around(around_forks(rows)),
    ]


@settings(max_examples=30)
@given(sizes_of_dialogues)
def test_figures_are_strict_json_with_colours_that_are_tokens(rows):
    for figure in filter(None, figures_of(rows)):
        text = json.dumps(figure.drawing, allow_nan=False)
        assert all(f"{name}:" in TOKENS for name in re.findall(r'"(--[\w-]+)"', text))
        assert all(len(row) == len(figure.columns) for row in figure.rows)


def test_the_rings_of_the_sunburst_hold_the_same_dialogues():
    rows = [
        DialogueSize("book", "hotel", "conformant", 10, 1),
        DialogueSize("search", "hotel", "conformant", 10, 1),
        DialogueSize("<b>", "", "conformant", 10, 1),
    ]
    trace = figures_of(rows)[0].drawing["data"][0]
    inner = [n for n, parent in zip(trace["values"], trace["parents"], strict=True) if not parent]
    outer = [n for n, parent in zip(trace["values"], trace["parents"], strict=True) if parent]
    assert sum(inner) == sum(outer) == 3
    assert "&lt;b&gt;" in trace["labels"] and "<b>" not in trace["labels"]


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


def test_the_page_shows_both_tables_and_gives_each_as_csv(signed_in, forked):
    address = reverse("scoring:composition", args=[forked.slug])
    page = signed_in.get(address)
    assert page.status_code == 200
    body = page.content.decode()
    assert "94.12 %" in body and "table_book" in body
    for name in ("workflows", "conditions", "domains", "lengths", "spreads", "around"):
        answer = signed_in.get(f"{address}?format=csv&of={name}")
        rows = list(csv.reader(io.StringIO(answer.content.decode())))
        assert answer.headers["Content-Type"].startswith("text/csv") and len(rows) > 1, name
    assert signed_in.get(f"{address}?format=csv&of=else").status_code == 400
    assert signed_in.get(f"{address}?format=xml").status_code == 400


def test_the_detectors_are_listed_by_encoder_with_and_without_node_confidence(signed_in, forked):
    make_boards(forked)
    address = reverse("scoring:composition", args=[forked.slug])
    body = signed_in.get(address).content.decode()
    table = body[body.index("N-gram detectors by encoder") :]
    rows = re.findall(r"<td>(SS|IT)</td><td>(with NC|–)</td>", table)
    assert rows == [("SS", "–"), ("SS", "with NC"), ("IT", "–"), ("IT", "with NC")] * 2
    answer = signed_in.get(f"{address}?format=csv&of=detectors")
    assert len(list(csv.reader(io.StringIO(answer.content.decode())))) == 9


def test_a_corpus_without_dialogues_says_so(signed_in, db):
    Corpus.objects.create(slug="bare")
    page = signed_in.get(reverse("scoring:composition", args=["bare"]))
    assert "This corpus holds no dialogues yet" in page.content.decode()
