"""Studies with phases for tests, and the answers that practice items wait for."""

from __future__ import annotations

from django.db import transaction

from annotation import enrolment, judging, practice
from annotation.models import Assignment, Study
from annotation.study_pools import StudyPool
from tests.small import make_corpus, make_forks

ALL = ["consent", "instructions", "practice", "questionnaire"]


def make_walk(
    slug: str = "winter",
    *,
    n_practice: int = 0,
    n_attention: int = 0,
    drawn=None,
    forks=None,
    **fields,
) -> Study:
    """A study of two seats with four forks each, besides practice and attention items.

    `fields` are fields of the study, such as phases and pass_mark; `drawn` what it is drawn from.
    """
    n_sources = 8 + n_practice + n_attention
    forks = forks or make_forks(make_corpus(f"{slug}-corpus", n=n_sources), f"{slug}-forks")
    shape = {"seed": 7, "n_seats": 2, "forks_per_seat": 4, "conformant_per_seat": 0}
    with transaction.atomic():
        study = enrolment.create_study(
            slug=slug,
            title="Winter round",
            forks=forks,
            **shape | (drawn or {}),
        )
        counts = {"n_practice": n_practice, "n_attention": n_attention}
        practice.add_items(study, StudyPool(forks), **counts, seed=study.seed)
    for name, value in fields.items():
        setattr(study, name, value)
    study.save()
    return study


def answer(assignment: Assignment, *, rightly: bool = True) -> None:
    """Finish an item with the answers it expects, or with a rating it does not expect."""
    expected = assignment.item.expected or {"rating": [50, 50], "appears": ["no"]}
    high = expected["rating"][1]
    wrong = 100 if high < 100 else 0
    judging.record_slider(assignment, high if rightly else wrong)
    if judging.is_attention(assignment):
        return
    onset = expected.get("onset", [None])[0]
    judging.record_confirmation(assignment, expected["appears"][0], onset)
    if judging.has_prefix(judging.fork_of(assignment)):
        judging.record_prefix(assignment, "yes")


def answer_all(assignments, *, rightly: bool = True) -> None:
    for assignment in assignments.select_related("item", "seat__study").order_by("rank"):
        answer(assignment, rightly=rightly)
