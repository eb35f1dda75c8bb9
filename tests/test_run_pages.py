"""Pages, lists and the API of agent runs: what they hold, what narrows them, what they cost."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark.label_records import LabelRecord, PlaceRecord, SignalRecord
from benchmark.labelling import store_label, store_signals
from benchmark.models import Corpus, JudgeAnswer, Trajectory, TrajectoryStep
from benchmark.run_filters import forms_of
from benchmark.run_pages import EXCERPT, MANY_MARKS, agents_of, folded
from tests.run_rows import make_run

HOSTILE = "<script>alert(1)</script>\u202egnp\u200b&amp;<b>bold</b>"


@pytest.fixture
def plant(db):
    """Three runs: of two models; the first labelled by three raters, the second by one."""
    corpus = Corpus.objects.create(slug="plant", title="Plant")
    for number, model in enumerate(("ash", "ash", "birch"), start=1):
        make_run(corpus, number, model=model, question=f"q{number % 2}", warnings={})
    return corpus


@pytest.fixture
def runs(plant):
    one, two, three = plant.trajectories.order_by("pk")
    published = LabelRecord("paper", True, types=("factual",), places=(PlaceRecord(1, "thought"),))
    judged = LabelRecord(
        "umpire",
        True,
        types=("referential", "scope"),
        flags=("role_breach",),
        places=(
            PlaceRecord(2, "observation", "referential", "root", 1),
            PlaceRecord(None, "response", "scope", "propagated"),
            PlaceRecord(3),
        ),
        rationale="No repair in March.",
        kind="judge",
    )
    store_label(one, published)
    label = store_label(one, judged)
    blind = LabelRecord("teal-otter", False, kind="person", stage="review")
    later = LabelRecord("teal-otter", True, kind="person", stage="revision", post_reveal=True)
    store_label(one, blind)
    store_label(one, later)
    store_label(two, LabelRecord("paper", False))
    JudgeAnswer.objects.create(
        trajectory=one,
        rater=label.rater,
        raw="{word for word}",
        digest="d",
        status="read",
        labels=label,
    )
    signals = [("task_completion", False), ("sound", None), ("task_completion", True)]
    held = [SignalRecord(name, value, "paper") for name, value in signals]
    store_signals([(one.pk, held[0]), (one.pk, held[1]), (two.pk, held[2])])
    Trajectory.objects.filter(pk=three.pk).update(warnings={"no response": 1})
    return one, two, three


@pytest.fixture
def reader(client, researcher):
    client.force_login(researcher)
    return client


def text(client, address: str, **query: str) -> str:
    page = client.get(address, query)
    assert page.status_code == 200
    return page.content.decode()


def cost(client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def found(client, **query: str) -> list[str]:
    page = client.get("/corpora/plant/trajectories/", query)
    assert page.status_code == 200, page.content.decode()
    return [run.external_id[-1] for run, *_ in page.context["rows"]]


def test_what_everybody_says_stands_side_by_side_and_at_its_step(reader, runs):
    page = reader.get(runs[0].get_absolute_url())
    raters = [(c.rater.name, c.label.post_reveal) for c in page.context["columns"]]
    assert raters == [
        ("paper", False),
        ("teal-otter", False),
        ("teal-otter", True),
        ("umpire", False),
    ]
    first, second, third = page.context["steps"]
    marked = {part.name: [m.rater for m in part.marks] for part in first.parts}
    assert marked == {"thought": ["paper"], "action": [], "observation": []}
    assert [part.name for part in second.parts] == ["thought", "action", "observation"]
    assert second.parts[-1].head == "" and second.parts[-1].marks[0].place.cause == "root"
    assert [m.rater for m in third.marks] == ["umpire"] and third.named
    assert [m.place.step for m in first.evidence] == [2]
    assert [m.place.type for m in page.context["final"]] == ["scope"]
    assert page.context["named"] == [1, 2, 3]


def test_the_page_leads_from_label_to_step_and_back(reader, runs):
    page = text(reader, runs[0].get_absolute_url())
    label = runs[0].label_sets.get(rater__name="umpire").pk
    assert f'id="label-{label}"' in page and f'href="#label-{label}"' in page
    assert '<a href="#step-2">step 2</a>' in page and '<a href="#final">' in page
    for word in (
        "begins here",
        "comes from an earlier step",
        "scope: outside its role",
        "after the comparison",
        "No repair in March.",
        "{word for word}",
        "undecided",
    ):
        assert word in page


def test_an_answer_that_could_not_be_read_has_a_column_with_its_reason(reader, runs):
    umpire = runs[0].label_sets.get(rater__name="umpire").rater
    JudgeAnswer.objects.create(
        trajectory=runs[1],
        rater=umpire,
        raw="I cannot say",
        digest="e",
        status="rejected",
        reason="it holds no JSON object",
    )
    page = text(reader, runs[1].get_absolute_url())
    assert "not readable" in page and "it holds no JSON object" in page and "I cannot say" in page


NARROWED = [
    ({}, "123"),
    ({"model": "ash"}, "12"),
    ({"question": "q1"}, "13"),
    ({"agent": "Planner"}, "123"),
    ({"rater": "paper"}, "12"),
    ({"rater": "paper", "says": "no"}, "2"),
    ({"says": "yes"}, "1"),
    ({"type": "referential"}, "1"),
    ({"type": "referential", "rater": "paper"}, ""),
    ({"type": "logical"}, ""),
    ({"component": "observation"}, "1"),
    ({"component": "observation", "type": "scope"}, ""),
    ({"component": "thought", "type": "factual"}, "1"),
    ({"component": "action"}, ""),
    ({"labelled": "yes"}, "12"),
    ({"labelled": "no"}, "3"),
    ({"labelled": "person"}, "1"),
    ({"labelled": "judge"}, "1"),
    ({"labelled": "published"}, "12"),
    ({"signal": "task_completion=no"}, "1"),
    ({"signal": "task_completion=yes"}, "2"),
    ({"signal": "sound=undecided"}, "1"),
    ({"warning": "no response"}, "3"),
    ({"q": "CHILLER 2"}, "2"),
    ({"q": "2,976 rows"}, "123"),
    ({"q": "nowhere at all"}, ""),
    ({"q": "100%"}, ""),
]


def test_each_filter_narrows_alone_and_with_others(reader, runs):
    for query, expected in NARROWED:
        assert "".join(found(reader, **query)) == expected, query


REFUSED = [
    ({"model": "asch"}, "Did you mean &#x27;ash&#x27;?"),
    ({"type": "factul"}, "Did you mean &#x27;factual&#x27;?"),
    ({"signal": "task_completion=maybe"}, "Did you mean &#x27;task_completion="),
    ({"rater": "nobody"}, "it must be one of paper, teal-otter, umpire"),
    ({"component": "dream"}, "it must be one of thought, action, observation, response"),
    ({"labelled": "perhaps"}, "it must be one of yes, no, person, judge, published"),
    ({"says": "maybe"}, "it must be one of yes, no"),
    ({"agent": "x"}, "it must be one of Planner, Sensors"),
    ({"question": "q7"}, "it must be one of q0, q1"),
    ({"warning": "w"}, "it must be one of no response"),
]


def test_an_unknown_value_is_refused_with_what_is_allowed(reader, runs):
    for query, words in REFUSED:
        page = reader.get("/corpora/plant/trajectories/", query)
        assert page.status_code == 400 and words in page.content.decode(), query


def test_a_filter_that_this_corpus_does_not_offer_says_so(reader, plant):
    page = reader.get("/corpora/plant/trajectories/", {"rater": "paper"})
    assert page.status_code == 400
    assert "the runs of this corpus have none" in page.content.decode()


def test_a_refusal_among_many_names_lists_a_few(reader, plant):
    Trajectory.objects.bulk_create(
        Trajectory(corpus=plant, format="x", external_id=f"n{i}", digest="d", question=f"many-{i}")
        for i in range(70)
    )
    refused = reader.get("/corpora/plant/trajectories/", {"question": "none"})
    assert refused.status_code == 400 and "and 60 more" in refused.content.decode()
    assert '<datalist id="l-question">' in text(reader, "/corpora/plant/trajectories/")


def test_any_script_is_found_in_any_case(reader, plant):
    run = plant.trajectories.first()
    TrajectoryStep.objects.filter(trajectory=run, position=1).update(thought="Ärger mit Насос 冷却")
    for asked in ("ärger", "НАСОС", "冷却"):
        assert found(reader, q=asked) == ["1"]
    assert "冷却" in forms_of("冷却") and forms_of("pump") == ["pump"]


def test_a_row_says_what_each_kind_says(reader, runs):
    page = reader.get("/corpora/plant/trajectories/")
    _, (published, judges, people), signals = page.context["rows"][0]
    assert (published.n, published.yes, published.in_order) == (1, 1, ["factual"])
    assert (judges.n, judges.in_order) == (1, ["referential", "scope"])
    assert (people.n, people.yes) == (1, 0), "a changed mind is no blind answer"
    assert signals == {"n": 2, "yes": 0, "no": 1}
    assert page.context["rows"][2][2] == {}


def test_a_list_of_fifty_costs_what_a_list_of_three_does(reader, runs):
    few = cost(reader, "/corpora/plant/trajectories/")
    corpus = runs[0].corpus
    for number in range(4, 60):
        run = make_run(corpus, number)
        store_label(run, LabelRecord("paper", True, types=("logical",)))
        store_signals([(run.pk, SignalRecord("sound", True, "paper"))])
    assert cost(reader, "/corpora/plant/trajectories/") == few <= 15


def test_a_run_costs_the_same_with_many_raters_and_steps(reader, runs):
    few = cost(reader, runs[0].get_absolute_url())
    for number in range(30):
        places = (PlaceRecord(1, "action"), PlaceRecord(3, "response"))
        label = LabelRecord(f"judge-{number}", True, ("logical",), (), places, kind="judge")
        store_label(runs[0], label)
    assert cost(reader, runs[0].get_absolute_url()) == few <= 14


def test_a_run_leads_to_its_neighbours_in_the_list_it_was_opened_from(reader, runs):
    one, two, three = runs
    page = reader.get(two.get_absolute_url())
    assert (page.context["previous"], page.context["next"]) == (one, three)
    listed = text(reader, "/corpora/plant/trajectories/", model="ash")
    assert f'href="{one.get_absolute_url()}?model=ash"' in listed
    here = text(reader, one.get_absolute_url(), model="ash")
    other = next(run for run in (two, three) if run.model == "ash")
    assert f'rel="next" data-hotkey="n" href="{other.get_absolute_url()}?model=ash"' in here
    assert 'href="/corpora/plant/trajectories/?model=ash"' in here and 'rel="prev"' not in here
    assert reader.get(one.get_absolute_url(), {"model": "oak"}).status_code == 400


def test_many_marks_of_one_kind_at_one_place_stand_as_one(reader, runs):
    for number in range(MANY_MARKS):
        type_ = "logical" if number else ""
        places = (PlaceRecord(1, "thought", type_),)
        said = LabelRecord(f"judge-{number}", True, ("logical",), (), places, kind="judge")
        store_label(runs[0], said)
    first, *_ = reader.get(runs[0].get_absolute_url()).context["steps"]
    marks = first.parts[0].marks
    assert [mark.rater for mark in marks.single] == ["paper"]
    (group,) = marks.groups
    assert group.kind == "judge" and len(group.marks) == MANY_MARKS
    assert group.types == [("logical", MANY_MARKS - 1), ("", 1)]
    page = text(reader, runs[0].get_absolute_url())
    assert f"{MANY_MARKS} judges: logical {MANY_MARKS - 1}, no type said 1" in page


def test_rare_filters_are_folded_until_one_is_set(reader, runs):
    fold = '<details class="more-filters">'
    assert fold in text(reader, "/corpora/plant/trajectories/", model="ash")
    page = text(reader, "/corpora/plant/trajectories/", rater="paper")
    assert fold not in page and '<details class="more-filters" open>' in page


def test_the_pages_about_runs_are_reached_from_their_corpus_and_from_home(reader, runs):
    page = text(reader, "/corpora/plant/")
    for name in ("trajectories", "labels", "signals", "rules", "detectors", "prompt-variants"):
        assert f'href="/corpora/plant/{name}/"' in page
    assert 'href="/judges/"' in page and 'href="/prompts/"' in page
    home = reader.get("/")
    assert [(corpus.slug, n) for corpus, n in home.context["agent_runs"]] == [("plant", 2)]
    assert 'href="/corpora/plant/labels/"' in home.content.decode()
    Trajectory.objects.all().delete()
    assert "Agent runs</h2>" not in text(reader, "/")


def test_the_page_of_a_corpus_counts_its_runs_by_model_and_rater(reader, runs):
    page = reader.get("/corpora/plant/")
    summary = page.context["runs"]
    assert summary["models"] == [("ash", 2, 2), ("birch", 1, 1)]
    raters = [(r["rater__name"], r["runs"], r["labels"], r["yes"]) for r in summary["raters"]]
    assert raters == [("teal-otter", 1, 2, 1), ("umpire", 1, 1, 1), ("paper", 2, 2, 1)]
    assert summary["warnings"] == [("no response", 1)]
    few = cost(reader, "/corpora/plant/")
    for number in range(4, 20):
        store_label(make_run(runs[0].corpus, number), LabelRecord(f"r{number}", True))
    assert cost(reader, "/corpora/plant/") == few


def test_hostile_texts_are_shown_as_text(reader, plant):
    run = make_run(
        plant,
        9,
        task=HOSTILE,
        model=HOSTILE,
        question=HOSTILE,
        expected=HOSTILE,
        response=HOSTILE,
        warnings={HOSTILE: 1},
    )
    names = ("agent", "thought", "action", "observation", "response")
    run.steps.update(**dict.fromkeys(names, HOSTILE))
    store_label(run, LabelRecord(HOSTILE[:60], True, rationale=HOSTILE * 20))
    store_signals([(run.pk, SignalRecord(HOSTILE, True, HOSTILE))])
    for address in (
        run.get_absolute_url(),
        "/corpora/plant/trajectories/",
        "/corpora/plant/",
        f"/trajectories/{run.pk}/steps/1/",
    ):
        page = text(reader, address)
        assert "<script>alert" not in page and "<b>bold" not in page
        assert "&lt;script&gt;alert(1)" in page
    assert found(reader, model=HOSTILE) == ["9"] == found(reader, agent=HOSTILE)
    assert found(reader, signal=f"{HOSTILE}=yes") == ["9"] == found(reader, warning=HOSTILE)


def test_a_text_beyond_the_bound_comes_as_an_excerpt_and_whole_on_request(reader, plant):
    run = plant.trajectories.first()
    long = "word " * 20_000
    run.steps.filter(position=2).update(observation=long)
    page = reader.get(run.get_absolute_url())
    part = page.context["steps"][1].parts[-1]
    assert part.cut and part.length == 100_000 and len(part.head + part.rest) == EXCERPT
    assert len(page.content) < 40_000
    address = f"/trajectories/{run.pk}/steps/2/"
    assert f'data-whole="{address}?part=observation"' in page.content.decode()
    whole = reader.get(address, {"part": "observation"})
    assert whole.content.decode() == long and whole["Content-Type"].startswith("text/plain")
    assert long in text(reader, address)


def test_one_step_refuses_what_is_not_there(reader, runs):
    for address, status in (
        (f"/trajectories/{runs[0].pk}/steps/4/", 404),
        (f"/trajectories/{runs[0].pk}/steps/0/", 404),
        (f"/trajectories/{runs[0].pk}/steps/1/?part=meta", 400),
        ("/trajectories/999999/steps/1/", 404),
    ):
        assert reader.get(address).status_code == status


def test_a_fold_loses_no_character():
    for said in ("", "a", "line\n" * 300, "x" * 5000, "two words " * 400, "\n" * 3000):
        head, rest = folded(said)
        assert head + rest == said
    assert folded("short\n" * 8)[1] == "" and folded("long\n" * 200)[0].count("\n") <= 10


def test_agents_have_a_colour_each_in_the_order_they_speak():
    rows = [(at, at, name) for at, name in enumerate(["B", "A", "", "B", *"CDEFG"], start=1)]
    agents = agents_of(rows)
    assert list(agents)[:2] == ["B", "A"] and agents["B"] == (2, 1) and "" not in agents
    assert agents["G"] == (1, 1), "the seventh begins again"


def test_the_api_gives_a_run_with_labels_signals_and_answers(reader, runs):
    row = json.loads(text(reader, f"/api/trajectories/{runs[0].pk}/"))
    assert (row["model"], row["question"], row["response"]) == ("ash", "q1", "Clean the condenser.")
    said = {(label["rater"], label["stage"]): label for label in row["labels"]}
    assert said["umpire", ""]["places"][0] == {
        "step": 2,
        "component": "observation",
        "type": "referential",
        "cause": "root",
        "evidence": 1,
    }
    assert said["teal-otter", "revision"]["post_reveal"] is True
    assert {"name": "sound", "value": None, "source": "paper"} in row["signals"]
    assert row["judge_answers"][0]["raw"] == "{word for word}"
    few = cost(reader, f"/api/trajectories/{runs[0].pk}/")
    for number in range(20):
        store_label(runs[0], LabelRecord(f"more-{number}", False))
    assert cost(reader, f"/api/trajectories/{runs[0].pk}/") == few <= 12


ASKED = [
    ({"corpus": "plant"}, "123"),
    ({"corpus": "none"}, ""),
    ({"model": "birch"}, "3"),
    ({"type": "scope", "rater": "umpire"}, "1"),
    ({"type": "scope", "rater": "paper"}, ""),
    ({"component": "thought"}, "1"),
    ({"labelled": "no"}, "3"),
    ({"signal": "task_completion=yes"}, "2"),
    ({"q": "chiller 3"}, "3"),
]


def test_the_api_narrows_by_the_words_of_the_list(reader, runs):
    for query, expected in ASKED:
        rows = json.loads(text(reader, "/api/trajectories/", **query))["results"]
        assert "".join(row["external_id"][-1] for row in rows) == expected, query


def test_the_api_refuses_what_it_does_not_know(reader, runs):
    for query in ({"type": "odd"}, {"signal": "task_completion"}, {"labelled": "x"}, {"says": "?"}):
        refused = reader.get("/api/trajectories/", query)
        assert refused.status_code == 400 and list(refused.json()) == list(query)


@pytest.mark.parametrize("name", ["rater", "labelset", "judgeprompt", "judgeanswer"])
def test_the_administration_shows_labels_and_lets_nobody_edit_them(client, admin_user, runs, name):
    client.force_login(admin_user)
    assert client.get(f"/admin/benchmark/{name}/").status_code == 200
    assert client.get(f"/admin/benchmark/{name}/add/").status_code == 403
    assert client.get("/admin/benchmark/trajectorysignal/").status_code == 200
    label = runs[0].label_sets.first()
    address = f"/admin/benchmark/labelset/{label.pk}/"
    assert client.get(f"{address}change/").status_code == 200
    assert client.post(f"{address}delete/").status_code == 403


def test_an_annotator_gets_none_of_it(client, annotator, runs):
    client.force_login(annotator)
    for address in (
        runs[0].get_absolute_url(),
        f"/trajectories/{runs[0].pk}/steps/1/",
        "/corpora/plant/trajectories/",
        f"/api/trajectories/{runs[0].pk}/",
    ):
        assert client.get(address).status_code in (403, 404)
