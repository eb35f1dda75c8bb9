"""Withdrawing from a study: choose, confirm, and take a receipt."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_safe

from annotation import crowd, withdrawing
from annotation.models import CrowdIdentity, Seat, Withdrawal
from dialfork_site import throttle
from dialfork_site.models import FailedLogin
from dialfork_site.roles import annotator_may_see

LEFT = "left_with"


class WithdrawalForm(forms.Form):
    mode = forms.ChoiceField(
        choices=Withdrawal.Mode.choices,
        error_messages={
            "required": _("Choose whether your answers are kept or erased."),
            "invalid_choice": _("Choose whether your answers are kept or erased."),
        },
    )


@annotator_may_see
@cache_control(private=True, no_store=True)
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, pseudonym: str) -> HttpResponse:
    """First the choice, then what it means; only the second button does it."""
    seats = Seat.objects.select_related("study", "user")
    seat = get_object_or_404(seats, pseudonym=pseudonym, user=request.user)
    form = WithdrawalForm(request.POST or None)
    context = {
        "seat": seat,
        "form": form,
        "closes_account": withdrawing.closes_account(seat),
        "n_finished": seat.assignments.filter(finished_at__isnull=False).count(),
    }
    if request.method != "POST" or not form.is_valid():
        status = 400 if request.method == "POST" else 200
        return render(request, "annotation/leave_choose.html", context, status=status)
    mode = form.cleaned_data["mode"]
    if request.POST.get("confirm") != "yes":
        context["mode"] = mode
        return render(request, "annotation/leave_confirm.html", context)
    return _leave(request, seat, mode)


@login_not_required
@annotator_may_see
@cache_control(private=True, no_store=True)
@require_safe
def receipt(request: HttpRequest, receipt: str) -> HttpResponse:
    """That somebody withdrew, and how: for whoever has the number of the receipt."""
    found = get_object_or_404(Withdrawal.objects.select_related("seat__study"), receipt=receipt)
    took = request.session.get(LEFT, {})
    completion = None
    if took.get("receipt") == found.receipt and took.get("kind"):
        completion = crowd.completion_of(found.seat.study, took["kind"])
    context = {"withdrawal": found, "completion": completion}
    response = render(request, "annotation/leave_receipt.html", context)
    response["Referrer-Policy"] = "strict-origin"
    return response


def _leave(request: HttpRequest, seat: Seat, mode: str) -> HttpResponse:
    kind = _kind(seat)
    names = (request.user.get_username(), f"seat {seat.pseudonym}")
    withdrawal = withdrawing.withdraw(seat, mode)
    request.user.refresh_from_db()
    if not request.user.is_active:
        # Failed attempts hold an address of the network.
        keys = [throttle.account_key(name) for name in names]
        FailedLogin.objects.filter(account__in=keys).delete()
        logout(request)
    # The platform's ids are gone; that a code is due is all that is known of them.
    request.session[LEFT] = {"receipt": withdrawal.receipt, "kind": kind}
    return redirect("annotation:withdrawn", withdrawal.receipt)


def _kind(seat: Seat) -> str | None:
    """The kind of completion code that is due, or None for somebody from no platform."""
    if not CrowdIdentity.objects.filter(seat=seat).exists():
        return None
    ended: Any = crowd.completion(seat)
    return ended.kind if ended else "partial"
