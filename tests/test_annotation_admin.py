"""The site administration shows answers and lets nobody change one."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib import admin
from django.urls import reverse

from annotation.enrolment import assign_seat
from annotation.models import AuditEntry, CrowdIdentity, SliderRating, Webhook
from annotation.rehearsal import simulate_study
from tests.studies import make_study

ANSWERS = (
    "sliderrating",
    "instructionconfirmation",
    "onsetmark",
    "prefixjudgement",
    "skip",
    "assignment",
    "item",
    "seat",
    "invitation",
    "crowdidentity",
    "message",
    "questionnaireanswer",
    "withdrawal",
    "commitment",
    "auditentry",
    "adjudication",
    "export",
    "problemreport",
    "draft",
    "steptime",
    "delivery",
)


@pytest.fixture
def study(db):
    study = make_study(n_simulated=1)
    simulate_study(study)
    return study


@pytest.mark.parametrize("model", ANSWERS)
def test_answers_can_be_listed_and_not_added(admin_client, study, model):
    assert admin_client.get(reverse(f"admin:annotation_{model}_changelist")).status_code == 200
    assert admin_client.get(reverse(f"admin:annotation_{model}_add")).status_code == 403


def test_an_answer_can_be_read_and_neither_changed_nor_deleted(admin_client, study):
    rating = SliderRating.objects.first()
    change = reverse("admin:annotation_sliderrating_change", args=[rating.pk])
    delete = reverse("admin:annotation_sliderrating_delete", args=[rating.pk])
    assert admin_client.get(change).status_code == 200
    assert admin_client.post(change, {"value": 1}).status_code == 403
    assert admin_client.post(delete, {"post": "yes"}).status_code == 403
    kept = SliderRating.objects.get(pk=rating.pk)
    assert kept.value == rating.value


def test_a_study_can_be_closed_and_its_seed_stays(admin_client, study):
    change = reverse("admin:annotation_study_change", args=[study.pk])
    admin_client.post(change, {"title": "Winter round", "state": "closed", "seed": 99})
    study.refresh_from_db()
    assert (study.state, study.seed) == ("closed", 7)


def test_a_title_that_tells_of_the_design_is_refused(admin_client, study):
    change = reverse("admin:annotation_study_change", args=[study.pk])
    response = admin_client.post(change, {"title": "Foils and forks", "state": "open"})
    assert "tells of the design" in response.content.decode()
    study.refresh_from_db()
    assert study.title == "Winter round"


def test_every_model_of_the_app_can_be_read_there():
    registered = {model for model in admin.site._registry if model._meta.app_label == "annotation"}
    assert registered == set(apps.get_app_config("annotation").get_models())


def test_the_administration_joins_no_person_with_a_pseudonym(admin_client, study, annotator):
    """Neither the account of a seat nor the id on a crowd platform, in lists and in details."""
    seat = assign_seat(study, annotator)
    identity = CrowdIdentity.objects.create(study=study, seat=seat, person="5f3c9a0b1d2e4f5a")
    for model, row in (("seat", seat), ("crowdidentity", identity)):
        pages = (
            reverse(f"admin:annotation_{model}_changelist"),
            reverse(f"admin:annotation_{model}_change", args=[row.pk]),
        )
        for page in pages:
            html = admin_client.get(page).content.decode()
            assert "5f3c9a0b1d2e4f5a" not in html
            assert ">ann<" not in html


def test_closing_a_study_there_is_written_down(admin_client, admin_user, study):
    change = reverse("admin:annotation_study_change", args=[study.pk])
    admin_client.post(change, {"title": "Winter round", "state": "closed"})
    entry = AuditEntry.objects.get(action="study.edited")
    assert (entry.actor, entry.study, entry.detail) == (admin_user, study, {"fields": ["state"]})


def test_a_webhook_is_switched_off_and_never_deleted(admin_client, db):
    hook = Webhook.objects.create(url="https://example.org/secret", events=["study.launched"])
    delete = reverse("admin:annotation_webhook_delete", args=[hook.pk])
    assert admin_client.post(delete, {"post": "yes"}).status_code == 403
    change = reverse("admin:annotation_webhook_change", args=[hook.pk])
    admin_client.post(change, {"url": hook.url, "events": ["study.launched"]})
    hook.refresh_from_db()
    assert not hook.active
    entry = AuditEntry.objects.get(action="webhook.changed")
    assert entry.detail == {"host": "example.org", "active": False}


@pytest.mark.parametrize(("before", "after"), [("draft", "open"), ("open", "draft")])
def test_a_draft_is_launched_nowhere_but_on_its_plan_page(admin_client, study, before, after):
    type(study).objects.update(state=before)
    change = reverse("admin:annotation_study_change", args=[study.pk])
    response = admin_client.post(change, {"title": "Winter round", "state": after})
    assert "launched on its plan page" in response.content.decode()
    study.refresh_from_db()
    assert study.state == before
