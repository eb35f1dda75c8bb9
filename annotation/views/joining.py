"""The doors of a study: an invitation, a crowd platform, and the code to come back with.

Nothing is given for looking at a door: mail programs and chats open links to preview them. A seat
is given when somebody presses the button.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST

from annotation import crowd, invitations, phases, seating
from annotation.invitations import Joined
from annotation.models import CrowdIdentity, Invitation, Seat, Study
from annotation.seating import EnrolmentRefused
from dialfork_site import throttle
from dialfork_site.addresses import client_address
from dialfork_site.roles import annotator_may_see

BACKEND = "django.contrib.auth.backends.ModelBackend"
CODE, IDENTITY = "resume_code", "crowd_identity"

View = Callable[..., HttpResponse]


def door(view: View) -> View:
    """A page for people who are not signed in; its address is a secret and stays one."""

    @login_not_required
    @annotator_may_see
    @cache_control(private=True, no_store=True)
    @require_http_methods(["GET", "HEAD", "POST"])
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        # Under "no-referrer" browsers send forms from the origin "null", which the check against
        # forged forms refuses. "strict-origin" tells the name of the site and no more.
        shows_forms = response.status_code not in (301, 302)
        response["Referrer-Policy"] = "strict-origin" if shows_forms else "no-referrer"
        return response

    return guarded


@door
def join(request: HttpRequest, token: str) -> HttpResponse:
    """The door of an invitation; pressing its button claims a seat."""
    try:
        invitation = invitations.find(token)
    except Invitation.DoesNotExist:
        return refused(request, _("This link lets nobody in. Check that it is complete."), 404)
    if seating.knows_conditions(request.user):
        return refused(request, _knows_conditions(), 403)
    user = request.user if request.user.is_authenticated else None
    try:
        if request.method == "POST":
            return let_in(request, invitations.claim(invitation, user))
        if mine := seat_of(user, invitation.study):
            return redirect(phases.next_url(mine))
        invitations.require_usable(invitation)
    except (invitations.LinkRefused, EnrolmentRefused) as error:
        return refused(request, str(error), status_of(error))
    return render(request, "annotation/join_door.html", {"study": invitation.study})


@door
def prolific(request: HttpRequest, slug: str) -> HttpResponse:
    """The door for Prolific: the ids are taken out of the address, then the button is shown."""
    study = get_object_or_404(Study, slug=slug)
    if seating.knows_conditions(request.user):
        return refused(request, _knows_conditions(), 403)
    try:
        if request.GET:
            return _arrive(request, study)
        return _begin(request, study)
    except EnrolmentRefused as error:
        return refused(request, str(error), status_of(error))


@door
def resume(request: HttpRequest) -> HttpResponse:
    """Sign in with a pseudonym and the code that was written down."""
    if seating.knows_conditions(request.user):
        return refused(request, _knows_conditions(), 403)
    if request.method != "POST":
        return render(request, "annotation/join_resume.html", {"form": ResumeForm()})
    form = ResumeForm(request.POST)
    if not form.is_valid():
        return render(request, "annotation/join_resume.html", {"form": form}, status=400)
    name, address = f"seat {form.cleaned_data['pseudonym']}", client_address(request)
    try:
        throttle.enter(name, address)
    except throttle.TooManyAttempts as refusal:
        return _too_many(request, form, refusal.seconds)
    seat = invitations.resume(**form.cleaned_data)
    if seat is None or seating.knows_conditions(seat.user):
        form.add_error(None, _("No place has this pseudonym and this code."))
        return render(request, "annotation/join_resume.html", {"form": form}, status=400)
    throttle.forget(name, address)
    return come_back(request, seat)


@annotator_may_see
@cache_control(private=True, no_store=True)
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest, pseudonym: str) -> HttpResponse:
    """The code to come back with, shown once; pressing the button draws a new one."""
    seat = get_object_or_404(
        Seat.objects.select_related("study"), pseudonym=pseudonym, user=request.user
    )
    if request.user.has_usable_password():
        return redirect(phases.next_url(seat))
    if request.method == "POST":
        request.session[CODE] = {seat.pseudonym: invitations.new_code(seat)}
        return redirect("annotation:join-welcome", seat.pseudonym)
    code = request.session.pop(CODE, {}).get(seat.pseudonym)
    return render(request, "annotation/join_welcome.html", {"seat": seat, "code": code})


@annotator_may_see
@require_POST
def return_to_seat(request: HttpRequest, pseudonym: str) -> HttpResponse:
    """Ask for a place back that was left idle; it comes back unless somebody has begun in it."""
    seat = get_object_or_404(
        Seat.objects.select_related("study"), pseudonym=pseudonym, user=request.user
    )
    try:
        seat = seating.take(seat.study, request.user)
    except EnrolmentRefused as error:
        return refused(request, str(error), status_of(error))
    if seat.state == Seat.State.EXPIRED:
        messages.warning(request, _("The place was given to somebody else in the meantime."))
    return redirect(phases.seat_url(seat))


class ResumeForm(forms.Form):
    pseudonym = forms.CharField(
        label=gettext_lazy("Pseudonym"),
        max_length=24,
        error_messages={"required": gettext_lazy("Enter your pseudonym, such as A-12ab34cd.")},
    )
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=40,
        error_messages={"required": gettext_lazy("Enter the code you wrote down.")},
    )


def seat_of(user: Any, study: Study) -> Seat | None:
    """The seat of a signed-in person in a study, also one that a person may ask back for."""
    if user is None or not user.is_authenticated:
        return None
    mine = study.seats.select_related("study").filter(user=user).first()
    if mine and mine.state == Seat.State.EXPIRED and study.state == Study.State.OPEN:
        return seating.take(study, user)
    return mine


def let_in(request: HttpRequest, joined: Joined) -> HttpResponse:
    """Sign the person in and show them their code once, under an address without secrets."""
    if request.user != joined.user:
        login(request, joined.user, backend=BACKEND)
    if joined.code is None:
        return redirect(phases.next_url(joined.seat))
    request.session[CODE] = {joined.seat.pseudonym: joined.code}
    return redirect("annotation:join-welcome", joined.seat.pseudonym)


def come_back(request: HttpRequest, seat: Seat) -> HttpResponse:
    """Sign the person of `seat` in, wherever they are, and lead on from where they were."""
    if request.user != seat.user:
        login(request, seat.user, backend=BACKEND)
    if seat.study.state == Study.State.CLOSED:
        return redirect("annotation:seat", seat.pseudonym)
    return redirect(phases.next_url(seating.take(seat.study, seat.user)))


def refused(request: HttpRequest, sentence: str, status: int, **more: Any) -> HttpResponse:
    context = {"sentence": sentence, **more}
    return render(request, "annotation/join_refused.html", context, status=status)


def status_of(error: ValueError) -> int:
    """410 when the door stays shut, 409 when it may open again, 403 when the person is at fault."""
    if isinstance(error, seating.KnowsConditions):
        return 403
    closed = isinstance(error, seating.StudyNotOpen) and error.state == Study.State.CLOSED
    gone = isinstance(error, invitations.LinkRefused) and error.gone
    return 410 if closed or gone else 409


def _arrive(request: HttpRequest, study: Study) -> HttpResponse:
    user = request.user if request.user.is_authenticated else None
    try:
        came = crowd.arrival(request.GET)
        identity = crowd.remember(study, came, user)
    except crowd.BadArrival as error:
        return refused(request, str(error), 400)
    except crowd.ArrivalRefused as error:
        return refused(request, str(error), 409, needs_code=error.needs_code)
    if identity.seat and identity.seat.user:
        return come_back(request, identity.seat)
    request.session[IDENTITY] = identity.pk
    return redirect("annotation:join-prolific", study.slug)


def _begin(request: HttpRequest, study: Study) -> HttpResponse:
    known = CrowdIdentity.objects.filter(study=study, pk=request.session.get(IDENTITY)).first()
    if mine := seat_of(request.user, study):
        return redirect(phases.next_url(mine))
    if known is None:
        sentence = _("Open the study from its page on Prolific: this address alone does not do.")
        return refused(request, sentence, 400)
    seating.require_open(study)
    if request.method == "POST":
        joined = crowd.begin(known)
        return let_in(request, joined)
    return render(request, "annotation/join_door.html", {"study": study})


def _too_many(request: HttpRequest, form: ResumeForm, seconds: int) -> HttpResponse:
    minutes = -(-seconds // 60)
    sentence = ngettext(
        "Too many failed attempts. Try again in %(n)d minute.",
        "Too many failed attempts. Try again in %(n)d minutes.",
        minutes,
    )
    form.add_error(None, sentence % {"n": minutes})
    response = render(request, "annotation/join_resume.html", {"form": form}, status=429)
    response["Retry-After"] = str(seconds)
    return response


def _knows_conditions() -> str:
    sentence = _(
        "You are signed in with an account that can see the conditions of the study, so you cannot "
        "judge in it. Sign out first; whoever you send this link to can use it."
    )
    return str(sentence)
