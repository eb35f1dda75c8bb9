"""A study is a draft until it is launched; from then on what it asks stands."""

from __future__ import annotations

import json

import pytest

from annotation import launching, seating, study_drawing
from annotation.enrolment import assign_seat
from annotation.export_rows import Filter, answer_rows, chosen, seat_keys
from annotation.judging import record_slider
from annotation.launching import create_study, launch, new_version, redraw, set_state
from annotation.models import (
    Assignment,
    AuditEntry,
    Delivery,
    Item,
    SliderRating,
    Study,
    Webhook,
)
from annotation.refusals import EnrolmentRefused
from annotation.rehearsal import simulate_study
from annotation.reports import fork_study
from annotation.study_shapes import Shape
from tests.small import make_corpus, make_forks
from tests.studies import make_study

DRAFT = Study.State.DRAFT
SMALL = Shape(n_seats=2, forks_per_seat=4, conformant_per_seat=1)


@pytest.fixture
def forks(db):
    return make_forks(make_corpus("base", n=9), "base-forks")


def draw(forks, **settings) -> Study:
    defaults = {"slug": "winter", "title": "Winter round", "seed": 7, "n_seats": 3}
    small = {"forks_per_seat": 4, "conformant_per_seat": 1}
    return create_study(forks=forks, **defaults | small | settings)


def judge(study, annotator, n: int) -> None:
    seat = assign_seat(study, annotator)
    for assignment in seat.assignments.order_by("rank")[:n]:
        record_slider(assignment, 40)


def exported_versions(study) -> list[int]:
    """The protocol version of every answered row of the export."""
    keys = seat_keys(chosen(study, Filter()))
    rows = [row for batch in answer_rows(study, keys) for row in batch]
    return [row["protocol_version"] for row in rows if row["rating"] is not None]


def orders(study) -> list[tuple]:
    rows = Assignment.objects.filter(seat__study=study).order_by("seat__number", "rank")
    return list(
        rows.values_list(
            "seat__number", "rank", "item__dialogue", "item__instruction", "item__kind"
        )
    )


def test_a_draft_is_drawn_again_with_other_numbers(forks, researcher):
    study = draw(forks, state=DRAFT, n_simulated=1)
    simulate_study(study)
    again = redraw(study, corpora=[forks], shape=SMALL, actor=researcher, title="Spring", seed=8)
    assert (again.title, again.seed, again.seats.count()) == ("Spring", 8, 2)
    assert Assignment.objects.count() == 10
    assert SliderRating.objects.count() == 0
    assert Item.objects.filter(study=study).count() <= 10
    assert again.design["n_seats"] == 2
    assert AuditEntry.objects.filter(action="study.redrawn", actor=researcher).exists()


def test_a_redraw_that_is_refused_leaves_the_draft_as_it_was(forks):
    study = draw(forks, state=DRAFT)
    before = orders(study)
    too_much = Shape(n_seats=2, forks_per_seat=40, conformant_per_seat=1)
    with pytest.raises(EnrolmentRefused, match="fewer forks"):
        redraw(study, corpora=[forks], shape=too_much, title="Spring")
    study.refresh_from_db()
    assert study.title == "Winter round"
    assert orders(study) == before


def test_a_draft_with_people_in_it_is_not_drawn_again(forks, annotator):
    study = draw(forks, state=DRAFT)
    study.seats.filter(number=1).update(user=annotator)
    with pytest.raises(EnrolmentRefused, match="People hold seats"):
        redraw(study, corpora=[forks], shape=SMALL)


def test_a_launch_freezes_version_items_and_design(forks, researcher):
    hook = Webhook.objects.create(url="https://example.org/", events=["study.launched"])
    study = draw(forks, state=DRAFT)
    assert "items_sha256" not in study.design
    launch(study, researcher)
    assert study.state == Study.State.OPEN
    assert study.launched_at is not None
    assert study.design["items_sha256"] == study_drawing.digest(study)
    assert not launching.changed_since_launch(study)
    entry = AuditEntry.objects.get(action="study.launched")
    assert (entry.actor, entry.study) == (researcher, study)
    body = json.loads(Delivery.objects.get(webhook=hook).body)
    assert body["data"]["study"] == "winter"
    assert body["data"]["items_sha256"] == study.design["items_sha256"]
    with pytest.raises(EnrolmentRefused, match="launched before"):
        launch(study, researcher)
    assert Delivery.objects.count() == 1


def test_an_item_changed_behind_our_back_is_seen(forks):
    study = draw(forks)
    Item.objects.filter(study=study).update(instruction="Something else.")
    assert launching.changed_since_launch(study)


def test_taking_over_a_seat_is_no_change_of_the_design(forks, annotator):
    study = draw(forks)
    seat = assign_seat(study, annotator)
    seating.expire(seat)
    seating.reassign(seat)
    assert study.seats.count() == 4
    assert not launching.changed_since_launch(study)


def test_a_question_changed_after_three_answers_makes_a_second_version(forks, annotator):
    study = draw(forks)
    judge(study, annotator, 3)
    with pytest.raises(EnrolmentRefused, match="Make a new version"):
        redraw(study, corpora=[forks], shape=SMALL, consent="Another text.")
    second = new_version(study)
    redraw(second, corpora=[forks], shape=SMALL, consent="Another text.")
    launch(second)
    assert SliderRating.objects.count() == 3
    first, later = fork_study(study), fork_study(second)
    assert (first["study"]["protocol_version"], later["study"]["protocol_version"]) == (1, 2)
    assert first["groups"]["people"]["counts"]["judgements"] == 3
    assert later["groups"]["people"]["counts"]["judgements"] == 0
    assert exported_versions(study) == [1, 1, 1]
    assert exported_versions(second) == []
    study.refresh_from_db()
    assert study.consent == ""


def test_a_new_version_asks_the_same_until_it_is_drawn_again(forks, researcher):
    study = draw(
        forks, phases=["consent"], consent="Be kind.", idle_hours=5, codes={"complete": "ABC"}
    )
    second = new_version(study, researcher)
    assert (second.state, second.protocol_version, second.version_of) == (DRAFT, 2, study)
    assert (second.slug, second.title) == ("winter-v2", study.title)
    assert (second.phases, second.consent, second.idle_hours) == (["consent"], "Be kind.", 5)
    assert second.codes == {"complete": "ABC"}
    assert study_drawing.digest(second) == study.design["items_sha256"]
    with pytest.raises(EnrolmentRefused, match="is a draft"):
        new_version(second)
    launch(second)
    third = new_version(second)
    assert (third.slug, third.protocol_version, third.version_of) == ("winter-v3", 3, study)


def test_a_study_is_paused_closed_and_reopened(forks, researcher):
    study = draw(forks)
    for state, action in (("paused", "paused"), ("open", "reopened"), ("closed", "closed")):
        set_state(study, state, researcher)
        assert Study.objects.get().state == state
        set_state(study, state, researcher)
        assert AuditEntry.objects.filter(action=f"study.{action}").count() == 1
    with pytest.raises(EnrolmentRefused, match="cannot be paused"):
        set_state(study, "paused", researcher)
    with pytest.raises(EnrolmentRefused, match="cannot be"):
        set_state(study, "draft", researcher)


def test_a_draft_is_launched_not_opened(forks):
    with pytest.raises(EnrolmentRefused, match="is draft"):
        set_state(draw(forks, state=DRAFT), "open")


def test_practice_and_attention_items_have_sources_of_their_own(forks):
    study = draw(forks, n_seats=2, n_practice=2, n_attention=1, phases=["practice"], pass_mark=1)

    def sources(kind) -> set[int]:
        found = set()
        for item in Item.objects.filter(study=study, kind__in=kind).select_related("dialogue"):
            fork = item.dialogue.forks.first()
            found.add(fork.source_id if fork else item.dialogue_id)
        return found

    assert len(sources(["practice", "attention"])) == 3
    assert not sources(["main"]) & sources(["practice", "attention"])
    for seat in study.seats.all():
        assert seat.assignments.count() == 5 + 3
        assert seat.assignments.main().count() == 5


def test_too_few_sources_for_practice_are_refused(forks):
    with pytest.raises(EnrolmentRefused, match=r"there are 9"):
        draw(forks, n_practice=10, phases=["practice"])


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"title": "Foils, second round"}, "title is shown to annotators and says 'Foils'"),
        ({"slug": "gr-round"}, "slug is shown to annotators and says 'gr'"),
        ({"slug": "no spaces"}, "field slug"),
        ({"title": ""}, "field title"),
        ({"phases": ["lunch"]}, "'lunch' is no phase"),
        ({"phases": ["practice"]}, "go together"),
        ({"n_practice": 2}, "go together"),
        ({"n_practice": 2, "phases": ["practice"], "pass_mark": 3}, "pass mark is 3"),
        ({"idle_hours": 9000}, "idle hours are 9000"),
        ({"codes": {"done": "X"}}, "'done' is no completion code"),
        ({"codes": {"complete": "a b"}}, "'a b' must have 3 to 40"),
        ({"codes": {"complete": "AAA", "partial": "AAA"}}, "are the same"),
        ({"n_seats": 0}, "seats is 0"),
        ({"n_simulated": 4}, "Of 3 seats 4"),
        ({"foil_share": 2}, "share of foils is 2"),
        ({"types": ["X"]}, "types must be"),
        ({"seed": 2**70}, "field seed"),
        ({"rate_per_hour": "12.345"}, "field rate_per_hour"),
    ],
)
def test_what_is_not_allowed_is_refused_with_a_sentence(forks, wrong, word):
    with pytest.raises(EnrolmentRefused, match=word):
        draw(forks, **wrong)
    assert not Study.objects.exists()


def test_every_number_of_the_draw_is_kept_with_the_study(forks):
    study = draw(forks, foil_share=0.25, types=["WIC", "GR"], positions=[2, 4], overlap=0.1)
    shape = launching.shape_in(study)
    assert (shape.foil_share, shape.overlap, shape.n_seats) == (0.25, 0.1, 3)
    assert (list(shape.types), list(shape.positions)) == (["WIC", "GR"], [2, 4])
    kinds = {
        (fork.type, fork.k) for item in study.items.all() for fork in item.dialogue.forks.all()
    }
    assert kinds == {(t, k) for t in ("WIC", "GR") for k in (2, 4)}


def test_a_draft_is_not_shown_to_the_people_it_is_meant_for(client, annotator, forks):
    study = draw(forks, state=DRAFT)
    study.seats.filter(number=1).update(user=annotator, state="active")
    seat = study.seats.get(number=1)
    client.force_login(annotator)
    assert study.title not in client.get("/").content.decode()
    token = seat.assignments.first().token
    page = client.get(f"/items/{token}/rate/", follow=True)
    assert page.status_code in (404, 409)
    assert "Which instruction" not in page.content.decode()


def test_two_studies_of_one_corpus_stand_beside_each_other(db):
    one, two = make_study(), make_study("summer")
    assert one.items.count() and two.items.count()
    redraw_me = make_study("autumn", state=DRAFT)
    study_drawing.empty(redraw_me)
    assert one.items.count() and two.items.count() and not redraw_me.items.count()
