"""The statistics of a study report as table rows, with undefined figures in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Stats = Mapping[str, Any]
TYPES = ("WIC", "SSPC", "GR", "CSC")

REASONS = {
    "no_observations": "nobody has answered this yet",
    "no_defined_group": "no person has two forks of one workflow with different ratings",
    "no_pairs": "no person has rated two positions of one workflow",
    "no_pairable_values": "no item was answered by two people",
    "no_variation": "all answers are the same",
    "chance_agreement_is_one": "all answers are the same, so chance alone would agree",
    "no_defined_pair": "for every pair of people, all shared answers are the same",
    "fewer_than_two_observations": "a single item has no interval",
    "fewer_than_two_clusters": "one person has no interval",
    "fewer_than_two_pairs": "fewer than two ratings",
    "constant_input": "all ratings are the same",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: `shown` is "number" or "share"; `value` None comes with `reason` in words."""

    group: str
    measure: str
    value: float | None
    ci: tuple[float, float] | None
    n: str
    reason: str
    shown: str = "number"


def in_words(reason: str) -> str:
    """The reason of an undefined figure as a sentence part."""
    return REASONS.get(reason, reason.replace("_", " "))


def questions(statistics: Stats) -> list[Row]:
    """RQ1 to RQ4."""
    prefix = statistics["rq4"]["all"]
    return [
        *_rq1(statistics["rq1"]),
        *_rq2(statistics["rq2"]),
        *_rq3(statistics["rq3"]),
        _share("RQ4", "the turns before the fork followed, or mostly", prefix),
    ]


def _rq1(rq1: Stats) -> Iterator[Row]:
    tau = rq1["tau"]
    groups = f"{tau['n']} ratings, {tau.get('groups_used', 0)} groups"
    if skipped := tau.get("groups_skipped"):
        groups += f", {skipped} skipped"
    yield _row("RQ1", "tau-b of rating and k, within person and workflow", tau, groups)
    for type_ in TYPES:
        yield _row("RQ1", f"tau-b within person, {type_}", rq1["tau_by_type"][type_])
    superior = rq1["superiority"]
    measure = "a later fork is rated above an earlier one"
    yield _share("RQ1", measure, superior, f"{superior['n']} pairs")


def _rq2(rq2: Stats) -> Iterator[Row]:
    yield _share("RQ2", "confirmed, true instruction", rq2["true"])
    yield _share("RQ2", "confirmed, foil on a fork", rq2["foil_on_fork"])
    yield _share("RQ2", "confirmed, foil on a conformant dialogue", rq2["foil_on_conformant"])


def _rq3(rq3: Stats) -> Iterator[Row]:
    found = rq3["all"]
    for name, measure in (
        ("exact", "onset exactly at the fork turn"),
        ("within_1", "onset within one assistant turn"),
        ("at_or_after", "onset at the fork turn or later"),
    ):
        part = {"value": found[name], "n": found["n"], "ci": found.get(f"{name}_ci")}
        yield _share("RQ3", measure, part | {"reason": found.get("reason", "")})


def means(statistics: Stats) -> list[Row]:
    """Mean rating per type and k, then over all types, then the conformant anchor."""
    rq1 = statistics["rq1"]
    rows = [
        _row(type_, f"k = {k}", estimate)
        for type_ in TYPES
        for k, estimate in sorted(rq1["mean_by_type"][type_].items())
    ]
    rows += [_row("all types", f"k = {k}", e) for k, e in sorted(rq1["mean_by_k"].items())]
    return [*rows, _row("conformant", "", rq1["conformant"])]


MEASURES = (
    ("raw", "raw agreement", "share"),
    ("ac1", "Gwet’s AC1", "number"),
    ("alpha", "Krippendorff’s alpha", "number"),
    ("kappa", "Cohen’s kappa, mean over pairs of people", "number"),
)
SAME = {"rating": ", same number", "onset": ", same turn"}
LEVELS = {"rating": ", interval", "onset": ", interval", "confirmation": "", "prefix": ""}
QUESTIONS = {
    "rating": "Step 1, rating",
    "confirmation": "Step 2, instruction",
    "onset": "Step 2, onset",
    "prefix": "Step 3, before the fork",
}


def agreements(statistics: Stats) -> list[Row]:
    """Agreement per question; numbers have no AC1 and no kappa."""
    rows = []
    for question, label in QUESTIONS.items():
        found = statistics["agreement"][question]
        for key, measure, shown in MEASURES:
            if key in found:
                level = {"alpha": LEVELS, "raw": SAME}.get(key, {}).get(question, "")
                rows.append(_agreement(label, measure + level, found[key], shown))
    return rows


def _agreement(label: str, measure: str, found: Stats, shown: str) -> Row:
    n = f"{found['n']} shared items"
    if "pairs_undefined" in found:
        n += f", {found['pairs'] - found['pairs_undefined']} of {found['pairs']} pairs"
    return _row(label, measure, found, n, shown)


def _share(group: str, measure: str, found: Stats, n: str = "") -> Row:
    if not n and found.get("k") is not None and found["n"]:
        n = f"{found['k']} of {found['n']}"
    return _row(group, measure, found, n, "share")


def _row(group: str, measure: str, found: Stats, n: str = "", shown: str = "number") -> Row:
    ci = tuple(found["ci"]) if found.get("ci") else None
    reason = in_words(found["reason"]) if found.get("reason") else ""
    return Row(group, measure, found["value"], ci, n or str(found["n"]), reason, shown)
