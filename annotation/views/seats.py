"""A person's page of a study: it shows whatever phase their seat is in, and takes what it asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_safe

from annotation import commitments, crowd, notices, phases, practice, questionnaires, seating
from annotation.models import Seat, Study
from annotation.run_words import TYPE_HINTS, TYPE_WORDS
from annotation.views.worked_examples import EXAMPLES, WORKFLOW
from annotation.views.worked_runs import WORKED_RUNS
from benchmark.label_records import TYPES
from dialfork_site.roles import annotator_may_see

View = Callable[..., HttpResponse]
State, Phase = Seat.State, Seat.Phase
OVER = (State.FINISHED, State.SCREENED_OUT, State.DECLINED, State.EXPIRED, State.WITHDRAWN)
NAMES = {
    Phase.CONSENT: gettext_lazy("Consent"),
    Phase.INSTRUCTIONS: gettext_lazy("What to do"),
    Phase.PRACTICE: gettext_lazy("Practice"),
    Phase.MAIN: gettext_lazy("Items"),
    Phase.QUESTIONNAIRE: gettext_lazy("Questions"),
    Phase.DONE: gettext_lazy("Thanks"),
}


class ConsentForm(forms.Form):
    agree = forms.ChoiceField(
        choices=[("yes", gettext_lazy("I agree")), ("no", gettext_lazy("I do not agree"))],
        error_messages={
            "required": gettext_lazy("Say whether you agree or not."),
            "invalid_choice": gettext_lazy("Say whether you agree or not."),
        },
    )


class QuestionnaireForm(forms.Form):
    """Every answer is optional; a blank one is no answer."""

    YEARS = {
        "invalid": gettext_lazy("Give a whole number of years from 0 to 80, or leave it blank."),
        "min_value": gettext_lazy("Give a whole number of years from 0 to 80, or leave it blank."),
        "max_value": gettext_lazy("Give a whole number of years from 0 to 80, or leave it blank."),
    }
    ONE_OF = {"invalid_choice": gettext_lazy("Choose one of the answers, or none.")}

    service_years = forms.IntegerField(
        required=False, min_value=0, max_value=80, error_messages=YEARS
    )
    annotation_years = forms.IntegerField(
        required=False, min_value=0, max_value=80, error_messages=YEARS
    )
    fluency = forms.ChoiceField(
        required=False,
        choices=[
            ("first", gettext_lazy("My first language")),
            ("fluent", gettext_lazy("Fluent")),
            ("good", gettext_lazy("Good")),
            ("basic", gettext_lazy("Basic")),
        ],
        error_messages=ONE_OF,
    )
    clarity = forms.ChoiceField(
        required=False, choices=[(n, n) for n in "12345"], error_messages=ONE_OF
    )
    comment = forms.CharField(
        required=False,
        max_length=2000,
        error_messages={"max_length": gettext_lazy("Keep it under 2000 characters.")},
    )


def seat_page(view: View) -> View:
    """A page of one's own seat, never cached; nobody who knows the conditions gets in."""

    @annotator_may_see
    @cache_control(private=True, no_store=True)
    @wraps(view)
    def guarded(request: HttpRequest, pseudonym: str, **rest: Any) -> HttpResponse:
        mine = Seat.objects.filter(user=request.user, pseudonym=pseudonym)
        seat = mine.exclude(study__state=Study.State.DRAFT).select_related("study").first()
        if seat is None or seating.knows_conditions(request.user):
            raise Http404("No such seat.")
        return view(request, seat, **rest)

    return guarded


@require_safe
@seat_page
def seat(request: HttpRequest, seat: Seat) -> HttpResponse:
    """The phase the seat is in; where nothing is left to do in it, the one after."""
    if _working(seat):
        phases.settle(seat)
    return _page(request, seat)


@require_http_methods(["GET", "HEAD", "POST"])
@seat_page
def act(request: HttpRequest, seat: Seat, step: str) -> HttpResponse:
    """What a phase asks for, sent by its form. Out of turn it changes nothing and leads back."""
    taken = ACTS.get(step)
    if taken is None:
        raise Http404("No such step.")
    if request.method == "POST":
        if seat.study.state == Study.State.OPEN:
            seating.touch(seat)
        if refusal := taken(request, seat):
            return refusal
    return redirect("annotation:seat", seat.pseudonym)


def _consent(request: HttpRequest, seat: Seat) -> HttpResponse | None:
    if not _at(seat, Phase.CONSENT):
        return None
    form = ConsentForm(request.POST)
    if not form.is_valid():
        return _page(request, seat, form, status=400)
    (phases.consent if form.cleaned_data["agree"] == "yes" else phases.decline)(seat)
    return None


def _instructions(request: HttpRequest, seat: Seat) -> None:
    if _at(seat, Phase.INSTRUCTIONS):
        phases.advance(seat, Phase.INSTRUCTIONS)


def _practice(request: HttpRequest, seat: Seat) -> None:
    if _at(seat, Phase.PRACTICE):
        phases.finish_practice(seat)


def _questionnaire(request: HttpRequest, seat: Seat) -> HttpResponse | None:
    if not _at(seat, Phase.QUESTIONNAIRE):
        return None
    form = QuestionnaireForm(request.POST)
    if not form.is_valid():
        return _page(request, seat, form, status=400)
    questionnaires.hand_in(seat, form.cleaned_data)
    return None


def _pause(request: HttpRequest, seat: Seat) -> None:
    if _working(seat):
        seating.pause(seat, actor=request.user)


def _resume(request: HttpRequest, seat: Seat) -> None:
    if seat.state == State.PAUSED and not phases.paused_by_team(seat):
        seating.resume(seat, actor=request.user)


ACTS: dict[str, Callable[[HttpRequest, Seat], HttpResponse | None]] = {
    "consent": _consent,
    "instructions": _instructions,
    "practice": _practice,
    "questionnaire": _questionnaire,
    "pause": _pause,
    "resume": _resume,
}


def _working(seat: Seat) -> bool:
    return seat.state == State.ACTIVE and seat.study.state == Study.State.OPEN


def _at(seat: Seat, phase: str) -> bool:
    return _working(seat) and seat.phase == phase


def _page(
    request: HttpRequest, seat: Seat, form: forms.Form | None = None, *, status: int = 200
) -> HttpResponse:
    if seat.state in OVER:
        name, context = _end_of(seat)
    elif not _working(seat):
        name = "resting"
        context = {"by_team": seat.state == State.PAUSED and phases.paused_by_team(seat)}
    else:
        name, context = str(seat.phase), PAGES[Phase(seat.phase)](seat)
        if (seat.study.kind, name) == (Study.Kind.RUNS, Phase.INSTRUCTIONS):
            name = "instructions_runs"
    context |= {
        "seat": seat,
        "study": seat.study,
        "of_runs": seat.study.kind == Study.Kind.RUNS,
        "form": form,
        "working": _working(seat),
        "notices": list(notices.unread(seat)),
        "way": _way(seat),
    }
    return render(request, f"annotation/seat_{name}.html", context, status=status)


def _way(seat: Seat) -> list[dict[str, Any]]:
    """The phases with where the person is; nothing when there is only the items."""
    walk = [Phase(phase) for phase in phases.walk(seat.study)]
    if len(walk) <= 2:
        return []
    here = walk.index(Phase(seat.phase)) if seat.phase in walk else -1
    return [
        {"name": NAMES[phase], "here": place == here, "done": place < here}
        for place, phase in enumerate(walk)
    ]


def _consent_page(seat: Seat) -> dict[str, Any]:
    return {
        "minutes": phases.minutes(seat),
        "n_items": phases.tally(seat, practising=False)["total"],
        "n_practice": phases.tally(seat, practising=True)["total"] if _practises(seat) else 0,
        "idle_hours": seat.study.idle_hours,
    }


def _instructions_page(seat: Seat) -> dict[str, Any]:
    if seat.study.kind == Study.Kind.FORKS:
        return {"examples": EXAMPLES, "workflow": WORKFLOW}
    types = [(TYPE_WORDS[name], TYPE_HINTS[name]) for name in TYPES]
    return {"examples": WORKED_RUNS, "types": types, "compares": seat.study.judge_id is not None}


def _practice_page(seat: Seat) -> dict[str, Any]:
    items = list(phases.items_of(seat, practising=True).order_by("rank").values("token"))
    told = practice.results(seat)
    following = phases.waiting(seat)
    rows = [{**item, "told": each} for item, each in zip(items, told, strict=True)]
    return {
        "rows": rows,
        "following": following,
        "number": 1 + sum(each is not None for each in told),
        "result": practice.result_of(seat.study, told),
    }


def _main_page(seat: Seat) -> dict[str, Any]:
    following = phases.waiting(seat)
    return {
        **phases.tally(seat, practising=False),
        "following": following,
        "number": phases.progress(following)["number"] if following else None,
    }


def _questionnaire_page(seat: Seat) -> dict[str, Any]:
    fluencies = QuestionnaireForm.base_fields["fluency"]
    return {"clarities": _clarities(), "fluencies": fluencies.choices}


def _clarities() -> list[tuple[str, str]]:
    words = {"1": _("not at all"), "5": _("entirely")}
    return [(n, words.get(n, "")) for n in "12345"]


PAGES: dict[Seat.Phase, Callable[[Seat], dict[str, Any]]] = {
    Phase.CONSENT: _consent_page,
    Phase.INSTRUCTIONS: _instructions_page,
    Phase.PRACTICE: _practice_page,
    Phase.MAIN: _main_page,
    Phase.QUESTIONNAIRE: _questionnaire_page,
}


def _end_of(seat: Seat) -> tuple[str, dict[str, Any]]:
    """How it ended: the code for the platform, and what a person may want to keep."""
    context: dict[str, Any] = {"completion": crowd.completion(seat)}
    if seat.state != State.FINISHED:
        if seat.state == State.SCREENED_OUT:
            context["result"] = practice.result(seat)
        context["may_return"] = phases.may_return(seat)
        return "ended", context
    head = commitments.head(seat)
    return "done", {**context, **phases.tally(seat, practising=False), "receipt": head}


def _practises(seat: Seat) -> bool:
    return Phase.PRACTICE in phases.walk(seat.study)
