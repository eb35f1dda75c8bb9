"""Small pages beside the item: a message is read, somebody is signed in again."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from annotation import notices
from dialfork_site.roles import annotator_may_see


@annotator_may_see
@require_POST
def message_read(request: HttpRequest, pk: int) -> HttpResponse:
    """ "Got it": the message does not come again. Back to the page it was on."""
    if not notices.mark_read(request.user, pk):
        raise Http404("No such message.")
    back = request.POST.get("back", "")
    own = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return redirect(back if own and back.startswith("/") else "home")


@annotator_may_see
@cache_control(private=True, no_store=True)
@require_safe
def signed_in(request: HttpRequest) -> HttpResponse:
    """Where somebody lands who signed in beside an open item: back to that tab."""
    return render(request, "annotation/signed_in.html")
