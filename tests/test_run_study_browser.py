"""The pages around a study of runs in a real browser, at both widths, in light and dark."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.enrolment import assign_seat
from annotation.models import ProblemReport, Seat, Study
from annotation.rehearsal import simulate_study
from tests.browsing import look, sign_in
from tests.run_studies import make_run_study

pytestmark = [pytest.mark.browser, pytest.mark.layout, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(annotator) -> Study:
    study = make_run_study(n_seats=5, n_simulated=4, phases=["consent", "instructions"])
    simulate_study(study)
    assignment = assign_seat(study, annotator).assignments.first()
    step = assignment.item.trajectory.steps.first()
    ProblemReport.objects.create(assignment=assignment, step=step, text="A table is cut off.")
    return study


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plan_disagreements_and_problems_pass_axe_and_fit_at_both_widths(
    page, client, researcher, live_server, study, scheme
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.emulate_media(color_scheme=scheme)
    for name in ("plan", "problems", "adjudication"):
        address = reverse(f"annotation:{name}", args=[study.slug])
        visitor.goto(f"{live_server.url}{address}?judges=all")
        for part in visitor.locator("main details").all():
            part.evaluate("part => part.open = true")
        look(visitor, f"runs-{name}-{scheme}", full_page=True)


def test_a_study_of_runs_is_drawn_and_launched_by_hand(
    page, client, researcher, live_server, study
):
    visitor = sign_in(page, client, researcher, live_server)
    visitor.goto(live_server.url + reverse("annotation:new-study"))
    visitor.get_by_role("link", name="Agent runs").click()
    look(visitor, "runs-new", full_page=True)
    visitor.get_by_label("Title").fill("Autumn round")
    visitor.get_by_label("Name in addresses").fill("autumn")
    visitor.get_by_label("spring-runs").uncheck()
    visitor.get_by_role("button", name="Draw the draft").click()
    assert "This field is required" in visitor.locator("main").inner_text()
    visitor.get_by_label("spring-runs").check()
    visitor.get_by_label("Judge", exact=True).select_option("judge-a")
    visitor.get_by_role("button", name="Draw the draft").click()
    visitor.get_by_role("button", name="Launch the study").click()
    assert "Frozen at the launch" in visitor.locator("main").inner_text()
    drawn = Study.objects.get(slug="autumn")
    assert (drawn.kind, drawn.state, drawn.judge.name) == ("runs", "open", "judge-a")


def test_consent_and_instructions_of_runs_pass_axe_and_fit_at_both_widths(
    page, client, annotator, live_server, study
):
    visitor = sign_in(page, client, annotator, live_server)
    seat = Seat.objects.get(user=annotator)
    visitor.goto(live_server.url + reverse("annotation:seat", args=[seat.pseudonym]))
    look(visitor, "runs-consent", full_page=True)
    visitor.get_by_role("button", name="I agree and take part").click()
    look(visitor, "runs-instructions", full_page=True)
    visitor.get_by_role("button", name="I have read this").click()
    assert "0 of" in visitor.locator("main").inner_text()
