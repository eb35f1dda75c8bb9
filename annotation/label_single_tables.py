"""What one rater says of runs: how many hallucinate, of which types, in which models.

(Trajel, section 5.1, tables 1 and 4, figures of types and of their co-occurrence.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_group_tables import UNNAMED
from annotation.label_intervals import NO_RUN, Draws, cluster_share, estimates, share
from annotation.label_pairs import Labels, Run, grouped
from annotation.label_type_tables import counting, left_out, percent
from annotation.people_resampling import ratio
from benchmark.label_records import FLAGS, SCOPE, TYPES
from scoring.estimates import Estimate

ALL_MODELS = "all models"
NO_TYPED = "no run has a type"
# So many runs of which every one hallucinates were hardly found by chance.
FEW = 10
ALL_CHOSEN = (
    "Every run has one: where runs were chosen for it, the rate says nothing of the agents."
)
NO_SCOPE = "no run is given the type scope"


def rates_figure(runs: Sequence[Run], labels: Labels) -> Figure:
    """Runs that hallucinate, of all models and of each."""
    columns = (
        Column("model", "Model"),
        Column("runs", "Runs", "count"),
        Column("hallucinated", "Hallucinate", "count"),
        percent("rate", "Rate"),
    )
    names, held = grouped([run.model or UNNAMED for run in runs])
    if names == [UNNAMED]:
        names, held = [], held[:, :0]
    everything = np.ones((len(runs), 1), dtype=bool)
    rows = []
    for name, of in zip([ALL_MODELS, *names], np.hstack([everything, held]).T, strict=True):
        seen = int((labels.present & of).sum())
        rows.append(
            {"model": name, "runs": int(of.sum()), "hallucinated": seen}
            | {"rate": share(seen, of.sum())}
        )
    title = f"Runs that hallucinate, by {labels.rater}"
    drawn, n = Drawn("bars", "model", "rate"), len(runs)
    if not n:
        return Figure("rates", title, columns, (), 0, reason=NO_RUN, drawn=drawn)
    note = ALL_CHOSEN if n >= FEW and labels.present.all() else ""
    return Figure("rates", title, columns, rows, n, note=note, drawn=drawn)


def no_types(labels: Labels) -> str:
    """Why nothing can be said of the types, "" where something can."""
    if labels.never_typed:
        return f"no types are given by {labels.rater}"
    return "" if labels.types.any() else NO_TYPED


def _untyped(labels: Labels) -> str:
    out, seen = int((~labels.typed).sum()), int(labels.present.sum())
    return left_out(out, seen, "with a hallucination of no said type") if out else ""


def distribution_figure(labels: Labels, draws: Draws) -> Figure:
    """How often each type is given: of all types given, of runs that hallucinate, of all runs."""
    columns = (
        Column("type", "Type"),
        Column("runs", "Runs", "count"),
        percent("of_types", "Of all types given"),
        percent("of_hallucinated", "Of runs that hallucinate"),
        percent("of_runs", "Of all runs"),
    )
    title, drawn = f"Types given by {labels.rater}", Drawn("bars", "type", "of_types")
    given, reason = labels.types.sum(axis=0), no_types(labels)
    total = int(given.sum())
    if reason:
        return Figure("types", title, columns, (), 0, reason=reason, drawn=drawn)
    of_types = _of_types(labels, draws)
    seen, typed = int((labels.present & labels.typed).sum()), int(labels.typed.sum())
    rows = [
        {"type": name, "runs": int(given[k]), "of_types": of_types[k]}
        | {"of_hallucinated": share(given[k], seen), "of_runs": share(given[k], typed)}
        for k, name in enumerate(TYPES)
    ]
    note = counting("types given", f"{total} types of {seen} runs.", _untyped(labels))
    return Figure("types", title, columns, rows, total, note=note, drawn=drawn)


def _of_types(labels: Labels, draws: Draws) -> list[Estimate]:
    """What part of all types given each type is, with intervals over questions."""
    sizes = labels.types.sum(axis=1, keepdims=True)
    parts = np.stack(np.broadcast_arrays(labels.types, sizes), axis=-1)
    part = {"part": (lambda sums: ratio(sums[..., 0], sums[..., 1]), NO_TYPED)}
    total = int(labels.types.sum())
    found = estimates(draws, parts, part, [total] * len(TYPES))["part"]
    return [cluster_share(each) for each in found]


def sizes_figure(labels: Labels) -> Figure:
    """How many types a run is given that hallucinates."""
    columns = (
        Column("types", "Types given"),
        Column("runs", "Runs", "count"),
        percent("share", "Of runs that hallucinate"),
    )
    title, drawn = (
        f"How many types a run is given by {labels.rater}",
        Drawn("bars", "types", "share"),
    )
    reason = no_types(labels)
    if reason:
        return Figure("type-numbers", title, columns, (), 0, reason=reason, drawn=drawn)
    sizes = labels.types[labels.present & labels.typed].sum(axis=1)
    n = len(sizes)
    words = [str(k) for k in range(1, len(TYPES) + 1)]
    counts = [int((sizes == int(word)).sum()) for word in words] + [int((sizes > 1).sum())]
    rows = [
        {"types": word, "runs": count, "share": share(count, n)}
        for word, count in zip([*words, "2 or more"], counts, strict=True)
    ]
    return Figure("type-numbers", title, columns, rows, n, note=_untyped(labels), drawn=drawn)


def together_figure(labels: Labels) -> Figure:
    """Which types are given to the same run; a type beside itself counts its runs."""
    columns = (
        Column("one", "Type"),
        Column("other", "Beside"),
        Column("runs", "Runs", "count"),
        percent("share", "Of runs with the first"),
    )
    title, drawn = f"Types of one run, by {labels.rater}", Drawn("heat", "other", "runs", "one")
    reason = no_types(labels)
    if reason:
        return Figure("types-together", title, columns, (), 0, reason=reason, drawn=drawn)
    held = labels.types.astype(int)
    counts = held.T @ held
    rows = [
        {"one": a, "other": b, "runs": int(counts[i, j])}
        | {"share": share(counts[i, j], counts[i, i], "the type is never given")}
        for i, a in enumerate(TYPES)
        for j, b in enumerate(TYPES)
    ]
    n = int((labels.present & labels.typed).sum())
    return Figure("types-together", title, columns, rows, n, note=_untyped(labels), drawn=drawn)


def model_types_figure(runs: Sequence[Run], labels: Labels) -> Figure:
    """Rate of each type in the runs of each model."""
    columns = (
        Column("model", "Model"),
        Column("type", "Type"),
        Column("runs", "Runs with it", "count"),
        percent("share", "Of the model's runs"),
    )
    title, drawn = f"Types per model, by {labels.rater}", Drawn("heat", "type", "share", "model")
    reason = no_types(labels)
    if reason:
        return Figure("model-types", title, columns, (), 0, reason=reason, drawn=drawn)
    names, held = grouped([run.model or UNNAMED for run in runs])
    typed = held & labels.typed[:, None]
    counts = typed.T.astype(int) @ labels.types.astype(int)
    rows = [
        {"model": model, "type": name, "runs": int(counts[m, k])}
        | {"share": share(counts[m, k], typed[:, m].sum())}
        for m, model in enumerate(names)
        for k, name in enumerate(TYPES)
    ]
    n = int(labels.typed.sum())
    return Figure("model-types", title, columns, rows, n, note=_untyped(labels), drawn=drawn)


def flags_figure(labels: Labels) -> Figure:
    """Which reading of scope is meant, of the runs that are given the type scope."""
    columns = (
        Column("flag", "Reading of scope"),
        Column("runs", "Runs", "count"),
        percent("share", "Of runs of type scope"),
    )
    title = f"Readings of scope, by {labels.rater}"
    held = [record.flags for record in labels.records if SCOPE in record.types]
    if not held:
        return Figure("scope-readings", title, columns, (), 0, reason=NO_SCOPE)
    rows = []
    for flag in (*FLAGS, ""):
        count = sum(flag in flags if flag else not flags for flags in held)
        word = flag.replace("_", " ") or "not said"
        rows.append({"flag": word, "runs": count, "share": share(count, len(held))})
    return Figure("scope-readings", title, columns, rows, len(held))
