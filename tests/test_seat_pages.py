"""A person's page of a study shows the phase they are in, and takes what it asks, once."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation import commitments, crowd, phases, seating
from annotation.enrolment import assign_seat
from annotation.models import CrowdIdentity, Message, QuestionnaireAnswer, Seat, Study
from annotation.titles import revealing_word
from tests.studies import make_study
from tests.walks import ALL, answer, answer_all, make_walk

CODES = {
    "complete": "DONE01",
    "screened_out": "OUT02",
    "no_consent": "NO03",
    "partial": "PART04",
}


@pytest.fixture
def seat(annotator):
    study = make_walk(
        n_practice=2, n_attention=1, phases=ALL, pass_mark=2, rate_per_hour="9.50", currency="GBP"
    )
    return assign_seat(study, annotator)


@pytest.fixture
def visitor(client, annotator):
    client.force_login(annotator)
    return client


def page(visitor, seat, status: int = 200) -> str:
    response = visitor.get(reverse("annotation:seat", args=[seat.pseudonym]))
    assert response.status_code == status
    return response.content.decode()


def send(visitor, seat, step: str, **data):
    return visitor.post(reverse("annotation:seat-act", args=[seat.pseudonym, step]), data)


def stored(seat: Seat) -> tuple[str, str]:
    fresh = Seat.objects.get(pk=seat.pk)
    return fresh.state, fresh.phase


def put(seat: Seat, **change) -> Seat:
    Seat.objects.filter(pk=seat.pk).update(**change)
    seat.refresh_from_db()
    return seat


def walk_to(seat: Seat, phase: str) -> Seat:
    """The seat in `phase`, with the items before it answered as they should be."""
    if phase in ("main", "questionnaire", "done"):
        answer_all(phases.items_of(seat, practising=True))
    if phase in ("questionnaire", "done"):
        answer_all(phases.items_of(seat, practising=False))
    change = {"state": "finished"} if phase == "done" else {}
    return put(seat, phase=phase, **change)


def test_the_whole_way_from_consent_to_thanks(visitor, seat):
    text = page(visitor, seat)
    assert "I agree and take part" in text
    assert "9.50 GBP per hour" in text
    assert re.search(r"about \d+ minutes", text)
    assert send(visitor, seat, "consent", agree="yes").status_code == 302
    assert "I have read this" in page(visitor, seat)
    send(visitor, seat, "instructions")
    assert "Start practice item 1" in page(visitor, seat)
    first, second = phases.items_of(seat, practising=True).order_by("rank")
    answer(first)
    text = page(visitor, seat)
    assert "Start practice item 2" in text
    assert reverse("annotation:item", args=[first.token]) in text
    answer(second)
    assert "2 of 2</b> right" in page(visitor, seat)
    send(visitor, seat, "practice")
    assert "Start item 1" in page(visitor, seat)
    answer_all(phases.items_of(seat, practising=False))
    assert "A few questions" in page(visitor, seat)
    send(visitor, seat, "questionnaire", clarity="4", comment="Fine.")
    text = page(visitor, seat)
    assert "You have finished 5 items" in text
    assert commitments.head(seat) in text
    assert reverse("annotation:withdraw", args=[seat.pseudonym]) in text
    assert stored(seat) == ("finished", "done")


@pytest.mark.parametrize("here", ["consent", "instructions", "practice", "main", "questionnaire"])
def test_what_is_sent_out_of_turn_changes_nothing_and_leads_back(visitor, seat, here):
    walk_to(seat, here)
    data = {"agree": "no", "clarity": "5"}
    for step in {"consent", "instructions", "practice", "questionnaire"} - {here}:
        response = send(visitor, seat, step, **data)
        assert response.status_code == 302
        assert response.url == reverse("annotation:seat", args=[seat.pseudonym])
        assert stored(seat) == ("active", here)
    assert not QuestionnaireAnswer.objects.exists()


def test_sending_the_same_twice_is_sending_it_once(visitor, seat):
    for _ in range(2):
        assert send(visitor, seat, "consent", agree="yes").status_code == 302
        assert stored(seat) == ("active", "instructions")
    for _ in range(2):
        send(visitor, seat, "instructions")
        assert stored(seat) == ("active", "practice")
    walk_to(seat, "questionnaire")
    for clarity in "42":
        send(visitor, seat, "questionnaire", clarity=clarity)
    assert QuestionnaireAnswer.objects.get().answer == "4"


def test_the_study_says_what_people_agree_to_and_nothing_in_it_is_markup(visitor, seat):
    Study.objects.update(consent="You agree to <b>this</b>.\n\nAnd to that.")
    text = page(visitor, seat)
    assert "You agree to &lt;b&gt;this&lt;/b&gt;." in text
    assert "Who asks" not in text


def test_consent_wants_an_answer(visitor, seat):
    response = send(visitor, seat, "consent", agree="perhaps")
    assert response.status_code == 400
    assert "Say whether you agree or not." in response.content.decode()
    assert stored(seat) == ("active", "consent")


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ({"state": "finished", "phase": "done"}, "complete"),
        ({"state": "screened_out", "phase": "practice"}, "screened_out"),
        ({"state": "declined", "phase": "consent"}, "no_consent"),
        ({"state": "expired", "phase": "main"}, "partial"),
    ],
)
def test_every_end_has_its_own_code_and_a_reload_shows_the_same(visitor, seat, end, kind):
    CrowdIdentity.objects.create(study=seat.study, seat=seat, person="a" * 24)
    Study.objects.update(codes=CODES)
    put(seat, **end)
    texts = {re.sub(r'value="\w{64}"', "", page(visitor, seat)) for _ in range(2)}
    (text,) = texts
    assert CODES[kind] in text
    assert f"{crowd.COMPLETION}?cc={CODES[kind]}" in text
    for other in set(CODES) - {kind}:
        assert CODES[other] not in text


def test_a_person_at_work_sees_no_code(visitor, seat):
    CrowdIdentity.objects.create(study=seat.study, seat=seat, person="a" * 24)
    Study.objects.update(codes=CODES)
    for phase in ("consent", "instructions", "practice", "main", "questionnaire"):
        put(seat, phase=phase)
        assert not re.search("|".join(CODES.values()), page(visitor, seat))


def test_who_fails_the_practice_is_told_kindly_and_gets_no_items(visitor, seat):
    put(seat, phase="practice")
    answer_all(phases.items_of(seat, practising=True), rightly=False)
    text = page(visitor, seat)
    assert "0 of 2 practice items were right" in text
    assert "says nothing about you" in text
    assert stored(seat) == ("screened_out", "practice")
    item = phases.items_of(seat, practising=False).first()
    assert visitor.get(reverse("annotation:rate", args=[item.token])).status_code == 409


def test_a_pause_stops_the_seat_until_its_person_goes_on(visitor, seat):
    put(seat, phase="main")
    item = phases.waiting(seat)
    for _ in range(2):
        send(visitor, seat, "pause")
    assert stored(seat) == ("paused", "main")
    assert "You have paused" in page(visitor, seat)
    response = visitor.post(reverse("annotation:rate", args=[item.token]), {"rating": 50})
    assert response.status_code == 409
    for _ in range(2):
        send(visitor, seat, "resume")
    assert stored(seat) == ("active", "main")
    assert seat.audit.values_list("action", flat=True).count() == 2


def test_a_pause_by_the_study_team_is_not_undone_by_the_person(visitor, seat, researcher):
    seating.pause(seat, actor=researcher)
    text = page(visitor, seat)
    assert "The study team has paused your place" in text
    assert "/resume/" not in text
    send(visitor, seat, "resume")
    assert stored(seat)[0] == "paused"


def test_who_was_away_too_long_takes_a_place_back_that_nobody_took(visitor, seat):
    put(seat, phase="main")
    first = phases.waiting(seat)
    answer(first)
    put(seat, expires_at=timezone.now() - timedelta(minutes=1))
    assert seating.sweep() == 1
    assert "Ask for the place back" in page(visitor, seat)
    for _ in range(2):
        visitor.post(reverse("annotation:return-to-seat", args=[seat.pseudonym]))
        assert stored(seat) == ("active", "main")
    assert "1 of 5</b> items done" in page(visitor, seat)


def test_a_place_that_was_taken_over_or_away_does_not_come_back(visitor, seat, other_annotator):
    put(seat, expires_at=timezone.now() - timedelta(minutes=1))
    seat.study.seats.filter(user=None).delete()
    assert seating.sweep() == 1
    assert assign_seat(seat.study, other_annotator).succeeds == seat
    assert "Ask for the place back" not in page(visitor, seat)
    visitor.post(reverse("annotation:return-to-seat", args=[seat.pseudonym]))
    assert stored(seat)[0] == "expired"


@pytest.mark.parametrize(
    ("state", "sentence"), [("paused", "The study is paused"), ("closed", "The study is closed")]
)
def test_a_study_that_rests_takes_nothing(visitor, seat, state, sentence):
    Study.objects.update(state=state)
    assert sentence in page(visitor, seat)
    for step in ("consent", "pause", "resume"):
        send(visitor, seat, step, agree="yes")
        assert stored(seat) == ("active", "consent")
    put(seat, state="finished", phase="done")
    assert "Thank you" in page(visitor, seat)


def test_questions_can_all_stay_blank(visitor, seat):
    walk_to(seat, "questionnaire")
    send(visitor, seat, "questionnaire", service_years="", comment="")
    assert stored(seat) == ("finished", "done")
    assert not QuestionnaireAnswer.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("service_years", "-1", "from 0 to 80"),
        ("annotation_years", "many", "from 0 to 80"),
        ("fluency", "perfect", "Choose one of the answers"),
        ("clarity", "6", "Choose one of the answers"),
        ("comment", "x" * 2001, "under 2000 characters"),
    ],
)
def test_a_wrong_answer_to_a_question_is_named_and_the_others_are_kept(
    visitor, seat, field, value, sentence
):
    walk_to(seat, "questionnaire")
    answers = {"service_years": "12", "clarity": "2", "comment": "Long."} | {field: value}
    response = send(visitor, seat, "questionnaire", **answers)
    text = response.content.decode()
    assert response.status_code == 400
    assert sentence in text
    if field != "service_years":
        assert 'value="12"' in text
    assert stored(seat) == ("active", "questionnaire")
    assert not QuestionnaireAnswer.objects.exists()


def test_nobody_else_sees_a_seat(client, seat, other_annotator, researcher, admin_user):
    urls = [
        reverse("annotation:seat", args=[seat.pseudonym]),
        reverse("annotation:seat-act", args=[seat.pseudonym, "consent"]),
    ]
    for user in (other_annotator, researcher, admin_user):
        client.force_login(user)
        for url in urls:
            assert client.get(url).status_code == 404
        assert client.post(urls[1], {"agree": "no"}).status_code == 404
    client.logout()
    assert client.get(urls[0]).status_code == 302
    assert stored(seat) == ("active", "consent")


def test_who_learns_the_conditions_loses_the_page(visitor, seat, annotator, researcher):
    annotator.groups.set(researcher.groups.all())
    page(visitor, seat, status=404)


def test_a_draft_has_no_page(visitor, seat):
    Study.objects.update(state="draft")
    page(visitor, seat, status=404)


def test_an_unknown_step_is_not_there_and_a_known_one_is_no_page(visitor, seat):
    assert send(visitor, seat, "everything").status_code == 404
    url = reverse("annotation:seat-act", args=[seat.pseudonym, "consent"])
    assert visitor.get(url).status_code == 302
    assert visitor.put(url).status_code == 405


def test_pages_are_never_kept_and_name_no_condition(visitor, seat):
    for phase in ("consent", "instructions", "practice", "main", "questionnaire", "done"):
        walk_to(seat, phase) if phase == "done" else put(seat, phase=phase)
        response = visitor.get(reverse("annotation:seat", args=[seat.pseudonym]))
        assert "no-store" in response["Cache-Control"]
        text = response.content.decode().replace("DialFork", "")
        assert revealing_word(text) is None
        assert seat.study.slug + "-" not in text


def test_words_from_the_study_team_are_on_the_page_until_read(visitor, seat):
    message = Message.objects.create(seat=seat, text="Please go on by Friday.")
    assert "Please go on by Friday." in page(visitor, seat)
    visitor.post(reverse("annotation:message-read", args=[message.pk]), {"back": "/"})
    assert "Please go on by Friday." not in page(visitor, seat)


def test_the_page_of_a_phase_costs_the_same_however_many_items(
    visitor, seat, django_assert_max_num_queries
):
    for phase in ("consent", "instructions", "practice", "main", "questionnaire"):
        put(seat, phase=phase)
        with django_assert_max_num_queries(12):
            page(visitor, seat)


def test_a_study_without_phases_has_a_page_with_its_items_and_thanks(visitor, annotator):
    seat = assign_seat(make_study(), annotator)
    text = page(visitor, seat)
    assert "Start item 1" in text
    assert "Your way through the study" not in text
    answer_all(seat.assignments.all())
    assert "Thank you" in page(visitor, seat)


@pytest.mark.parametrize("kind", ["practice", "attention"])
def test_the_first_step_of_every_kind_of_item_looks_the_same(visitor, seat, kind):
    """Apart from the texts, an attention or a practice item has the markup of any other."""
    frames = set()
    for item in (
        seat.assignments.main().first(),
        seat.assignments.filter(item__kind=kind).first(),
    ):
        put(seat, phase="practice" if item.item.kind == "practice" else "main")
        html = visitor.get(reverse("annotation:rate", args=[item.token])).content.decode()
        turns = re.search(r'<ol class="turns">.*?</ol>', html, flags=re.DOTALL)[0]
        assert len(re.findall("<li", turns)) == item.item.dialogue.n_turns
        html = html.replace(turns, "").replace(item.token, "TOKEN")
        html = re.sub(r'(name="csrfmiddlewaretoken" value)="\w+"', "", html)
        html = re.sub(r"(Practice item|Item) \d+( of \d+)?", "Item", html)
        html = re.sub(r"\d+ of \d+", "N of N", html)
        html = re.sub(r'(max|value)="\d+"', "", html)
        frames.add(re.sub(r"(data-revision|data-saved-at)=\"[^\"]*\"", "", html))
    assert len(frames) == 1


def test_an_attention_item_shows_its_altered_turn_only(visitor, seat):
    put(seat, phase="main")
    asked = seat.assignments.filter(item__kind="attention").select_related("item__dialogue").get()
    ((number, altered),) = asked.item.altered.items()
    html = visitor.get(reverse("annotation:rate", args=[asked.token])).content.decode()
    own = asked.item.dialogue.turns.get(number=int(number)).text
    shown = re.search(rf'id="turn-{number}".*?</li>', html, flags=re.DOTALL)[0]
    assert str(asked.item.expected["rating"][0]) in shown
    assert altered.split("?")[-1].strip()[:20] in shown
    assert f'<span dir="auto">{own}</span>' not in shown


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"phase": "consent"}, "First, read what taking part means."),
        ({"phase": "instructions"}, "Next, read what to do."),
        ({"phase": "practice"}, "Start practice item 1"),
        ({"phase": "main"}, "Start item 1"),
        ({"phase": "questionnaire"}, "A few questions are left."),
        ({"phase": "main", "state": "paused"}, "Paused. Nothing is lost"),
        ({"phase": "done", "state": "finished"}, "Thanks and receipt"),
        ({"state": "screened_out"}, "Your part in this study has ended."),
    ],
)
def test_the_start_page_says_where_one_is_and_what_comes_next(visitor, seat, change, said):
    put(seat, **change)
    Message.objects.create(seat=seat, text="Thank you for your patience.")
    text = visitor.get(reverse("home")).content.decode()
    assert said in text
    assert "Thank you for your patience." in text
    assert reverse("annotation:seat", args=[seat.pseudonym]) in text
