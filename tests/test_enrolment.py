"""Studies are drawn once from a seed; seats go to people who do not know the conditions."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from annotation import enrolment, judging
from annotation.enrolment import EnrolmentRefused, assign_seat
from annotation.models import Item, Study
from benchmark.models import Corpus
from tests.small import make_corpus, make_forks
from tests.studies import make_study


def order_of(study: Study) -> list[list[tuple[str, bool, str]]]:
    return [
        [
            (a.item.dialogue.external_id, a.item.is_foil, a.item.instruction)
            for a in seat.assignments.select_related("item__dialogue").order_by("rank")
        ]
        for seat in study.seats.order_by("number")
    ]


def test_the_same_seed_draws_the_same_study_with_other_tokens(db):
    corpus = make_corpus(n=8)
    forks = make_forks(corpus)
    shared = {"title": "Round", "forks": forks, "n_seats": 2, "forks_per_seat": 4, "seed": 3}
    one = enrolment.create_study(slug="one", **shared)
    two = enrolment.create_study(slug="two", **shared)
    assert order_of(one) == order_of(two)
    tokens = [set(s.seats.values_list("assignments__token", flat=True)) for s in (one, two)]
    assert not tokens[0] & tokens[1]


def test_a_foil_is_of_another_type_and_whole_conversations_show_only_foils(db):
    study = make_study(n_seats=6)
    for item in Item.objects.filter(study=study).select_related("dialogue"):
        fork = item.dialogue.forks.first()
        if fork is None:
            assert item.is_foil
        elif item.is_foil:
            assert item.instruction_type != fork.type
        else:
            assert item.instruction == fork.instruction
            assert item.instruction_variant == fork.variant


def test_the_study_remembers_its_corpora_and_its_design(db):
    study = make_study()
    assert set(study.corpora.values_list("slug", flat=True)) == {"winter-corpus", "winter-forks"}
    assert study.design["forks_per_seat"] == 4
    assert sum(n for _, _, n, _ in study.design["coverage"]) == 15


@pytest.mark.parametrize("title", ["GR forks", "Conformant round", "Foil test", "Off-track talk"])
def test_a_title_that_tells_of_the_design_is_refused(forked, title):
    with pytest.raises(EnrolmentRefused, match="shown to annotators"):
        enrolment.create_study(slug="s", title=title, forks=forked, seed=1, n_seats=1)
    assert not Study.objects.exists()


def test_a_taken_slug_and_an_empty_corpus_are_refused(db):
    study = make_study()
    forks = Corpus.objects.get(slug="winter-forks")
    with pytest.raises(EnrolmentRefused, match="already"):
        enrolment.create_study(slug=study.slug, title="T", forks=forks, seed=1, n_seats=1)
    empty = Corpus.objects.create(slug="empty")
    with pytest.raises(EnrolmentRefused, match="no forks"):
        enrolment.create_study(slug="other", title="T", forks=empty, seed=1, n_seats=1)


def test_too_few_sources_are_refused_and_leave_nothing_behind(forked):
    with pytest.raises(EnrolmentRefused, match="fewer forks"):
        enrolment.create_study(slug="s", title="T", forks=forked, seed=1, n_seats=1)
    assert not Study.objects.exists()


def test_researchers_and_admins_cannot_take_a_seat(researcher, admin_user, db):
    study = make_study()
    for user in (researcher, admin_user):
        with pytest.raises(EnrolmentRefused, match="cannot annotate"):
            assign_seat(study, user)
    assert not study.seats.filter(user__isnull=False).exists()


def test_a_person_has_one_seat_and_no_simulated_one(annotator, other_annotator):
    study = make_study(n_seats=2, n_simulated=1)
    first = assign_seat(study, annotator)
    assert assign_seat(study, annotator) == first
    with pytest.raises(EnrolmentRefused, match="taken"):
        assign_seat(study, other_annotator)
    assert study.seats.get(simulated=True).user is None


def test_a_closed_study_takes_nobody(annotator):
    study = make_study(state=Study.State.CLOSED)
    with pytest.raises(EnrolmentRefused, match="closed"):
        assign_seat(study, annotator)


@pytest.mark.django_db(transaction=True)
def test_two_people_never_get_the_same_seat(annotator, other_annotator):
    study = make_study(n_seats=2)
    seats = []

    def take(user):
        try:
            seats.append(assign_seat(study, user).number)
        finally:
            connection.close()

    threads = [threading.Thread(target=take, args=[u]) for u in (annotator, other_annotator)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seats) == [1, 2]


def test_the_overview_counts_and_leads_on(annotator, django_assert_max_num_queries):
    seat = assign_seat(make_study(), annotator)
    with django_assert_max_num_queries(4):
        (card,) = enrolment.overview(annotator)
    first = seat.assignments.get(rank=1)
    assert card["next_url"] == f"/items/{first.token}/"
    assert (card["done"], card["total"], card["left"]) == (0, 5, 5)
    judging.record_skip(first, "other")
    (card,) = enrolment.overview(annotator)
    assert (card["done"], card["skipped"], card["next_number"]) == (1, 1, 2)


def test_somebody_who_learns_the_conditions_has_no_items_left(annotator, researcher):
    assign_seat(make_study(), annotator)
    annotator.groups.set(researcher.groups.all())
    assert enrolment.overview(annotator) == []
