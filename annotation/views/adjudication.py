"""For researchers: items whose judges differ, and the page that settles one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotation import adjudicating
from annotation.adjudicating import AdjudicationRefused, Settled
from annotation.disagreements import THRESHOLD
from annotation.models import Adjudication, InstructionConfirmation, Item, PrefixJudgement, Study
from annotation.titles import behaviour_of
from annotation.views import bench, run_disputes
from benchmark.views.paging import choice, number

PER_PAGE = 50
SHOW = ("open", "settled", "all")
QUESTIONS = {
    "rating": gettext_lazy("rating"),
    "appears": gettext_lazy("appears"),
    "onset": gettext_lazy("start"),
    "prefix": gettext_lazy("before the fork"),
}


class AdjudicationForm(forms.Form):
    rating = forms.IntegerField(required=False, min_value=0, max_value=100)
    appears = forms.ChoiceField(
        required=False, choices=[("", ""), *InstructionConfirmation.Answer.choices]
    )
    onset = forms.IntegerField(required=False, min_value=1, max_value=10**6)
    prefix = forms.ChoiceField(required=False, choices=[("", ""), *PrefixJudgement.Answer.choices])
    note = forms.CharField(required=False, max_length=1000)

    def settled(self) -> Settled:
        data = self.cleaned_data
        return Settled(
            rating=data["rating"],
            appears=data["appears"] or None,
            # A turn is chosen by a button that cannot be let go: without yes or partly it is void.
            onset=data["onset"] if data["appears"] in ("yes", "partly") else None,
            prefix=data["prefix"] or None,
            note=data["note"],
        )


def asked_for(request: HttpRequest) -> dict[str, Any]:
    """`?threshold=N` from 0 to 100, `?show=open|settled|all`, `?judges=people|all`."""
    text = request.GET.get("threshold", "")
    if text and not (text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= 100):
        raise BadRequest(f"threshold is {text[:40]!r}; it must be a whole number from 0 to 100.")
    return {
        "threshold": int(text) if text else THRESHOLD,
        "show": choice(request, "show", SHOW) or "open",
        "judges": choice(request, "judges", ("people", "all")) or "people",
    }


def disputes(study: Study, asked: dict[str, Any]) -> QuerySet[Item]:
    return adjudicating.disputes(
        study, asked["threshold"], simulated=asked["judges"] == "all"
    ).select_related("dialogue__workflow")


@require_safe
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    """Items whose judges differ: those that wait first, or those that are settled.

    Runs are listed only: they are not adjudicated.
    """
    study = get_object_or_404(Study, slug=slug)
    if study.kind == Study.Kind.RUNS:
        return run_disputes.queue(request, study)
    asked = asked_for(request)
    items = disputes(study, asked)
    shown = items if asked["show"] == "all" else items.filter(settled=asked["show"] == "settled")
    page = Paginator(shown, PER_PAGE).get_page(number(request, "page") or 1)
    context = {
        "study": study,
        "asked": asked,
        "page": page,
        "rows": [_row(item, asked["threshold"]) for item in page],
        "first": adjudicating.waiting_for(items, request.user).first(),
    }
    return render(request, "annotation/adjudication.html", context)


def _row(item: Any, threshold: int) -> dict[str, Any]:
    differ = {
        "rating": (item.spread or 0) > threshold,
        "appears": item.n_appears > 1,
        "onset": (item.onsets or 0) > adjudicating.ONSET_TURNS,
        "prefix": item.n_prefix > 1,
    }
    return {"item": item, "differ": [QUESTIONS[name] for name, yes in differ.items() if yes]}


@require_http_methods(["GET", "HEAD", "POST"])
def adjudicate(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The conversation, the answers side by side without names, and the form that settles."""
    items = Item.objects.select_related("study", "dialogue__workflow")
    wanted = {"pk": pk, "study__slug": slug, "kind": Item.Kind.MAIN, "trajectory": None}
    item = get_object_or_404(items, **wanted)
    asked = asked_for(request)
    form = AdjudicationForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _page(request, item, asked, form)
    if not form.is_valid():
        return _page(request, item, asked, form, status=400)
    try:
        adjudicating.adjudicate(
            item,
            request.user,
            form.settled(),
            threshold=asked["threshold"],
            simulated=asked["judges"] == "all",
        )
    except AdjudicationRefused as refused:
        form.add_error(refused.field or None, str(refused))
        return _page(request, item, asked, form, status=400 if refused.field else 409)
    messages.success(request, _("Settled. The judgements themselves stay as they are."))
    return _onwards(request, item.study, asked)


def _onwards(request: HttpRequest, study: Study, asked: dict[str, Any]) -> HttpResponse:
    following = adjudicating.waiting_for(disputes(study, asked), request.user).first()
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    if following is None:
        return redirect(f"{_address('adjudication', study.slug)}{query}")
    return redirect(f"{_address('adjudicate', study.slug, following.pk)}{query}")


def _address(name: str, *args: Any) -> str:
    return reverse(f"annotation:{name}", args=args)


def _page(
    request: HttpRequest,
    item: Item,
    asked: dict[str, Any],
    form: AdjudicationForm,
    *,
    status: int = 200,
) -> HttpResponse:
    sides = adjudicating.side_by_side(item, simulated=asked["judges"] == "all")
    fork = adjudicating.fork_of(item)
    turns = adjudicating.turns_of(item)
    earlier = Adjudication.objects.filter(item=item).select_related("adjudicator", "onset")
    context = {
        "study": item.study,
        "item": item,
        "asked": asked,
        "form": form,
        "sides": sides,
        "differ": adjudicating.questions_in_dispute(sides, asked["threshold"]),
        "turns": turns,
        "assistant_turns": [turn["number"] for turn in turns if turn["role"] == "assistant"],
        "procedure": bench.procedure_of(item.dialogue.workflow),
        "instruction": behaviour_of(item.instruction),
        "fork_turn": fork.fork_turn if fork and fork.fork_assistant_turn > 1 else None,
        "earlier": list(earlier),
        "own": adjudicating.judged_by(item, request.user),
    }
    return render(request, "annotation/adjudicate.html", context, status=status)
