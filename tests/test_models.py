"""Each rule that the tables keep, broken once."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    Release,
    Trajectory,
    TrajectoryStep,
    Turn,
    Workflow,
    WorkflowStep,
    WorkflowTransition,
)
from tests.small import make_forks, make_trajectory


def breaks(rule: str, make) -> None:
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        make()
    # SQLite names the columns of a broken unique key, PostgreSQL its name.
    assert rule in str(caught.value) or "UNIQUE constraint failed" in str(caught.value)


@pytest.fixture
def talk(corpus):
    return corpus.dialogues.first()


def copy_of(row, **changes):
    row.pk = None
    row._state.adding = True
    for name, value in changes.items():
        setattr(row, name, value)
    row.save()


def test_a_slug_names_one_corpus(corpus):
    breaks("slug", lambda: Corpus.objects.create(slug=corpus.slug))


def test_a_name_is_one_workflow_of_a_corpus(corpus):
    breaks(
        "one_workflow_per_corpus_and_name",
        lambda: Workflow.objects.create(corpus=corpus, name="table_book", digest="x"),
    )


@pytest.mark.parametrize("name", ["a b", "a/b", ""])
def test_a_workflow_name_can_stand_in_an_address(corpus, name):
    with pytest.raises(ValidationError):
        Workflow(corpus=corpus, name=name, digest="x").full_clean()


def test_keys_and_positions_of_steps_are_unique(corpus):
    flow = corpus.workflows.get()
    breaks(
        "one_step_per_key",
        lambda: WorkflowStep.objects.create(workflow=flow, position=99, key="greet"),
    )
    breaks(
        "one_step_per_position",
        lambda: WorkflowStep.objects.create(workflow=flow, position=1, key="new"),
    )
    breaks(
        "at_most_one_start_step",
        lambda: WorkflowStep.objects.create(workflow=flow, position=99, key="new", is_start=True),
    )


def test_a_move_stands_once(corpus):
    move = WorkflowTransition.objects.first()
    breaks("one_transition_per_move_and_observation", lambda: copy_of(move, position=99))


def test_an_identity_is_one_dialogue(talk):
    breaks("one_dialogue_per_corpus_format_and_external_id", lambda: copy_of(talk))


def test_there_are_no_more_assistant_turns_than_turns(talk):
    breaks(
        "assistant_turns_are_turns",
        lambda: Dialogue.objects.filter(pk=talk.pk).update(n_assistant_turns=99),
    )


def test_turn_numbers_are_unique_and_start_at_one(talk):
    breaks(
        "one_turn_per_number",
        lambda: Turn.objects.create(dialogue=talk, number=2, role="user"),
    )
    breaks(
        "turn_numbers_start_at_one",
        lambda: Turn.objects.create(dialogue=talk, number=0, role="user"),
    )
    breaks(
        "one_turn_per_assistant_number",
        lambda: Turn.objects.create(dialogue=talk, number=99, assistant_number=1, role="assistant"),
    )


@pytest.mark.parametrize(("role", "number"), [("user", 9), ("assistant", None)])
def test_the_assistants_turns_and_only_they_have_a_number_among_themselves(talk, role, number):
    breaks(
        "assistant_number_iff_assistant",
        lambda: Turn.objects.create(dialogue=talk, number=99, assistant_number=number, role=role),
    )


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("one_fork_per_ordinal", {}),
        ("fork_k_from_1_to_4", {"ordinal": 2, "k": 5}),
        ("fork_k_from_1_to_4", {"ordinal": 2, "k": 0}),
        ("fork_turn_not_before_its_assistant_turn", {"ordinal": 2, "fork_assistant_turn": 0}),
        (
            "fork_turn_not_before_its_assistant_turn",
            {"ordinal": 2, "fork_assistant_turn": 3, "fork_turn": 2},
        ),
        ("fork_carries_its_instruction", {"ordinal": 2, "instruction": ""}),
        ("fork_type_is_known", {"ordinal": 2, "type": "XX"}),
    ],
)
def test_rules_of_forks(forked, rule, changes):
    breaks(rule, lambda: copy_of(Fork.objects.first(), **changes))


def test_a_fork_is_not_its_own_source(forked):
    fork = Fork.objects.first()
    breaks(
        "fork_is_not_its_own_source",
        lambda: copy_of(fork, ordinal=2, source_id=fork.dialogue_id),
    )


def test_a_source_cannot_be_deleted_under_its_forks(corpus):
    make_forks(corpus)
    with pytest.raises(ProtectedError):
        corpus.dialogues.first().delete()


def test_rules_of_trajectories(corpus):
    trajectory = make_trajectory(corpus)
    breaks(
        "one_step_per_trajectory_position",
        lambda: TrajectoryStep.objects.create(trajectory=trajectory, position=1, number=1),
    )
    breaks(
        "step_positions_start_at_one",
        lambda: TrajectoryStep.objects.create(trajectory=trajectory, position=0, number=1),
    )
    breaks("one_trajectory_per_corpus_format_and_external_id", lambda: copy_of(trajectory))
    assert Trajectory.objects.count() == 1


def test_a_version_is_published_once_and_keeps_its_corpus(corpus):
    release = Release.objects.create(corpus=corpus, version="1.0", digest="x", manifest={})
    breaks("one_release_per_corpus_and_version", lambda: copy_of(release))
    with pytest.raises(ProtectedError):
        Corpus.objects.get(pk=corpus.pk).delete()


def test_the_questions_of_dialogues(corpus):
    make_forks(corpus)
    assert Dialogue.objects.conformant().count() == 4
    assert Dialogue.objects.forked().count() == 64
    assert Dialogue.objects.scorable().count() == 68
    assert Dialogue.objects.fitting_half().count() == 2
