"""Judges of agent runs: who they are, and what each of them wrote and was read as."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Length, Substr
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from annotation.agreement import wilson
from benchmark.label_records import TYPES
from benchmark.labelling import records_of
from benchmark.models import Corpus, JudgeAnswer, LabelSet, Rater
from benchmark.views.paging import choice, keyset

EXCERPT, REASONS_SHOWN = 2_000, 20
UNNAMED = "unnamed"
# Texts of a run that the list does not show.
UNREAD = [f"trajectory__{name}" for name in ("task", "response", "expected", "meta", "warnings")]
SAYS = {"yes": {"labels__present": True}, "no": {"labels__present": False}}


@require_safe
def judges(request: HttpRequest) -> HttpResponse:
    context = {"rows": judge_rows(), "variants": variants()}
    return render(request, "benchmark/judges.html", context)


def variants() -> list[dict[str, Any]]:
    """Corpora and sets of prompt variants under which two judges or more have answered."""
    rows = JudgeAnswer.objects.filter(rater__simulated=False, rater__prompt__isnull=False)
    grouped = (
        rows.exclude(rater__prompt__variant_set="")
        .order_by("trajectory__corpus__slug", "rater__prompt__variant_set")
        .values(corpus=F("trajectory__corpus__slug"), set=F("rater__prompt__variant_set"))
        .annotate(n=Count("rater", distinct=True))
    )
    return list(grouped.filter(n__gt=1))


def judge_rows() -> list[dict[str, Any]]:
    """Every judge with its prompt, counts of its answers, and what its first answers say of how
    many runs (answers on one run are not independent); three queries."""
    answers: dict[int, dict[str, int]] = {}
    counted = (
        JudgeAnswer.objects.order_by()
        .values_list("rater")
        .annotate(
            read=Count("pk", filter=Q(status="read")),
            rejected=Count("pk", filter=Q(status="rejected")),
        )
    )
    for rater, read, rejected in counted:
        answers[rater] = {"read": read, "rejected": rejected}
    labels: dict[int, dict[str, Any]] = {}
    sets = LabelSet.objects.filter(rater__kind=Rater.Kind.JUDGE, trial=1).order_by()
    counted = sets.values_list("rater").annotate(
        n=Count("pk"), yes=Count("pk", filter=Q(present=True))
    )
    for rater, n, yes in counted:
        labels[rater] = {"runs": n, "yes": yes, "rate": rate(yes, n)}
    none = {"read": 0, "rejected": 0, "yes": 0, "runs": 0, "rate": rate(0, 0)}
    found = Rater.objects.filter(kind=Rater.Kind.JUDGE).select_related("prompt").order_by("name")
    return [
        {"judge": judge, **none, **answers.get(judge.pk, {}), **labels.get(judge.pk, {})}
        for judge in found
    ]


def rate(yes: int, n: int) -> str:
    """A share in percent with Wilson's interval; a dash where nothing is counted."""
    found = wilson(yes, n)
    if found.value is None or found.ci is None:
        return "–"
    low, high = found.ci
    return f"{100 * found.value:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


@require_safe
def judge(request: HttpRequest, pk: int) -> HttpResponse:
    judges = Rater.objects.filter(kind=Rater.Kind.JUDGE).select_related("prompt")
    found = get_object_or_404(judges, pk=pk)
    corpora = list(Corpus.objects.filter(pk__in=corpora_of(found)).order_by("slug"))
    shown = read_filters(request, [corpus.slug for corpus in corpora])
    answers = found.answers.order_by()
    rows = filtered(answers, shown)
    lean = rows.select_related("trajectory__corpus", "labels").defer("raw", *UNREAD)
    page = keyset(request, lean.annotate(excerpt=Substr("raw", 1, EXCERPT), n_raw=Length("raw")))
    labels = records_of([row.labels for row in page.rows if row.labels])
    return render(
        request,
        "benchmark/judge.html",
        {
            "judge": found,
            "corpora": corpora,
            "shown": shown,
            "narrowed": any(shown.values()),
            "types": TYPES,
            "unnamed": UNNAMED,
            "page": page,
            "rows": [(row, labels.get(row.labels_id), row.n_raw > EXCERPT) for row in page.rows],
            "n": rows.count(),
            **summary(found),
        },
    )


def corpora_of(judge: Rater) -> QuerySet[JudgeAnswer]:
    """The keys of the corpora on whose runs there are answers."""
    return judge.answers.order_by().values("trajectory__corpus").distinct()


def summary(judge: Rater) -> dict[str, Any]:
    """Counts of all its answers: by status, by type, by reason and by note; four queries."""
    counts = judge.answers.aggregate(
        read=Count("pk", filter=Q(status="read")),
        rejected=Count("pk", filter=Q(status="rejected")),
    )
    said = judge.label_sets.aggregate(
        labels=Count("pk"),
        yes=Count("pk", filter=Q(present=True)),
        first=Count("pk", filter=Q(trial=1)),
        first_yes=Count("pk", filter=Q(trial=1, present=True)),
        **{f"n_{name}": Count("pk", filter=Q(**{name: True})) for name in TYPES},
    )
    refused = judge.answers.filter(status="rejected").order_by().values_list("reason")
    notes: Counter[str] = Counter()
    held = judge.answers.filter(meta__has_key="notes").values_list("meta__notes", flat=True)
    for met in held.order_by().iterator(chunk_size=2000):
        notes.update(met)
    return {
        "counts": counts,
        "said": said,
        "rate": rate(said["first_yes"], said["first"]),
        "by_type": [(name, said[f"n_{name}"]) for name in TYPES],
        "reasons": list(refused.annotate(n=Count("pk")).order_by("-n", "reason")[:REASONS_SHOWN]),
        "notes": notes.most_common(),
    }


def read_filters(request: HttpRequest, corpora: list[str]) -> dict[str, str]:
    """The filters of the query string; BadRequest for a word that no filter knows."""
    return {
        "status": choice(request, "status", JudgeAnswer.Status.values),
        "says": choice(request, "says", SAYS),
        "type": choice(request, "type", (*TYPES, UNNAMED)),
        "corpus": choice(request, "corpus", corpora),
        "reason": request.GET.get("reason", "").replace("\x00", "")[:500],
        "q": request.GET.get("q", "").replace("\x00", "").strip()[:200],
    }


def filtered(rows: QuerySet[JudgeAnswer], shown: dict[str, str]) -> QuerySet[JudgeAnswer]:
    """`rows` narrowed by every filter that is not empty."""
    if shown["status"]:
        rows = rows.filter(status=shown["status"])
    if shown["says"]:
        rows = rows.filter(**SAYS[shown["says"]])
    if shown["type"] == UNNAMED:
        none = {f"labels__{name}": False for name in TYPES}
        rows = rows.filter(labels__present=True, **none)
    elif shown["type"]:
        rows = rows.filter(**{f"labels__{shown['type']}": True})
    if shown["corpus"]:
        rows = rows.filter(trajectory__corpus__slug=shown["corpus"])
    if shown["reason"]:
        rows = rows.filter(reason=shown["reason"])
    if shown["q"]:
        rows = rows.filter(trajectory__external_id__icontains=shown["q"])
    return rows


@require_safe
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    """What a judge wrote on a run, word for word, as plain text."""
    found = get_object_or_404(JudgeAnswer, pk=pk)
    response = HttpResponse(found.raw, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = f'inline; filename="judge-answer-{found.pk}.txt"'
    return response
