"""Each rule the database keeps about studies and answers, broken once."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Seat,
    Skip,
    SliderRating,
)
from tests.studies import make_study


@pytest.fixture
def study(db):
    return make_study()


@pytest.fixture
def assignment(study):
    return Assignment.objects.filter(seat__study=study, rank=1).first()


def refused(make):
    with pytest.raises(IntegrityError), transaction.atomic():
        make()


def test_one_seat_per_number_and_person(study, annotator):
    refused(lambda: Seat.objects.create(study=study, number=1))
    Seat.objects.create(study=study, number=10, user=annotator)
    refused(lambda: Seat.objects.create(study=study, number=11, user=annotator))


def test_a_simulated_seat_has_no_person(study, annotator):
    refused(lambda: Seat.objects.create(study=study, number=9, user=annotator, simulated=True))


def test_one_assignment_per_item_and_rank(assignment):
    seat, item = assignment.seat, assignment.item
    other = seat.assignments.get(rank=2).item
    refused(lambda: Assignment.objects.create(seat=seat, item=item, rank=99))
    assert other != item
    refused(lambda: Assignment.objects.filter(pk=assignment.pk).update(rank=2))


def test_one_item_per_dialogue_and_foil(assignment):
    item = assignment.item
    refused(
        lambda: Item.objects.create(
            study=item.study,
            dialogue=item.dialogue,
            is_foil=item.is_foil,
            instruction="x",
            instruction_type="GR",
            instruction_variant="x",
        )
    )


def test_answers_are_known_words_and_numbers(assignment):
    refused(lambda: SliderRating.objects.create(assignment=assignment, value=101))
    slider = SliderRating.objects.create(assignment=assignment, value=3)
    refused(lambda: InstructionConfirmation.objects.create(slider=slider, answer="maybe"))
    confirmation = InstructionConfirmation.objects.create(slider=slider, answer="no")
    onset = OnsetMark.objects.create(confirmation=confirmation)
    refused(lambda: PrefixJudgement.objects.create(onset=onset, answer="partly"))
    refused(lambda: Skip.objects.create(assignment=assignment, reason="bored"))


def test_each_step_is_answered_once(assignment):
    slider = SliderRating.objects.create(assignment=assignment, value=3)
    refused(lambda: SliderRating.objects.create(assignment=assignment, value=3))
    confirmation = InstructionConfirmation.objects.create(slider=slider, answer="no")
    refused(lambda: InstructionConfirmation.objects.create(slider=slider, answer="no"))
    onset = OnsetMark.objects.create(confirmation=confirmation)
    refused(lambda: OnsetMark.objects.create(confirmation=confirmation))
    PrefixJudgement.objects.create(onset=onset, answer="no")
    refused(lambda: PrefixJudgement.objects.create(onset=onset, answer="no"))


def test_a_pseudonym_is_drawn_in_its_form(study):
    seat = Seat(study=study, number=12, pseudonym="Ann Example")
    with pytest.raises(ValidationError):
        seat.full_clean()
    drawn = set(study.seats.values_list("pseudonym", flat=True))
    assert len(drawn) == 3
    assert all(name.startswith("A-") for name in drawn)


def test_tokens_do_not_sort_by_rank(study):
    tokens = list(
        Assignment.objects.filter(seat__study=study)
        .order_by("seat", "rank")
        .values_list("token", flat=True)
    )
    assert all(len(token) == 22 for token in tokens)
    assert tokens != sorted(tokens)
