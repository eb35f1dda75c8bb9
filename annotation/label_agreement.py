"""Agreement on sets of labels: per label precision, recall, F1 and kappa; whole sets by Jaccard."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.agreement import cohen_kappa
from annotation.rating_tables import Label, normalised
from scoring.estimates import Estimate, undefined

LabelSets = Sequence[Sequence[Label]]


def precision_recall_f1(tp: int, fp: int, fn: int, tn: int | None = None) -> Estimate:
    """`value` is F1 = 2tp / (2tp + fp + fn); `precision`, `recall`, and `accuracy` given `tn`.

    Precision is None where nothing was predicted, recall where nothing was true, F1 where neither.
    """
    detail = {
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "tp": tp,
        "fp": fp,
        "fn": fn,
    }
    if tn is not None:
        detail |= {"tn": tn, "accuracy": _ratio(tp + tn, tp + fp + fn + tn)}
    n = tp + fp + fn + (tn or 0)
    if detail["f1"] is None:
        return undefined("nothing_true_and_nothing_predicted", n=n, **detail)
    return Estimate(detail["f1"], n=n, detail=detail)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def per_label(
    truth: LabelSets, predicted: LabelSets, labels: Sequence[Label]
) -> dict[Label, Estimate]:
    """`precision_recall_f1` of each label over units that may carry several."""
    pairs = _set_pairs(truth, predicted, labels)
    found = {}
    for label in labels:
        key = normalised(label)
        cells = [(key in a, key in b) for a, b in pairs]
        found[label] = precision_recall_f1(
            tp=cells.count((True, True)),
            fp=cells.count((False, True)),
            fn=cells.count((True, False)),
            tn=cells.count((False, False)),
        )
    return found


def kappa_per_label(
    truth: LabelSets, predicted: LabelSets, labels: Sequence[Label]
) -> dict[Label, Estimate]:
    """Cohen's kappa on the presence of each label."""
    pairs = _set_pairs(truth, predicted, labels)
    return {
        label: cohen_kappa(
            [normalised(label) in a for a, _ in pairs],
            [normalised(label) in b for _, b in pairs],
            categories=(False, True),
        )
        for label in labels
    }


def label_set_agreement(
    truth: LabelSets, predicted: LabelSets, labels: Sequence[Label]
) -> Estimate:
    """`value` is the mean Jaccard index of the two sets of a unit; two empty sets agree (1).

    `exact_match` is the share of units with equal sets.
    """
    pairs = _set_pairs(truth, predicted, labels)
    if not pairs:
        return undefined("no_observations", mean_jaccard=None, exact_match=None)
    jaccard = sum(len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs) / len(pairs)
    exact = sum(a == b for a, b in pairs) / len(pairs)
    detail = {"mean_jaccard": jaccard, "exact_match": exact}
    return Estimate(jaccard, n=len(pairs), detail=detail)


def _set_pairs(
    truth: LabelSets, predicted: LabelSets, labels: Sequence[Label]
) -> list[tuple[frozenset[Label | None], frozenset[Label | None]]]:
    allowed = {normalised(label) for label in labels}
    pairs = []
    for a, b in zip(truth, predicted, strict=True):
        sets = tuple(frozenset(normalised(label) for label in side) for side in (a, b))
        if unknown := (sets[0] | sets[1]) - allowed:
            raise ValueError(f"{sorted(map(str, unknown))[0]!r} is not one of the labels")
        pairs.append((sets[0], sets[1]))
    return pairs
