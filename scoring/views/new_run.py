"""The page that starts runs: choose, see what it will do, start."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from benchmark.models import Corpus, Trajectory
from benchmark.views.paging import choice
from scoring import encoders
from scoring.corpora import scope_of
from scoring.forms import NewRunForm
from scoring.seen_runs import truths
from scoring.stored_encoders import StoredOnly, encoder_for
from scoring.trajectory_methods import KIND as LABELS
from scoring.views.planned_work import work_of
from scoring.views.starting import OFFERED, Started, start

DEFAULT_KIND = "task2"
DEFAULT_METHODS = {
    "task1": "flow_kl",
    "task2": "flow_score",
    "task3": "novelty",
    LABELS: "step_classifier",
}


@require_http_methods(["GET", "HEAD", "POST"])
def new_run(request: HttpRequest) -> HttpResponse:
    """Choices first; with them what would be done, and the button that does it.

    `?corpus=SLUG&kind=KIND&method=NAME&encoder=NAME` fill the form in; all may be absent, corpus,
    method and encoder may come several times.
    """
    if request.method != "POST":
        return page(request, NewRunForm(initial=asked_for(request)))
    form = NewRunForm(request.POST)
    if not form.is_valid():
        return page(request, form, status=400)
    wanted = list(form.wanted())
    try:
        if "start" not in request.POST:
            return page(request, form, work=work_of(wanted))
        # All of one form are over the same corpora.
        scope = scope_of(wanted[0].corpora)
        started = [start(each, request.user, scope) for each in wanted]
    except (ValueError, encoders.EncoderUnavailable) as error:
        form.add_error(None, str(error))
        return page(request, form, status=400)
    tell(request, started)
    return redirect(started[0].run if len(started) == 1 else "scoring:runs")


def page(request: HttpRequest, form: NewRunForm, *, work: Any = None, status: int = 200) -> Any:
    context = {
        "form": form,
        "work": work,
        "corpora": corpora(form),
        "encoders": known_encoders(form),
        "tasks": form.tasks(),
    }
    return render(request, "scoring/new_run.html", context, status=status)


def asked_for(request: HttpRequest) -> dict[str, Any]:
    """What the address chooses. Raises BadRequest for a task there is not."""
    kind = choice(request, "kind", tuple(OFFERED)) or DEFAULT_KIND
    given = request.GET.getlist
    initial: dict[str, Any] = {
        "corpora": given("corpus"),
        "kind": kind,
        "encoders": given("encoder") or [settings.ENCODER],
        "surprisal-methods": ["surprisal"],
    }
    initial["judge"] = request.GET.get("judge", "")
    initial["truth"] = request.GET.get("truth") or first_truth(given("corpus"))
    for each in DEFAULT_METHODS:
        chosen = given("method") if each == kind else []
        initial[f"{each}-methods"] = chosen or [DEFAULT_METHODS[each]]
    return initial


def first_truth(slugs: list[str]) -> str:
    """Whose labels of the runs in these corpora come first; "" where there is no label."""
    found = truths(list(Corpus.objects.filter(slug__in=slugs))) if slugs else []
    return found[0][0] if found else ""


def corpora(form: NewRunForm) -> list[dict[str, Any]]:
    """Corpora with dialogues or runs, those with forks first, and whether each is chosen."""
    rows = Corpus.objects.annotate(
        n_dialogues=Count("dialogues", distinct=True),
    ).order_by("slug")
    forks = Counter(
        dict(
            Corpus.objects.filter(dialogues__forks__ordinal=1)
            .order_by()
            .values_list("slug")
            .annotate(n=Count("dialogues__forks"))
        )
    )
    trajectories = Trajectory.objects.order_by().values_list("corpus__slug").annotate(n=Count("pk"))
    n_runs = Counter(dict(trajectories))
    chosen = form["corpora"].value() or []
    found = [
        {
            "corpus": row,
            "n_forks": forks[row.slug],
            "n_runs": n_runs[row.slug],
            "chosen": row.slug in chosen,
        }
        for row in rows
        if row.n_dialogues or n_runs[row.slug]
    ]
    return sorted(found, key=lambda row: (not row["n_forks"], row["corpus"].slug))


def known_encoders(form: NewRunForm) -> dict[str, Any]:
    """Encoders that can be used here, and the others with the reason; whether each is chosen."""
    chosen = form["encoders"].value() or []
    rows = []
    for name in encoders.names():
        usable, note = usability(name)
        rows.append({"name": name, "chosen": name in chosen, "usable": usable, "note": note})
    away = [row for row in rows if not row["usable"]]
    return {
        "here": [row for row in rows if row["usable"]],
        "away": away,
        "away_chosen": any(row["chosen"] for row in away),
    }


def usability(name: str) -> tuple[bool, str]:
    """Whether an encoder can be used here, and what to know of it (or "")."""
    try:
        encoder = encoder_for(name)
    except encoders.EncoderUnavailable as error:
        return False, str(error)
    if isinstance(encoder, StoredOnly):
        return True, "Its weights are not here; only texts with stored vectors can be scored."
    return True, encoders.fallback_note(name)


def tell(request: HttpRequest, started: list[Started]) -> None:
    """Say what was started, and which runs were there before."""
    new = sum(one.new for one in started)
    known = [one.run for one in started if not one.new]
    if new:
        messages.success(request, "The run was started." if new == 1 else f"{new} runs started.")
    if known:
        names = ", ".join(f"run {run.pk}" for run in known)
        messages.info(
            request, f"Nothing is computed twice: {names} had the same parameters already."
        )
