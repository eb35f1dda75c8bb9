"""Pages of an agent run: each step, what is refused, what is shown again, and what it costs."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation import reviewing
from annotation.models import (
    Assignment,
    Delivery,
    JudgeComparison,
    ProblemReport,
    Review,
    RevisedReview,
    StepTime,
    Webhook,
)
from benchmark.label_records import PlaceRecord
from benchmark.models import LabelSet, Rater
from tests.run_rows import NO, first_item, make_run_study, yes
from tests.test_withdrawing import everything

FORM = {
    "present": "yes",
    "types": ["factual", "referential"],
    "places": ["2.thought", "final"],
    "kind-2.thought": ["referential"],
    "cause-2.thought": "root",
    "evidence-2.thought": "1",
    "cause-final": "propagated",
    "rationale": "No repair in March is in the data.",
}
DISAGREE = {"agreement": "disagree", "on": ["type", "step"], "note": "", "changed": "yes"}


@pytest.fixture
def item(annotator):
    return first_item(make_run_study(user=annotator))


def at(assignment, step: str) -> str:
    return reverse(f"annotation:{step}", args=[assignment.token])


def put(visitor, item, step: str, values, revision: int = 0):
    url = reverse("annotation:draft", args=[item.token, step])
    body = {"values": values, "revision": revision, "active_ms": 0}
    return visitor.put(url, body, content_type="application/json")


def test_an_item_leads_from_review_to_the_next_item(visitor, item):
    assert visitor.get(at(item, "item")).url == at(item, "review")
    page = visitor.get(at(item, "review"))
    assert page.status_code == 200
    text = page.content.decode()
    for words in (
        "Why does chiller 1 lose power?",
        "It should name the condenser.",
        "history(P-9)",
    ):
        assert words in text
    assert "Reads sensors only." in text
    assert visitor.post(at(item, "review"), FORM).url == at(item, "compare")
    assert (
        "The umpire finds a missing inspection."
        in visitor.get(at(item, "compare")).content.decode()
    )
    assert visitor.post(at(item, "compare"), DISAGREE).url == at(item, "revise")
    revise = visitor.get(at(item, "revise")).content.decode()
    assert 'value="2.thought" data-part="t" data-where="Step 2, thought" checked' in revise
    assert "No repair in March is in the data." in revise
    following = first_item(item.seat.study, rank=2)
    assert visitor.post(at(item, "revise"), {"present": "no"}).url == at(following, "item")
    assert RevisedReview.objects.get().labels.present is False
    assert Review.objects.get().labels.present
    assert StepTime.objects.exclude(submitted_at=None).count() == 3


def test_the_form_and_the_service_store_the_same(visitor, item):
    visitor.post(at(item, "review"), FORM)
    assert reviewing.record_review(item, yes()) == Review.objects.get()


def test_everything_that_is_missing_is_said_at_once_and_what_was_entered_stays(visitor, item):
    answer = visitor.post(
        at(item, "review"), {"present": "yes", "types": ["scope"], "rationale": "short"}
    )
    assert answer.status_code == 400
    text = answer.content.decode()
    for field in ("flags", "places", "rationale"):
        assert f'id="err-{field}"' in text
    assert 'value="scope" data-key="5" checked' in text
    assert ">short</textarea>" in text
    assert not Review.objects.exists()


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "present"),
        (FORM | {"types": ["comic"]}, "types"),
        (FORM | {"places": ["9.thought"]}, "places"),
        (FORM | {"evidence-2.thought": "2"}, "places"),
        (FORM | {"rationale": "w" * 4001}, "rationale"),
    ],
)
def test_what_is_wrong_is_named_beside_the_form(visitor, item, data, field):
    answer = visitor.post(at(item, "review"), data)
    assert answer.status_code == 400
    assert f'id="err-{field}"' in answer.content.decode()


def test_a_step_before_its_time_is_not_there(visitor, item):
    for step in ("compare", "revise", "rate", "instruction", "prefix"):
        assert visitor.get(at(item, step)).status_code == 404, step
        assert visitor.post(at(item, step), DISAGREE).status_code == 404, step
    visitor.post(at(item, "review"), FORM)
    assert visitor.get(at(item, "revise")).status_code == 404
    visitor.post(at(item, "compare"), DISAGREE | {"changed": "no"})
    assert visitor.get(at(item, "revise")).status_code == 404
    assert visitor.post(at(item, "revise"), {"present": "no"}).status_code == 404


def test_a_comparison_says_what_it_lacks(visitor, item):
    visitor.post(at(item, "review"), FORM)
    answer = visitor.post(at(item, "compare"), {"agreement": "partly", "changed": "no"})
    assert answer.status_code == 400
    assert "Say what the two answers differ on." in answer.content.decode()
    assert not JudgeComparison.objects.exists()


def test_another_answer_gets_409_and_the_first_is_told(visitor, item):
    visitor.post(at(item, "review"), FORM)
    answer = visitor.post(at(item, "review"), {"present": "no"})
    assert answer.status_code == 409
    assert "yes: factual, referential" in answer.content.decode()
    assert visitor.post(at(item, "review"), FORM).status_code == 302


def test_a_finished_run_is_shown_with_its_answers_and_those_of_the_judge(visitor, item):
    visitor.post(at(item, "review"), FORM)
    own = visitor.get(at(item, "review")).content.decode()
    assert "umpire" not in own
    visitor.post(at(item, "compare"), DISAGREE)
    visitor.post(at(item, "revise"), {"present": "no", "rationale": "I was wrong."})
    page = visitor.get(at(item, "item"))
    text = page.content.decode()
    assert page.status_code == 200
    for words in (
        "No repair in March",
        "The umpire finds",
        "Disagree",
        "I was wrong.",
        "Answered anew",
    ):
        assert words in text


def test_a_run_without_a_judge_ends_with_the_review(visitor, annotator):
    item = first_item(make_run_study(user=annotator, judged=False, n_items=1))
    answer = visitor.post(at(item, "review"), {"present": "no"})
    assert answer.url == reverse("annotation:seat", args=[item.seat.pseudonym])
    assert visitor.get(at(item, "compare")).status_code == 404
    assert visitor.get(at(item, "item")).status_code == 200


def test_a_run_can_be_skipped_and_reported(visitor, item):
    answer = visitor.post(at(item, "problem"), {"text": "It breaks off.", "step": "3"})
    assert answer.url == at(item, "item")
    assert ProblemReport.objects.get().step.position == 3
    bad = visitor.post(at(item, "problem"), {"text": "It breaks off.", "step": "4"})
    assert bad.status_code == 400
    assert "There is no step 4 in this run." in bad.content.decode()
    assert "a step that is cut off" in bad.content.decode()
    asked = visitor.get(at(item, "skip")).content.decode()
    assert "I know this run from elsewhere" in asked
    assert "conversation" not in asked
    visitor.post(at(item, "skip"), {"reason": "cut_off", "note": ""})
    page = visitor.get(at(item, "item")).content.decode()
    assert "The run is cut off or broken" in page
    assert "umpire" not in page


def test_a_closed_study_takes_no_review(visitor, item):
    study = item.seat.study
    study.state = "paused"
    study.save()
    for answer in (visitor.get(at(item, "review")), visitor.post(at(item, "review"), FORM)):
        assert answer.status_code == 409
        assert "The study is paused" in answer.content.decode()
    assert not Review.objects.exists()


def test_somebody_elses_run_is_not_there(client, other_annotator, researcher, item):
    for user in (other_annotator, researcher):
        client.force_login(user)
        for step in ("item", "review", "compare", "revise", "skip", "problem"):
            assert client.get(at(item, step)).status_code == 404
            assert client.post(at(item, step), FORM).status_code == 404


def test_guidelines_speak_of_what_one_judges(visitor, item):
    text = visitor.get(reverse("annotation:guidelines")).content.decode()
    assert "The five types" in text
    assert "?about=forks" not in text
    other = visitor.get(reverse("annotation:guidelines") + "?about=forks").content.decode()
    assert "The five types" not in other
    assert "How closely did the assistant follow" in other


def test_a_long_part_is_folded_and_nothing_of_it_is_lost(visitor, item):
    words = " ".join(f"word{number}" for number in range(900))
    step = item.item.trajectory.steps.get(position=1)
    step.observation = words
    step.save()
    text = visitor.get(at(item, "review")).content.decode()
    assert "more characters" in text
    assert text.count("word0 ") == 1
    assert "word899" in text


def test_text_of_a_run_is_shown_and_never_run(visitor, item):
    step = item.item.trajectory.steps.get(position=1)
    step.thought = "<script>alert(1)</script>"
    step.agent = "<b>Sensors</b>"
    step.save()
    text = visitor.get(at(item, "review")).content.decode()
    assert "<script>alert(1)" not in text
    assert "<b>Sensors</b>" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize("n_more", [0, 40])
def test_a_page_costs_the_same_whatever_the_length(
    visitor, item, n_more, django_assert_max_num_queries
):
    run = item.item.trajectory
    for position in range(4, 4 + n_more):
        run.steps.create(position=position, number=position, thought="More.", action="look()")
    visitor.get(at(item, "review"))
    with django_assert_max_num_queries(12):
        visitor.get(at(item, "review"))
    visitor.post(at(item, "review"), FORM)
    visitor.get(at(item, "compare"))
    with django_assert_max_num_queries(20):
        visitor.get(at(item, "compare"))
    visitor.post(at(item, "compare"), DISAGREE | {"changed": "no"})
    with django_assert_max_num_queries(14):
        visitor.get(at(item, "item"))


def test_no_needs_no_more_than_no(visitor, item):
    visitor.post(at(item, "review"), NO)
    assert Review.objects.get().labels.present is False


def test_every_text_of_a_run_runs_in_its_own_direction(visitor, item):
    step = item.item.trajectory.steps.get(position=1)
    step.thought, step.action, step.agent = "شكرا", "שלום()", "عامل"
    step.save()
    text = visitor.get(at(item, "review")).content.decode()
    assert f'dir="auto" lang="">{step.thought}</p>' in text
    assert f'<pre dir="auto" lang="">{step.action}</pre>' in text
    assert f'dir="auto">{step.agent}</span>' in text


def test_no_two_controls_of_a_step_have_one_key_and_each_is_listed(visitor, item):
    for step, data in (("review", FORM), ("compare", DISAGREE), ("revise", FORM)):
        text = visitor.get(at(item, step)).content.decode()
        found = re.findall(r'data-key="(.)"', text)
        taken = [*found, *"jkmx?"]
        assert len(taken) == len(set(taken)), step
        keys = text.split('id="keys"')[1].split("</dialog>")[0]
        listed = set(re.findall(r"<kbd>(.)</kbd>", keys))
        assert {key for key in found if key.isalpha()} <= listed, step
        visitor.post(at(item, step), data)


def test_an_item_opened_again_is_answered_apart(visitor, item):
    visitor.post(at(item, "review"), FORM)
    visitor.post(at(item, "compare"), DISAGREE | {"changed": "no"})
    again = Assignment.objects.create(
        item=item.item, seat=item.seat, rank=9, attempt=2, post_reveal=True
    )
    page = visitor.get(at(again, "review")).content.decode()
    assert "Once more" in page
    assert "No repair in March" not in page
    visitor.post(at(again, "review"), {"present": "no"})
    trials = LabelSet.objects.filter(rater__name=item.seat.pseudonym).order_by("trial")
    assert [(one.trial, one.present, one.post_reveal) for one in trials] == [
        (1, True, False),
        (2, False, True),
    ]


def test_after_an_erasure_no_table_holds_a_word_of_the_reviews(visitor, item):
    words = "my cat walked over the keys"
    put(visitor, item, "review", {"rationale": words})
    visitor.post(at(item, "review"), FORM | {"rationale": words})
    visitor.post(at(item, "compare"), DISAGREE | {"note": f"{words}, twice"})
    visitor.post(at(item, "revise"), FORM | {"rationale": f"{words}, thrice"})
    visitor.post(at(item, "problem"), {"text": words, "step": "2"})
    other = first_item(item.seat.study, rank=2)
    put(visitor, other, "review", {"rationale": words, "places": ["2.thought"]})
    assert words in everything()
    leave = reverse("annotation:withdraw", args=[item.seat.pseudonym])
    assert visitor.post(leave, {"mode": "erase", "confirm": "yes"}).status_code == 302
    assert words not in everything()
    assert not Rater.objects.filter(kind="person").exists()


def test_the_last_answer_of_a_run_is_announced_and_the_first_is_not(visitor, item):
    Webhook.objects.create(url="https://example.org/hook", events=["annotation.submitted"])
    visitor.post(at(item, "review"), FORM)
    assert not Delivery.objects.exists()
    visitor.post(at(item, "compare"), DISAGREE | {"changed": "no"})
    assert Delivery.objects.get().event == "annotation.submitted"


@pytest.mark.parametrize(
    ("place", "words", "href"),
    [
        (PlaceRecord(2), "Step 2</a>", "#step-2"),
        (PlaceRecord(None), "No step named", ""),
        (PlaceRecord(None, "response"), "Final response</a>", "#step-3"),
    ],
)
def test_a_judge_that_names_no_part_or_no_step_is_shown_as_it_is(visitor, item, place, words, href):
    run, answer = item.item.trajectory, item.item.judge_answer
    run.response = ""
    run.save()
    answer.labels.places.all().delete()
    step = run.steps.filter(position=place.step).first()
    answer.labels.places.create(step=step, component=place.component)
    visitor.post(at(item, "review"), {"present": "no"})
    text = visitor.get(at(item, "compare")).content.decode()
    judge = text.split('id="judge-h"')[1].split("</section>")[0]
    assert words in judge
    assert (f'href="{href}"' in judge) == bool(href)


def test_pages_of_a_run_are_never_cached(visitor, item):
    for step, data in (("review", FORM), ("compare", DISAGREE), ("revise", FORM)):
        for answer in (visitor.get(at(item, step)), visitor.post(at(item, step), data)):
            assert "no-store" in answer.headers["Cache-Control"]
            assert "private" in answer.headers["Cache-Control"]
    assert "no-store" in visitor.get(at(item, "item")).headers["Cache-Control"]
