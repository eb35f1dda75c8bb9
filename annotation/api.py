"""What an item page says while somebody works on it: drafts and time, as JSON.

Every refusal has a `detail` for the person and a `reason` for the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control

from annotation import drafts, judging, reaching, seating, step_times
from annotation.models import Assignment, Draft
from dialfork_site.roles import annotator_may_see

# A draft of a conversation holds two short fields; one of a run a text and places as well.
LONGEST_BODY = 2048
LONGEST_OF_RUN = 48 * 1024
MOST_REVISIONS = 10**9
DAY_MS = 24 * 3600 * 1000
View = Callable[[HttpRequest, Assignment, judging.Step, judging.Answers], JsonResponse]


class Refused(Exception):
    """A request that is answered with `status`, `reason` and a sentence."""

    def __init__(self, status: int, reason: str, detail: str, **more: Any) -> None:
        self.status = status
        self.content = {"detail": detail, "reason": reason} | more
        super().__init__(detail)


def endpoint(method: str) -> Callable[[View], Callable[..., JsonResponse]]:
    """A view of a step of one's own item that answers `method` in JSON, whatever is wrong."""

    def decorate(view: View) -> Callable[..., JsonResponse]:
        @annotator_may_see
        @login_not_required
        @cache_control(private=True, no_store=True)
        @wraps(view)
        def guarded(request: HttpRequest, token: str, step: str) -> JsonResponse:
            try:
                return _answer(request, token, step)
            except Refused as refused:
                return JsonResponse(refused.content, status=refused.status)

        def _answer(request: HttpRequest, token: str, step: str) -> JsonResponse:
            assignment, given = _own(request, token, step)
            if request.method != method:
                raise Refused(405, "method", _("This address takes %s only.") % method)
            known = cast(judging.Step, step)
            try:
                reaching.require_reached(assignment, known, given)
                reaching.require(assignment)
                return view(request, assignment, known, given)
            except judging.StepLocked as error:
                raise Refused(404, "not_found", _("No such step.")) from error
            except reaching.OutOfReach as error:
                raise Refused(409, error.why, str(error)) from error

        return guarded

    return decorate


@endpoint("PUT")
def draft(
    request: HttpRequest, assignment: Assignment, step: judging.Step, given: judging.Answers
) -> JsonResponse:
    """Keep what is entered: `{"values": {...}, "revision": n, "active_ms": n}`.

    Answers `{"revision": n, "saved_at": ...}`. 409 "answered" when the step has its answer, 409
    "stale" with what is stored when another tab was faster, 400 for a field it does not have.
    """
    body = _body(request, LONGEST_OF_RUN if judging.is_run(assignment) else LONGEST_BODY)
    values = body.get("values")
    if not isinstance(values, dict):
        raise Refused(400, "bad_request", _("values must be an object of fields."), field="values")
    revision = _number(body, "revision", MOST_REVISIONS)
    active_ms = _number(body, "active_ms", DAY_MS)
    try:
        reaching.require_waiting(assignment, step, given)
        kept = drafts.save(assignment, step, values, revision)
    except judging.AnsweredBefore as error:
        raise Refused(409, "answered", str(error)) from error
    except judging.AnswerRefused as error:
        raise Refused(400, "bad_request", str(error), field=error.field) from error
    except drafts.StaleDraft as error:
        detail = _("This step was changed in another tab or on another device meanwhile.")
        raise Refused(
            409, "stale", detail, **_shown(error.newer), values=error.newer.values
        ) from None
    seating.touch(assignment.seat)
    step_times.beat(assignment, step, active_ms, entered=bool(values))
    return JsonResponse(_shown(kept))


@endpoint("POST")
def time(
    request: HttpRequest, assignment: Assignment, step: judging.Step, given: judging.Answers
) -> JsonResponse:
    """Count `{"active_ms": n}`: how long the page was seen and used since it last said so.

    Answers `{"counted_ms": n}`: no more than has passed by the server's clock.
    """
    active_ms = _number(_body(request), "active_ms", DAY_MS)
    if active_ms:
        seating.touch(assignment.seat)
    return JsonResponse({"counted_ms": step_times.beat(assignment, step, active_ms)})


def _own(request: HttpRequest, token: str, step: str) -> tuple[Assignment, judging.Answers]:
    if not request.user.is_authenticated:
        back = urlencode({"next": reverse("annotation:signed-in")})
        raise Refused(401, "signed_out", "sign in again", url=f"{reverse('login')}?{back}")
    if step not in drafts.FIELDS:
        raise Refused(404, "not_found", _("No such step."))
    try:
        return reaching.find_to_save(request.user, token, cast(judging.Step, step))
    except judging.NotYours as error:
        raise Refused(404, "not_found", _("No such item.")) from error


def _body(request: HttpRequest, longest: int = LONGEST_BODY) -> dict[str, Any]:
    text = request.read(longest + 1)
    if len(text) > longest:
        raise Refused(413, "too_long", _("Send at most %d bytes.") % longest)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "bad_request", _("The body is no JSON.")) from error
    if not isinstance(body, dict):
        raise Refused(400, "bad_request", _("The body must be a JSON object."))
    return body


def _number(body: dict[str, Any], name: str, most: int) -> int:
    value = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        detail = _("%(name)s must be a whole number from 0 to %(most)d.")
        raise Refused(400, "bad_request", detail % {"name": name, "most": most}, field=name)
    return value


def _shown(kept: Draft) -> dict[str, Any]:
    return {"revision": kept.revision, "saved_at": kept.saved_at.isoformat()}
