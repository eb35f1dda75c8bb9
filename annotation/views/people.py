"""For researchers: who sits in a study, how far they are, what they are owed, what was done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core.exceptions import BadRequest
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from annotation import commitments, pay, people, reopening, seat_acts
from annotation.models import Assignment, AuditEntry, ProblemReport, Seat, Study
from dialfork_site.roles import RESEARCHERS
from scoring.views import csv_files

PER_PAGE = 50
MOST_MINUTES = 1440

private = cache_control(private=True, no_store=True)


@private
@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The seats of a study, by pseudonym; nobody is named."""
    study = get_object_or_404(Study, slug=slug)
    return render(request, "annotation/people.html", _people(study, _minutes(request)))


@private
@require_POST
def identities(request: HttpRequest, slug: str) -> HttpResponse:
    """The same with the ids of the crowd platform, for paying people; that it was asked is kept."""
    study = get_object_or_404(Study, slug=slug)
    context = _people(study, None)
    found = {name: person for name, _platform, person in people.identities(study, request.user)}
    for seat in context["seats"]:
        seat.identity = found.get(seat.pseudonym, "")
    return render(request, "annotation/people.html", context | {"shown": True})


@private
@require_safe
def ledger(request: HttpRequest, slug: str) -> HttpResponse:
    """Active time and amount per seat, as CSV."""
    study = get_object_or_404(Study, slug=slug)
    rows = pay.ledger(study, people.rows(study))
    return csv_files.answer(f"{study.slug}-pay", pay.COLUMNS, rows)


@private
@require_safe
def person(request: HttpRequest, slug: str, pseudonym: str) -> HttpResponse:
    """One seat: its items, messages and history, and what can be done."""
    return _person(request, _seat(slug, pseudonym))


@private
@require_POST
def act(request: HttpRequest, slug: str, pseudonym: str, name: str) -> HttpResponse:
    """Pause, resume, close, return, give back, pass on; extend; write."""
    seat = _seat(slug, pseudonym)
    try:
        done = _do(request, seat, name)
    except KeyError as error:
        raise Http404("No such act.") from error
    except seat_acts.BadField as error:
        problem = {"field": error.field, "error": str(error), "given": request.POST}
        return _person(request, seat, status=400, **problem)
    except seat_acts.ActRefused as error:
        return _person(request, seat, status=409, refused=str(error))
    messages.success(request, done)
    return redirect("annotation:person", slug, pseudonym)


@private
@require_POST
def reopen(request: HttpRequest, slug: str, pseudonym: str, rank: int) -> HttpResponse:
    """Let the person judge a finished item once more, as an attempt that is not blind."""
    seat = _seat(slug, pseudonym)
    mine = Assignment.objects.filter(seat=seat).select_related("item")
    assignment = get_object_or_404(mine, rank=rank)
    try:
        reopening.reopen(assignment, request.user)
    except reopening.ReopenRefused as error:
        return _person(request, seat, status=409, refused=str(error))
    messages.success(request, _("The item is open again, as an attempt that is not blind."))
    return redirect("annotation:person", slug, pseudonym)


@private
@require_safe
def problems(request: HttpRequest, slug: str) -> HttpResponse:
    """What people reported, the open ones first."""
    study = get_object_or_404(Study, slug=slug)
    reports = ProblemReport.objects.filter(assignment__seat__study=study).select_related(
        "assignment__seat",
        "assignment__item__dialogue",
        "assignment__item__trajectory",
        "turn",
        "step",
        "resolved_by",
    )
    waiting = reports.filter(resolved_at=None).order_by("recorded_at", "pk")
    done = reports.exclude(resolved_at=None).order_by("-resolved_at", "-pk")[:PER_PAGE]
    context = {"study": study, "waiting": waiting, "done": done}
    return render(request, "annotation/people_problems.html", context)


@private
@require_POST
def resolve(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A problem was looked after."""
    reports = ProblemReport.objects.select_related("assignment__seat__study")
    report = get_object_or_404(reports, pk=pk, assignment__seat__study__slug=slug)
    if seat_acts.resolve(report, request.user):
        messages.success(request, _("The problem is marked as resolved."))
    return redirect("annotation:problems", slug)


@private
@require_safe
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    """Who did what in a study, the latest first."""
    study = get_object_or_404(Study, slug=slug)
    entries = AuditEntry.objects.filter(study=study).select_related("seat")
    if before := request.GET.get("before", ""):
        entries = entries.filter(pk__lt=_whole(before, "before"))
    found = list(entries.order_by("-pk")[: PER_PAGE + 1])
    context = {
        "study": study,
        "entries": _entries(found[:PER_PAGE]),
        "after": found[PER_PAGE - 1].pk if len(found) > PER_PAGE else None,
        "narrowed": bool(before),
    }
    return render(request, "annotation/people_audit.html", context)


def _people(study: Study, minutes: int | None) -> dict[str, Any]:
    seats = people.rows(study)
    return {
        "study": study,
        "seats": seats,
        "n_taken": sum(bool(seat.taken_at) for seat in seats),
        "n_problems": sum(seat.problems for seat in seats),
        "owed": sum(seat.owed for seat in seats) if study.rate_per_hour is not None else None,
        "fairness": pay.fairness(study, seats, minutes),
    }


def _person(request: HttpRequest, seat: Seat, status: int = 200, **more: Any) -> HttpResponse:
    entries = seat.audit.order_by("-pk")[:PER_PAGE]
    items = people.items(seat)
    context = {
        "study": seat.study,
        "seat": seat,
        "items": items,
        "active": pay.in_words(sum(item.active_ms or 0 for item in items)),
        "reopenable": seat.user_id is not None and any(item.can_reopen for item in items),
        "acts": seat_acts.offered(seat),
        "written": seat.messages.select_related("author").order_by("-pk")[:PER_PAGE],
        "entries": _entries(entries, seat),
        "head": commitments.head(seat),
        **more,
    }
    return render(request, "annotation/people_person.html", context, status=status)


def _do(request: HttpRequest, seat: Seat, name: str) -> str:
    if name == "extend":
        hours = request.POST.get("hours", "")
        number = int(hours) if hours.isascii() and hours.isdigit() and len(hours) < 7 else 0
        return seat_acts.extend(seat, number, request.user)
    if name == "message":
        seat_acts.message(seat, request.POST.get("text", ""), request.user)
        return _("The message waits on the pages of the person.")
    return seat_acts.act(seat, name, request.user)


def _seat(slug: str, pseudonym: str) -> Seat:
    seats = Seat.objects.filter(simulated=False).select_related("study", "succeeds", "successor")
    return get_object_or_404(seats, study__slug=slug, pseudonym=pseudonym)


def _entries(entries: Iterable[AuditEntry], seat: Seat | None = None) -> list[dict[str, Any]]:
    """Entries for the page. Only accounts with a role are named: the others are people's."""
    found = list(entries)
    actors = get_user_model().objects.filter(pk__in={one.actor_id for one in found})
    roles = Q(is_superuser=True) | Q(groups__name=RESEARCHERS)
    names = dict(actors.filter(roles).values_list("pk", "username"))
    return [
        {
            "at": one.at,
            "action": one.action,
            "who": names.get(one.actor_id, _("the person")) if one.actor_id else _("the site"),
            "seat": seat or one.seat,
            "detail": [(name, _in_words(value)) for name, value in sorted(one.detail.items())],
        }
        for one in found
    ]


def _in_words(value: Any) -> str:
    """A value of an entry's detail as people write it; parts of a nested one are listed."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_words(part)}" for name, part in sorted(value.items()))
    if isinstance(value, list):
        return ", ".join(_in_words(part) for part in value)
    if isinstance(value, bool):
        return str(_("yes") if value else _("no"))
    return str(value)


def _minutes(request: HttpRequest) -> int | None:
    text = request.GET.get("minutes", "")
    if not text:
        return None
    number = _whole(text, "minutes")
    if not 1 <= number <= MOST_MINUTES:
        raise BadRequest(f"minutes is {number}; it must be from 1 to {MOST_MINUTES}.")
    return number


def _whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequest(f"{name} is {text[:40]!r}; it must be a whole number.")
    return int(text)
