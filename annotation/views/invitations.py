"""For researchers: the links that let people into a study."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST

from annotation import invitations
from annotation.models import Invitation, Seat, Study

SHOWN_ONCE = "invitation_link"


class InvitationForm(forms.Form):
    label = forms.CharField(
        label=gettext_lazy("Label"), required=False, max_length=invitations.MAX_LABEL
    )
    people = forms.IntegerField(
        label=gettext_lazy("People"), min_value=1, max_value=invitations.MAX_PEOPLE, initial=1
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days until it expires"),
        min_value=1,
        max_value=invitations.MAX_DAYS,
        initial=14,
    )


@cache_control(private=True, no_store=True)
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """The links of a study and a form for another; a new link is shown once."""
    study = get_object_or_404(Study, slug=slug)
    form = InvitationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        made, token = invitations.create(study, actor=request.user, **form.cleaned_data)
        request.session[SHOWN_ONCE] = {"invitation": made.pk, "token": token}
        return redirect("annotation:invitations", study.slug)
    context = {
        "study": study,
        "form": form,
        "new": _new_link(request, study) if request.method != "POST" else None,
        "rows": [_row(one) for one in invitations.of_study(study)],
        "prolific": request.build_absolute_uri(
            reverse("annotation:join-prolific", args=[study.slug])
        ),
        "n_free": study.seats.filter(state=Seat.State.FREE).count(),
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "annotation/join_invitations.html", context, status=status)


@require_POST
def revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let nobody else in by this link."""
    invitation = get_object_or_404(
        Invitation.objects.select_related("study"), pk=pk, study__slug=slug
    )
    if invitations.revoke(invitation, actor=request.user):
        messages.success(request, _("The link lets nobody in any more. Who came in stays."))
    return redirect("annotation:invitations", slug)


def _new_link(request: HttpRequest, study: Study) -> dict[str, Any] | None:
    made = request.session.pop(SHOWN_ONCE, None)
    if made is None or not study.invitations.filter(pk=made["invitation"]).exists():
        return None
    path = reverse("annotation:join", args=[made["token"]])
    return {"invitation": made["invitation"], "url": request.build_absolute_uri(path)}


def _row(invitation: Any) -> dict[str, Any]:
    if invitation.revoked_at:
        state, mark = _("Revoked"), "soft"
    elif invitation.expires_at <= timezone.now():
        state, mark = _("Expired"), "soft"
    elif invitation.n_people >= invitation.max_people:
        state, mark = _("Full"), "soft"
    else:
        state, mark = _("Open"), "ok"
    open_ = mark == "ok"
    return {"invitation": invitation, "state": state, "mark": mark, "open": open_}
