"""A person's way through a study of runs, and what the team sees of it: every page fits runs."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import invitations, phases, reviewing
from annotation.enrolment import assign_seat
from annotation.models import Assignment, Item, ProblemReport, StepTime
from annotation.titles import revealing_word
from benchmark.models import TrajectoryStep
from tests.run_studies import JUDGE_NAME, make_run_study

WAY = ["consent", "instructions", "questionnaire"]


@pytest.fixture
def seat(annotator):
    return assign_seat(make_run_study(phases=WAY), annotator)


@pytest.fixture
def inside(client, researcher):
    client.force_login(researcher)
    return client


def body(page, status: int = 200) -> str:
    assert page.status_code == status, page.content[:1500]
    return page.content.decode()


def at(name: str, *args: object) -> str:
    return reverse(f"annotation:{name}", args=["spring", *args])


def page_of(client, seat) -> str:
    return body(client.get(reverse("annotation:seat", args=[seat.pseudonym])))


def send(client, seat, step: str, **values: str) -> str:
    address = reverse("annotation:seat-act", args=[seat.pseudonym, step])
    return body(client.post(address, values, follow=True))


def finish(seat) -> None:
    """Answer every item: nothing made up, and agreeing with the judge."""
    items = seat.assignments.filter(finished_at=None).select_related(
        "seat__study", "item__trajectory", "item__judge_answer"
    )
    for assignment in items:
        reviewing.record_review(assignment, {"present": "no"})
        if reviewing.has_comparison(assignment):
            reviewing.record_comparison(assignment, {"agreement": "agree", "changed": "no"})


def test_every_phase_speaks_of_runs_and_never_of_the_judge_by_name(visitor, seat):
    html = page_of(visitor, seat)
    assert "You read 6 records of how software agents worked" in html
    assert "conversation" not in html
    html = send(visitor, seat, "consent", agree="yes")
    for text in ("what an automatic judge said", "Procedural", "It fails, and makes nothing up"):
        assert text in html
    assert "conversation" not in html
    html = send(visitor, seat, "instructions")
    assert '<b class="num">0 of 6</b>' in html
    assert "about=runs" in html
    assert JUDGE_NAME not in html
    finish(seat)
    html = page_of(visitor, seat)
    assert "the field the runs are about" in html
    assert "customer service" not in html
    assert "Thank you" in send(visitor, seat, "questionnaire", clarity="4")
    seat.refresh_from_db()
    assert seat.state == "finished"


def test_a_person_walks_from_the_first_run_to_thanks_on_the_pages(visitor, seat):
    send(visitor, seat, "consent", agree="yes")
    send(visitor, seat, "instructions")
    for assignment in seat.assignments.order_by("rank"):
        review = reverse("annotation:review", args=[assignment.token])
        html = body(visitor.post(review, {"present": "no"}, follow=True))
        assert "judge-a" not in html  # the judge is shown, but never by name
        compare = reverse("annotation:compare", args=[assignment.token])
        visitor.post(compare, {"agreement": "agree", "changed": "no"})
    seat.refresh_from_db()
    assert (seat.phase, seat.assignments.filter(finished_at=None).count()) == ("questionnaire", 0)
    assert "Thank you" in send(visitor, seat, "questionnaire")


def test_no_page_of_a_seat_names_judge_run_corpus_or_condition(visitor, seat):
    telling = {JUDGE_NAME, "large-1", "spring-runs", "trajel"}
    telling |= set(seat.study.items.values_list("trajectory__external_id", flat=True))
    pages = [page_of(visitor, seat)]
    pages.append(send(visitor, seat, "consent", agree="yes"))
    pages.append(send(visitor, seat, "instructions"))
    pages.append(body(visitor.get("/")))
    finish(seat)
    pages.append(page_of(visitor, seat))
    pages.append(send(visitor, seat, "questionnaire"))
    for html in pages:
        assert [word for word in telling if word in html] == []
        assert revealing_word(html.replace("DialFork", "")) is None


def test_the_door_of_a_study_of_runs_speaks_of_runs(client, researcher):
    study = make_run_study()
    _, token = invitations.create(study, label="", days=1, people=1, actor=researcher)
    html = body(client.get(reverse("annotation:join", args=[token])))
    assert "records of how software agents worked" in html
    assert "conversation" not in html


def test_without_a_judge_no_comparison_is_announced(visitor, annotator):
    seat = assign_seat(make_run_study(judged=False, phases=["instructions"]), annotator)
    assert "language model" not in page_of(visitor, seat)


def test_a_run_is_read_and_answered_in_the_time_it_takes(seat):
    assert phases.minutes(seat) == 20  # six runs: three minutes each, and a little reading
    steps = TrajectoryStep.objects.filter(position=1)
    steps.update(thought="x" * 1200)
    assert phases.minutes(seat) == 25  # six minutes more
    steps.update(observation="x" * 100_000)
    assert phases.minutes(seat) == 35  # a long table is looked over, not read word for word


def test_the_home_page_tells_of_the_study(visitor, seat):
    (card,) = phases.cards(seat.user)
    assert (card["title"], card["total"], card["done"]) == ("Spring round", 6, 0)
    assert "Spring round" in body(visitor.get("/"))


def test_people_pages_count_runs(inside, seat):
    finish(seat)
    assignment = seat.assignments.order_by("rank").first()
    StepTime.objects.create(assignment=assignment, step="review", active_ms=61_000)
    html = body(inside.get(at("people")))
    assert "6 of 6" in html.replace("<b>", "").replace("</b>", "") or "6 / 6" in html
    html = body(inside.get(at("person", seat.pseudonym)))
    assert html.count("Finished</span>") == 6
    assert "1 min 1 s" in html
    ledger = inside.get(at("pay")).content.decode()
    assert f"{seat.pseudonym},1,active" in ledger
    assert ",6,6,61," in ledger


def test_a_started_run_is_in_progress(inside, seat):
    assignment = seat.assignments.select_related("item__trajectory", "item__judge_answer").first()
    reviewing.record_review(assignment, {"present": "no"})
    html = body(inside.get(at("person", seat.pseudonym)))
    assert html.count("In progress</span>") == 1
    assert html.count("Waiting</span>") == 5


def test_a_finished_run_is_opened_once_more_as_not_blind(inside, seat):
    finish(seat)
    rank = seat.assignments.order_by("rank").first().rank
    html = body(inside.post(at("reopen", seat.pseudonym, rank), follow=True))
    assert "not blind" in html
    again = Assignment.objects.get(attempt=2)
    assert (again.post_reveal, again.item.kind) == (True, Item.Kind.MAIN)


def test_a_problem_names_the_step_and_links_the_run(inside, seat, django_assert_num_queries):
    assignment = seat.assignments.select_related("item__trajectory").first()
    run = assignment.item.trajectory
    step = run.steps.get(position=2)
    for text in ("The table is cut off.", "Unreadable."):
        ProblemReport.objects.create(assignment=assignment, step=step, text=text)
    html = body(inside.get(at("problems")))
    assert "step 2" in html
    assert f'href="{run.get_absolute_url()}#step-2"' in html
    with django_assert_num_queries(6):
        inside.get(at("problems"))
    ProblemReport.objects.create(assignment=assignment, text="No step at all.")
    with django_assert_num_queries(6):
        inside.get(at("problems"))


def test_the_list_of_studies_says_what_is_judged(inside, seat):
    html = body(inside.get(reverse("annotation:studies")))
    assert "Agent runs" in html
    assert "0 of 24" in html


@pytest.mark.parametrize("name", ["people", "problems", "audit", "invitations", "exports", "plan"])
def test_every_page_about_the_study_opens(inside, seat, name):
    assert "Spring round" in body(inside.get(at(name)))
