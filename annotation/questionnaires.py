"""What people are asked about themselves and the work at the end. No export of items holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation import phases
from annotation.models import QuestionnaireAnswer, Seat

QUESTIONS = ("service_years", "annotation_years", "fluency", "clarity", "comment")


def hand_in(seat: Seat, answers: Mapping[str, Any]) -> bool:
    """Store the answers that were given and lead on; False, and nothing changes, in another phase.

    Blank answers are not stored: nobody has to answer. Somebody who comes by again, after an item
    was opened once more, replaces what they said.

    Raises ValueError for a question that is not one of QUESTIONS.
    """
    if unknown := set(answers) - set(QUESTIONS):
        raise ValueError(f"{sorted(unknown)[0]!r} is no question of the questionnaire")
    given = {name: str(value) for name, value in answers.items() if value not in (None, "")}
    with transaction.atomic():
        if not phases.advance(seat, Seat.Phase.QUESTIONNAIRE):
            return False
        seat.questionnaire.all().delete()
        QuestionnaireAnswer.objects.bulk_create(
            QuestionnaireAnswer(seat=seat, question=name, answer=given[name])
            for name in QUESTIONS
            if name in given
        )
    return True
