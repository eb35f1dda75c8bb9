"""Tables on the types two raters give: type by type, as sets, and who misses what the other sees.

(Trajel, sections 4.3 and 5.2, table 3 and appendix C.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_binary import cells_of, measures
from annotation.label_intervals import NO_RUN, Floats, estimates, share
from annotation.label_pairs import LabelPairs
from annotation.people_resampling import ratio
from benchmark.label_records import TYPES
from scoring.estimates import Estimate, undefined

NO_BOTH = "there is no run in which both see a hallucination and say of which type"


def percent(key: str, title: str) -> Column:
    """A column of shares with intervals."""
    return Column(key, title, "estimate", percent=True)


def number(key: str, title: str) -> Column:
    """A column of other estimates."""
    return Column(key, title, "estimate")


def left_out(n: int, total: int, why: str) -> str:
    """A sentence on what was left out, "" where nothing was."""
    return f"Left out: {n} of {total} runs, {why}." if n else ""


def counting(unit: str, *sentences: str) -> str:
    """A note on a table whose n counts something else than runs."""
    return " ".join([f"n counts {unit}.", *filter(None, sentences)])


def without_types(pairs: LabelPairs) -> str:
    """Why nothing can be said of types, "" where something can."""
    for labels in (pairs.one, pairs.other):
        if labels.never_typed:
            return f"no types are given by {labels.rater}"
    return "" if len(pairs) else NO_RUN


def untyped_note(pairs: LabelPairs) -> str:
    """How many shared runs are left out of type statistics."""
    out = int((~pairs.typed).sum())
    return left_out(out, len(pairs), "where a rater sees a hallucination and says no type")


def types_figure(pairs: LabelPairs) -> Figure:
    """Precision, recall, F1 and kappa of each type, `one` as the reference."""
    columns = (
        Column("type", "Type"),
        Column("tp", "Both", "count"),
        Column("fn", f"Only {pairs.one.rater}", "count"),
        Column("fp", f"Only {pairs.other.rater}", "count"),
        Column("tn", "Neither", "count"),
        percent("precision", "Precision"),
        percent("recall", "Recall"),
        number("f1", "F1"),
        number("kappa", "Kappa"),
    )
    title = f"Types: {pairs.other.rater} against {pairs.one.rater}"
    drawn = Drawn("points", "type", "f1")
    reason = without_types(pairs)
    if reason:
        return Figure("types-agreement", title, columns, (), 0, reason=reason, drawn=drawn)
    rows = type_rows(pairs)
    n = int(pairs.typed.sum())
    return Figure("types-agreement", title, columns, rows, n, note=untyped_note(pairs), drawn=drawn)


def type_rows(pairs: LabelPairs) -> list[dict[str, object]]:
    """One row per type with its four cells and measures, over runs that both have typed."""
    parts = cells_of(pairs.one.types, pairs.other.types) * pairs.typed[:, None, None]
    cells = parts.sum(axis=0).astype(int).tolist()
    found = measures(pairs.draws, parts, ("f1", "kappa"))
    return [
        {"type": name, **dict(zip(("tp", "fn", "fp", "tn"), cells[place], strict=True))}
        | found[place]
        for place, name in enumerate(TYPES)
    ]


def jaccard(one: np.ndarray, other: np.ndarray) -> Floats:
    """Overlap of sets given as truth values (n, types); two empty sets are the same (1)."""
    union = (one | other).sum(axis=1)
    return np.where(union == 0, 1.0, (one & other).sum(axis=1) / np.maximum(union, 1))


def set_estimates(pairs: LabelPairs) -> dict[str, Estimate]:
    """Of the runs in which both see a hallucination and say its types: how like the sets are.

    "exact": share of equal sets; "overlap": share with a type in common; "jaccard": mean overlap;
    "jaccard_inexact": mean overlap of the sets that are not equal; "more_one" and "more_other":
    share in which one set holds all of the other and more.
    """
    kept = pairs.both & pairs.typed
    one, other = pairs.one.types[kept], pairs.other.types[kept]
    n, equal = int(kept.sum()), (one == other).all(axis=1)
    within = (one <= other).all(axis=1), (other <= one).all(axis=1)
    like = np.zeros((len(pairs), 2, 2))
    like[kept, 0, 0] = jaccard(one, other)
    like[kept, 0, 1] = 1
    like[kept, 1] = like[kept, 0] * ~equal[:, None]
    sizes = (n, int((~equal).sum()))
    mean = {"jaccard": (lambda sums: ratio(sums[..., 0], sums[..., 1]), NO_BOTH)}
    whole, inexact = estimates(pairs.draws, like, mean, sizes)["jaccard"]
    return {
        "exact": share(equal.sum(), n, NO_BOTH),
        "overlap": share((one & other).any(axis=1).sum(), n, NO_BOTH),
        "jaccard": whole if n else undefined(NO_BOTH),
        "jaccard_inexact": inexact if sizes[1] else undefined("every set is equal"),
        "more_one": share((within[1] & ~equal).sum(), n, NO_BOTH),
        "more_other": share((within[0] & ~equal).sum(), n, NO_BOTH),
    }


def sets_figure(pairs: LabelPairs) -> Figure:
    """Whole sets of types beside each other."""
    words = {
        "exact": "the same set",
        "overlap": "a type in common",
        "more_one": f"all types of {pairs.other.rater}, and {pairs.one.rater} more",
        "more_other": f"all types of {pairs.one.rater}, and {pairs.other.rater} more",
        "jaccard": "mean overlap (Jaccard)",
        "jaccard_inexact": "mean overlap of sets that are not the same",
    }
    columns = (Column("measure", "Sets of types"), percent("value", "Share or mean"))
    title = "Whole sets of types, where both see a hallucination"
    reason = without_types(pairs)
    if reason:
        return Figure("type-sets", title, columns, (), 0, reason=reason)
    found = set_estimates(pairs)
    rows = [{"measure": word, "value": found[name]} for name, word in words.items()]
    n = int((pairs.both & pairs.typed).sum())
    return Figure("type-sets", title, columns, rows, n, note=untyped_note(pairs))


def missed_figure(pairs: LabelPairs) -> Figure:
    """Of the runs in which both see a hallucination: which types one names and the other misses."""
    title = "Types that one names and the other does not, where both see a hallucination"
    columns = (
        Column("type", "Type"),
        Column("by", "Named by"),
        Column("named", "Runs", "count"),
        percent("missed", "Not named by the other"),
    )
    drawn = Drawn("bars", "type", "missed", "by")
    reason = without_types(pairs)
    if reason:
        return Figure("types-missed", title, columns, (), 0, reason=reason, drawn=drawn)
    kept = pairs.both & pairs.typed
    rows = []
    sides = (pairs.one, pairs.other), (pairs.other, pairs.one)
    for place, name in enumerate(TYPES):
        for by, against in sides:
            named = by.types[kept, place]
            missed = share((named & ~against.types[kept, place]).sum(), named.sum(), "never named")
            rows.append({"type": name, "by": by.rater, "named": int(named.sum()), "missed": missed})
    n = int(kept.sum())
    return Figure("types-missed", title, columns, rows, n, note=untyped_note(pairs), drawn=drawn)


def crossed_figure(pairs: LabelPairs) -> Figure:
    """Which type of one stands beside which of the other, where both see a hallucination."""
    title = f"Types of {pairs.one.rater} beside types of {pairs.other.rater}"
    columns = (
        Column("one", f"Type of {pairs.one.rater}"),
        Column("other", f"Type of {pairs.other.rater}"),
        Column("runs", "Runs", "count"),
    )
    drawn = Drawn("heat", "other", "runs", "one")
    reason = without_types(pairs)
    if reason:
        return Figure("types-crossed", title, columns, (), 0, reason=reason, drawn=drawn)
    kept = pairs.both & pairs.typed
    one, other = (side.types[kept].astype(int) for side in (pairs.one, pairs.other))
    counts = (one.T @ other).tolist()
    rows: Sequence[dict[str, object]] = [
        {"one": a, "other": b, "runs": counts[i][j]}
        for i, a in enumerate(TYPES)
        for j, b in enumerate(TYPES)
    ]
    note = "A run with several types counts in several cells. " + untyped_note(pairs)
    n = int(kept.sum())
    return Figure("types-crossed", title, columns, rows, n, note=note.strip(), drawn=drawn)
