"""The site administration shows answers and lets nobody change one."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import SliderRating
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
