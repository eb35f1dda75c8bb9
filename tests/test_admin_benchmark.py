"""The administration shows corpora, dialogues and releases, and lets nobody edit a record."""

from __future__ import annotations

import pytest
from django.urls import reverse

from benchmark.judge_prompts import shipped
from benchmark.judge_raters import stored_prompt
from benchmark.label_records import SignalRecord
from benchmark.labelling import store_signals
from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    JudgeAnswer,
    JudgePrompt,
    LabelSet,
    Rater,
    Release,
    Trajectory,
    TrajectorySignal,
    Workflow,
)
from tests.run_rows import judge_run
from tests.small import make_trajectory

OF_RUNS = {Trajectory, TrajectorySignal, JudgePrompt, Rater, LabelSet, JudgeAnswer}
MODELS = {Corpus, Workflow, Dialogue, Fork, Release} | OF_RUNS


@pytest.fixture
def admin(client, django_user_model, db):
    client.force_login(django_user_model.objects.create_superuser("ada", password="a-long-phrase"))
    return client


@pytest.fixture
def rows(corpus, forked):
    run = make_trajectory(corpus)
    judge_run(run)
    store_signals([(run.pk, SignalRecord("task_completion", True, "checks"))])
    stored_prompt(shipped()["whole-run", 1])
    Release.objects.create(corpus=corpus, version="1.0", digest="x", manifest={})
    return {model: model.objects.first() for model in MODELS}


@pytest.mark.parametrize("model", sorted(MODELS, key=lambda m: m.__name__))
def test_lists_and_rows_can_be_read(admin, rows, model):
    name = f"admin:benchmark_{model._meta.model_name}"
    assert admin.get(reverse(f"{name}_changelist")).status_code == 200
    assert admin.get(reverse(f"{name}_change", args=[rows[model].pk])).status_code == 200


@pytest.mark.parametrize("model", sorted(MODELS, key=lambda m: m.__name__))
def test_nothing_is_added_or_deleted_by_hand(admin, rows, model):
    name = f"admin:benchmark_{model._meta.model_name}"
    assert admin.get(reverse(f"{name}_add")).status_code == 403
    assert admin.post(reverse(f"{name}_delete", args=[rows[model].pk])).status_code == 403


def test_a_dialogue_is_not_edited_by_hand(admin, rows):
    row = rows[Dialogue]
    url = reverse("admin:benchmark_dialogue_change", args=[row.pk])
    assert admin.post(url, {"external_id": "other"}).status_code == 403
    assert Dialogue.objects.get(pk=row.pk).external_id == row.external_id


def test_a_corpus_can_be_given_a_title_and_a_licence(admin, rows):
    corpus = rows[Corpus]
    url = reverse("admin:benchmark_corpus_change", args=[corpus.pk])
    sent = {"title": "Tables", "description": "", "licence": "CC-BY-4.0", "slug": "other"}
    assert admin.post(url, sent).status_code == 302
    corpus.refresh_from_db()
    assert (corpus.title, corpus.licence) == ("Tables", "CC-BY-4.0")
    assert corpus.slug != "other"


@pytest.mark.parametrize("model", sorted(OF_RUNS, key=lambda m: m.__name__))
def test_what_is_said_of_a_run_is_not_edited_by_hand(admin, rows, model):
    row = rows[model]
    before = model.objects.values().get(pk=row.pk)
    url = reverse(f"admin:benchmark_{model._meta.model_name}_change", args=[row.pk])
    assert (
        admin.post(url, {"name": "other", "present": "", "value": "", "raw": "x"}).status_code
        == 403
    )
    assert model.objects.values().get(pk=row.pk) == before
