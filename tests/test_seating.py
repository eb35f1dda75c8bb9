"""Seats: one person each, given up when left, passed on once, never taken from who finished."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from annotation import judging, seating
from annotation.judging import ItemEnded
from annotation.models import Assignment, AuditEntry, Draft, Item, Seat, SliderRating, Study
from annotation.seating import EnrolmentRefused, NoSeatLeft, SeatRefused
from tests.studies import make_study

HOURS_30 = timedelta(hours=30)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def study(db) -> Study:
    return make_study(n_seats=1)


@pytest.fixture
def held(study, annotator) -> Seat:
    """The only seat of the study, given up after 30 hours without activity."""
    Study.objects.filter(pk=study.pk).update(idle_hours=30)
    study.refresh_from_db()
    return seating.take(study, annotator)


def finish(assignment: Assignment) -> None:
    judging.record_slider(assignment, 50)
    judging.record_confirmation(assignment, "no")
    if judging.open_step(assignment) == "prefix":
        judging.record_prefix(assignment, "yes")


def left_since(seat: Seat, duration: timedelta) -> None:
    """As if the person had last been there `duration` ago."""
    now = timezone.now()
    seat.last_active_at = now - duration
    seat.expires_at = seat.last_active_at + timedelta(hours=seat.study.idle_hours)
    seat.save()


def items_of(seat: Seat) -> list[int]:
    return list(seat.assignments.order_by("rank").values_list("item_id", flat=True))


def test_a_taken_seat_says_until_when_it_is_held(held):
    assert (held.state, held.phase) == (Seat.State.ACTIVE, Seat.Phase.MAIN)
    assert held.expires_at - held.last_active_at == HOURS_30


def test_one_minute_before_its_time_a_seat_is_kept_and_one_minute_after_it_is_not(held):
    start = held.last_active_at
    assert seating.sweep(start + HOURS_30 - MINUTE) == 0
    assert seating.sweep(start + HOURS_30 + MINUTE) == 1
    held.refresh_from_db()
    assert held.state == Seat.State.EXPIRED


def test_a_second_sweep_changes_nothing(held):
    later = held.last_active_at + HOURS_30 + MINUTE
    assert [seating.sweep(later), seating.sweep(later)] == [1, 0]
    assert AuditEntry.objects.filter(action="seat.expired").count() == 1


def test_what_is_finished_never_expires(held):
    first, second = held.assignments.order_by("rank")[:2]
    finish(first)
    judging.record_slider(second, 70)
    seating.sweep(held.last_active_at + timedelta(days=10))
    ended = dict(held.assignments.values_list("rank", "ended"))
    assert ended == {1: "", 2: "expired", 3: "expired", 4: "expired", 5: "expired"}
    assert held.assignments.get(rank=1).finished_at is not None


def test_a_seat_with_every_item_finished_never_expires(held):
    for assignment in held.assignments.all():
        finish(assignment)
    later = held.last_active_at + timedelta(days=10)
    assert [seating.sweep(later), seating.sweep(later)] == [0, 0]
    held.refresh_from_db()
    assert held.state != Seat.State.EXPIRED


def test_who_comes_next_gets_exactly_what_was_left_unfinished(held, other_annotator):
    first, second = held.assignments.order_by("rank")[:2]
    finish(first)
    judging.record_slider(second, 70)
    left_since(held, HOURS_30 + MINUTE)
    seat = seating.take(held.study, other_annotator)
    assert (seat.number, seat.succeeds, seat.state) == (2, held, Seat.State.ACTIVE)
    assert items_of(seat) == items_of(held)[1:]
    assert list(seat.assignments.values_list("rank", flat=True)) == [1, 2, 3, 4]
    tokens = [set(s.assignments.values_list("token", flat=True)) for s in (held, seat)]
    assert not tokens[0] & tokens[1]
    assert not SliderRating.objects.filter(assignment__seat=seat).exists()
    assert SliderRating.objects.get(assignment=second).value == 70


def test_before_the_time_is_over_the_next_person_gets_nothing(held, other_annotator):
    left_since(held, HOURS_30 - MINUTE)
    with pytest.raises(NoSeatLeft, match="taken"):
        seating.take(held.study, other_annotator)
    assert not other_annotator.seats.exists()


def test_a_late_answer_is_refused_and_the_totals_stay(held, other_annotator):
    late = held.assignments.get(rank=1)
    left_since(held, HOURS_30 + MINUTE)
    seat = seating.take(held.study, other_annotator)
    with pytest.raises(ItemEnded):
        judging.record_slider(late, 20)
    assert not SliderRating.objects.exists()
    finish(seat.assignments.get(item=late.item))
    open_or_done = Assignment.objects.filter(ended="")
    assert open_or_done.filter(item=late.item).count() == 1
    assert open_or_done.count() == 5


def test_the_late_persons_pages_say_so_and_their_draft_stays(client, held, annotator):
    late = held.assignments.get(rank=1)
    Draft.objects.create(assignment=late, step="rate", values={"rating": 20})
    left_since(held, HOURS_30 + MINUTE)
    seat = seating.take(held.study, User.objects.create(username="next"))
    client.force_login(annotator)
    answer = client.post(f"/items/{late.token}/rate/", {"rating": "20"})
    assert answer.status_code == 409
    assert "somebody else" in answer.text
    assert Draft.objects.get(assignment=late).values == {"rating": 20}
    assert not SliderRating.objects.exists()
    assert seat.assignments.unfinished().count() == 5


def test_a_place_that_was_left_idle_is_had_back_from_its_page(client, held, annotator):
    left_since(held, HOURS_30 + MINUTE)
    seating.sweep()
    client.force_login(annotator)
    page = f"/seats/{held.pseudonym}/"
    assert "Ask for the place back" in client.get(page).text
    assert client.post(f"{page}return/").url == page
    held.refresh_from_db()
    assert held.state == Seat.State.ACTIVE
    seating.expire(held)
    assert "Ask for the place back" not in client.get(page).text
    client.post(f"{page}return/")
    held.refresh_from_db()
    assert held.state == Seat.State.EXPIRED


def test_each_judge_of_an_item_judges_it_alone(annotator, other_annotator, db):
    study = make_study(n_seats=2, overlap=0.4)
    one, two = (seating.take(study, user) for user in (annotator, other_annotator))
    shared = set(items_of(one)) & set(items_of(two))
    assert shared
    finish(one.assignments.get(item_id=min(shared)))
    theirs = two.assignments.get(item_id=min(shared))
    assert theirs in two.assignments.unfinished()
    assert judging.answers(theirs).slider is None
    assert min(shared) not in one.assignments.unfinished().values_list("item_id", flat=True)


def test_practice_and_attention_items_are_given_again(held, other_annotator):
    dialogue = held.assignments.get(rank=1).item.dialogue
    for rank, kind in ((6, Item.Kind.PRACTICE), (7, Item.Kind.ATTENTION)):
        item = Item.objects.create(
            study=held.study, kind=kind, dialogue=dialogue, instruction="x", is_foil=True
        )
        Assignment.objects.create(seat=held, item=item, rank=rank, finished_at=timezone.now())
    seating.expire(held)
    seat = seating.take(held.study, other_annotator)
    assert items_of(seat) == items_of(held)
    assert not seat.assignments.filter(finished_at__isnull=False).exists()


def test_a_person_who_failed_or_declined_leaves_their_place(held, other_annotator):
    for state in (Seat.State.SCREENED_OUT, Seat.State.DECLINED):
        Seat.objects.filter(pk=held.pk).update(state=state)
        assert seating.sweep(timezone.now() + timedelta(days=90)) == 0
    assert seating.take(held.study, other_annotator).succeeds == held
    assert set(held.assignments.values_list("ended", flat=True)) == {"expired"}


def test_activity_renews_the_seat_and_writes_once_a_minute(held, django_assert_num_queries):
    start = held.last_active_at
    with django_assert_num_queries(0):
        assert seating.touch(held, now=start + timedelta(seconds=59))
    with django_assert_num_queries(1):
        assert seating.touch(held, now=start + timedelta(seconds=61))
    held.refresh_from_db()
    assert held.expires_at == start + timedelta(seconds=61) + HOURS_30


def test_activity_does_not_shorten_the_time_that_was_given(held):
    until = held.expires_at + timedelta(days=9)
    Seat.objects.filter(pk=held.pk).update(expires_at=until)
    assert seating.touch(held, now=held.last_active_at + MINUTE)
    held.refresh_from_db()
    assert held.expires_at == until


def test_a_seat_from_before_there_was_a_time_limit_gets_one_with_activity(held):
    Seat.objects.filter(pk=held.pk).update(expires_at=None, last_active_at=None)
    held.refresh_from_db()
    now = timezone.now()
    assert seating.touch(held, now=now)
    assert held.expires_at == now + HOURS_30
    held.refresh_from_db()
    assert held.expires_at == now + HOURS_30


def test_a_seat_that_was_given_up_is_not_kept_alive(held):
    mine = Seat.objects.select_related("study").get(pk=held.pk)
    seating.expire(held)
    assert not seating.touch(mine, now=mine.last_active_at + timedelta(hours=1))
    assert not seating.touch(held)
    mine.refresh_from_db()
    assert mine.state == Seat.State.EXPIRED


def test_who_comes_back_before_anybody_else_goes_on_where_they_were(held, annotator):
    judging.record_slider(held.assignments.get(rank=1), 70)
    left_since(held, HOURS_30 + MINUTE)
    seating.sweep()
    again = seating.take(held.study, annotator)
    assert (again, again.state) == (held, Seat.State.ACTIVE)
    assert set(held.assignments.values_list("ended", flat=True)) == {""}
    assert judging.open_step(held.assignments.get(rank=1)) == "instruction"


def test_a_seat_that_was_passed_on_does_not_come_back(held, annotator, other_annotator):
    left_since(held, HOURS_30 + MINUTE)
    seating.take(held.study, other_annotator)
    mine = seating.take(held.study, annotator)
    assert (mine, mine.state) == (held, Seat.State.EXPIRED)
    assert not seating.revive(held)


def test_a_seat_that_was_taken_away_comes_back_only_through_a_researcher(
    held, annotator, researcher
):
    assert seating.expire(held, actor=researcher, reason="returned")
    assert not seating.expire(held)
    assert seating.take(held.study, annotator).state == Seat.State.EXPIRED
    assert seating.revive(held, actor=researcher)
    assert seating.take(held.study, annotator).state == Seat.State.ACTIVE
    assert AuditEntry.objects.filter(actor=researcher).count() == 2


def test_a_paused_seat_waits_without_expiring(held, researcher):
    assert seating.pause(held, actor=researcher)
    assert not seating.touch(held)
    assert seating.sweep(timezone.now() + timedelta(days=90)) == 0
    assert not seating.pause(held)
    assert seating.resume(held, actor=researcher)
    assert held.expires_at > timezone.now() + timedelta(hours=29)
    mine = AuditEntry.objects.filter(seat=held).order_by("pk")
    actions = mine.values_list("action", "actor", "seat")
    assert list(actions) == [
        ("seat.paused", researcher.pk, held.pk),
        ("seat.resumed", researcher.pk, held.pk),
    ]


def test_who_pauses_is_waited_for_longer_but_not_for_ever(held, annotator, other_annotator):
    start = timezone.now()
    assert seating.pause(held, actor=annotator)
    assert seating.sweep(start + 7 * HOURS_30 - MINUTE) == 0
    assert seating.sweep(start + 7 * HOURS_30 + MINUTE) == 1
    assert seating.take(held.study, other_annotator).succeeds == held


def test_a_study_without_a_time_limit_lets_nobody_expire(study, annotator):
    Study.objects.filter(pk=study.pk).update(idle_hours=0)
    study.refresh_from_db()
    seat = seating.take(study, annotator)
    assert seat.expires_at is None
    assert seating.sweep(timezone.now() + timedelta(days=900)) == 0


def test_a_researcher_opens_a_place_for_what_a_withdrawn_person_left(
    held, researcher, other_annotator
):
    finish(held.assignments.get(rank=1))
    with pytest.raises(SeatRefused, match="active"):
        seating.reassign(held, actor=researcher)
    held.assignments.unfinished().update(ended="withdrawn")
    Seat.objects.filter(pk=held.pk).update(state=Seat.State.WITHDRAWN)
    with pytest.raises(NoSeatLeft):
        seating.take(held.study, other_annotator)
    free = seating.reassign(held, actor=researcher)
    assert (free.state, free.user, free.succeeds) == (Seat.State.FREE, None, held)
    assert items_of(free) == items_of(held)[1:]
    with pytest.raises(SeatRefused, match="passed on before"):
        seating.reassign(held, actor=researcher)
    assert seating.take(held.study, other_annotator) == free


def test_a_seat_with_nothing_unfinished_cannot_be_passed_on(held, researcher):
    for assignment in held.assignments.all():
        finish(assignment)
    Seat.objects.filter(pk=held.pk).update(state=Seat.State.WITHDRAWN)
    with pytest.raises(SeatRefused, match="no unfinished"):
        seating.reassign(held, actor=researcher)


def at_once(users, claim) -> tuple[list, list]:
    """What `claim(user)` gave and what it refused, all users at the same moment."""
    given, refused = [], []
    ready = threading.Barrier(len(users))

    def one(user):
        try:
            ready.wait()
            given.append(claim(user))
        except EnrolmentRefused as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=[user]) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return given, refused


@pytest.fixture
def crowd_of_20(transactional_db) -> list[User]:
    return User.objects.bulk_create([User(username=f"p{n}") for n in range(20)])


def test_of_20_people_at_once_two_get_the_two_seats(crowd_of_20):
    study = make_study(n_seats=2)
    given, refused = at_once(crowd_of_20, lambda user: seating.take(study, user))
    assert sorted(seat.number for seat in given) == [1, 2]
    assert len({seat.user_id for seat in given}) == 2
    assert len(refused) == 18


def test_of_20_people_at_once_two_take_over_the_two_seats_that_were_left(crowd_of_20):
    study = make_study(n_seats=2)
    leavers = User.objects.bulk_create([User(username=f"left{n}") for n in range(2)])
    old = [seating.take(study, user) for user in leavers]
    for seat in old:
        left_since(seat, timedelta(days=3))
    given, refused = at_once(crowd_of_20, lambda user: seating.take(study, user))
    assert sorted(seat.number for seat in given) == [3, 4]
    assert {seat.succeeds_id for seat in given} == {seat.pk for seat in old}
    assert len(refused) == 18
    assert Assignment.objects.filter(ended="").count() == 10


def test_one_person_at_20_doors_gets_one_seat(crowd_of_20):
    study = make_study(n_seats=5)
    given, refused = at_once(crowd_of_20[:1] * 20, lambda user: seating.take(study, user))
    assert len({seat.pk for seat in given}) == 1
    assert len(given) == 20
    assert not refused


def test_an_answer_at_the_moment_of_expiry_is_stored_or_refused_never_both(crowd_of_20):
    study = make_study(n_seats=1)
    seat = seating.take(study, crowd_of_20[0])
    left_since(seat, timedelta(days=3))
    assignments = list(seat.assignments.all())
    stored, lost = [], []
    ready = threading.Barrier(len(assignments) + 1)

    def answer(assignment):
        try:
            ready.wait()
            stored.append(judging.record_skip(assignment, "other").assignment_id)
        except (ItemEnded, judging.AnsweredBefore):
            lost.append(assignment.pk)
        finally:
            connection.close()

    def expire():
        try:
            ready.wait()
            seating.sweep()
        finally:
            connection.close()

    threads = [threading.Thread(target=answer, args=[one]) for one in assignments]
    threads.append(threading.Thread(target=expire))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = Assignment.objects.filter(seat=seat)
    assert {row.pk for row in rows if row.finished_at} == set(stored)
    assert {row.pk for row in rows if row.ended} == set(lost)
    assert len(stored) + len(lost) == 5
