"""The answers of the judges of a set of prompt variants, as the stress test takes them."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import Count, QuerySet

from benchmark.label_records import TYPES
from benchmark.models import Corpus, JudgeAnswer, LabelSet, Rater, Trajectory
from benchmark.prompt_variants import Judged, Table, Verdict


def variant_sets(corpus: Corpus) -> list[str]:
    """The sets of variants of which a judge has answered on runs of `corpus`."""
    names = _judges(corpus).order_by("prompt__variant_set")
    return list(names.values_list("prompt__variant_set", flat=True).distinct())


def judged(corpus: Corpus, variant_set: str) -> Table:
    """First answers of the set's judges on the runs of `corpus`, in four queries.

    Judges stand in the order of model and prompt version. Simulated judges are left out.
    """
    raters = list(
        _judges(corpus)
        .filter(prompt__variant_set=variant_set)
        .select_related("prompt")
        .order_by("model", "prompt__name", "prompt__version", "name")
    )
    within = {"rater__in": raters, "trial": 1, "trajectory__corpus": corpus}
    verdicts: dict[int, dict[int, Verdict]] = defaultdict(dict)
    labels = LabelSet.objects.filter(**within, stage="", post_reveal=False).order_by()
    for rater, run, present, *held in labels.values_list("rater", "trajectory", "present", *TYPES):
        types = tuple(name for name, set_ in zip(TYPES, held, strict=True) if set_)
        verdicts[rater][run] = Verdict(present, types)
    rejected = JudgeAnswer.objects.filter(**within, status=JudgeAnswer.Status.REJECTED).order_by()
    refused = dict(rejected.values_list("rater").annotate(n=Count("pk")))
    runs = Trajectory.objects.filter(corpus=corpus).exclude(question="").order_by()
    questions = dict(runs.values_list("pk", "question"))
    judges = [
        Judged(
            rater.name,
            rater.model,
            f"{rater.prompt.name}@{rater.prompt.version}",
            rater.prompt.version,
            rater.prompt.variant,
            verdicts[rater.pk],
            refused.get(rater.pk, 0),
        )
        for rater in raters
        if rater.prompt
    ]
    return Table(judges, questions)


def _judges(corpus: Corpus) -> QuerySet[Rater]:
    answered = JudgeAnswer.objects.filter(trajectory__corpus=corpus).order_by().values("rater")
    return Rater.objects.filter(
        pk__in=answered.distinct(), simulated=False, prompt__isnull=False
    ).exclude(prompt__variant_set="")
