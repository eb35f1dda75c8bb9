"""The statistics of a study report as table rows, with undefined figures in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from annotation.design import TYPES

Stats = Mapping[str, Any]
Filter = Mapping[str, Any]
BREAK = "WIC, SSPC and GR"

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
    "one_answer_dominates": "one answer has four in five or more: kappa and alpha fall with it",
    "constant_input": "all ratings are the same",
    "never_given": "nobody gave this answer to a shared item",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: `shown` is "number", "share" or "rating"; a `value` of None has a `reason`.

    `n` says in words what was counted, `count` is its number of observations. `where` names the
    judgements behind the figure: parameters of the page of rows. `people` is the interval of a
    share with people drawn, beside Wilson's.
    """

    group: str
    measure: str
    value: float | None
    ci: tuple[float, float] | None
    n: str
    reason: str
    shown: str = "number"
    count: int = 0
    where: Filter = field(default_factory=dict)
    people: tuple[float, float] | None = None

    @property
    def query(self) -> str:
        """`where` as a query string."""
        return urlencode(self.where)


@dataclass(frozen=True, slots=True)
class Question:
    """A research question as the report lists it, with its figures."""

    name: str
    asked: str
    validates: str
    measure: str
    rows: tuple[Row, ...]


def in_words(reason: str) -> str:
    """The reason of an undefined figure as a sentence part."""
    return REASONS.get(reason, reason.replace("_", " "))


def research_questions(statistics: Stats) -> list[Question]:
    """The four questions in order: what is asked, what it validates, how, and what came out."""
    return [
        Question(
            "RQ1",
            "Does a conversation look worse the earlier it leaves its workflow?",
            "Order of forks by k (tasks 1 and 2)",
            "Step 1: rating from 0 to 100, before any cue",
            tuple(_rq1(statistics["rq1"])),
        ),
        Question(
            "RQ2",
            "Is the instructed behaviour there to be seen?",
            "Labels of type and variant",
            "Step 2: yes, partly or no to the true instruction or a foil",
            tuple(_rq2(statistics["rq2"])),
        ),
        Question(
            "RQ3",
            "Does it begin where it was meant to?",
            "Fork turn (task 3)",
            "Step 2: first assistant turn that shows it, before the fork is shown",
            tuple(_rq3(statistics["rq3"])),
        ),
        Question(
            "RQ4",
            "Did the turns before the fork follow the workflow?",
            "Kept or replayed prefix",
            "Step 3: yes, mostly or no, where an assistant turn lies before the fork",
            tuple(_rq4(statistics["rq4"])),
        ),
    ]


def questions(statistics: Stats) -> list[Row]:
    """The figures of RQ1 to RQ4 in one list."""
    return [row for question in research_questions(statistics) for row in question.rows]


def _rq1(rq1: Stats) -> Iterator[Row]:
    for name, types, kind in (("_breaking", BREAK, "breaking"), ("", "all types", "forks")):
        tau = rq1[f"tau{name}"]
        measure = f"tau-b of rating and k within person and workflow, {types}"
        yield _row("RQ1", measure, tau, _groups(tau), where=_rated(kind))
    for type_ in TYPES:
        tau = rq1["tau_by_type"][type_]
        measure = f"tau-b within person, {type_}"
        yield _row("RQ1", measure, tau, _groups(tau), where=_rated(type_))
    for name, types, kind in (("_breaking", BREAK, "breaking"), ("", "all types", "forks")):
        superior = rq1[f"superiority{name}"]
        measure = f"probability that a later fork is rated above an earlier one, {types}"
        n = f"{superior['n']} pairs"
        yield _row("RQ1", measure, superior, n, "share", _rated(kind))
    for k, mean in sorted(rq1["mean_breaking"].items()):
        filters = _rated("breaking") | {"k": k}
        yield _row("RQ1", f"mean rating, {BREAK}, k = {k}", mean, "", "rating", filters)
    anchor = rq1["conformant"]
    yield _row("RQ1", "mean rating, conformant", anchor, "", "rating", _rated("conformant"))


def _groups(tau: Stats) -> str:
    used = tau.get("groups_used", 0)
    words = f"{tau['n']} ratings, {used} {'group' if used == 1 else 'groups'}"
    skipped = tau.get("groups_skipped")
    return words + (f", {skipped} skipped" if skipped else "")


def _rated(type_: str) -> dict[str, Any]:
    return {"question": "rating", "type": type_}


def _rq2(rq2: Stats) -> Iterator[Row]:
    asked = {"question": "confirmation"}
    true = asked | {"type": "forks", "instruction": "true"}
    yield _share("RQ2", "confirmed, true instruction", rq2["true"], true)
    for type_ in TYPES:
        of_type = true | {"type": type_}
        yield _share("RQ2", f"confirmed, true, {type_}", rq2["true_by_type"][type_], of_type)
    on_fork = asked | {"type": "forks", "instruction": "foil"}
    yield _share("RQ2", "confirmed, foil on a fork", rq2["foil_on_fork"], on_fork)
    whole = asked | {"type": "conformant"}
    yield _share(
        "RQ2", "confirmed, foil on a conformant dialogue", rq2["foil_on_conformant"], whole
    )


def _rq3(rq3: Stats) -> Iterator[Row]:
    found = rq3["all"]
    marked = {"question": "onset", "type": "forks", "instruction": "true"}
    for name, measure in (
        ("exact", "onset exactly at the fork turn"),
        ("within_1", "onset within one assistant turn"),
        ("at_or_after", "onset at the fork turn or later"),
    ):
        hits = round(found[name] * found["n"]) if found["n"] else 0
        part = {"value": found[name], "n": found["n"], "ci": found.get(f"{name}_ci"), "k": hits}
        part["share_ci_people"] = found.get(f"{name}_ci_people")
        yield _share("RQ3", measure, part | {"reason": found.get("reason", "")}, marked)


def _rq4(rq4: Stats) -> Iterator[Row]:
    asked = {"question": "prefix", "type": "forks"}
    yield _share("RQ4", "followed, or mostly", rq4["all"], asked)
    for k, share in sorted(rq4["by_k"].items()):
        yield _share("RQ4", f"followed, or mostly, k = {k}", share, asked | {"k": k})


def means(statistics: Stats) -> list[Row]:
    """Mean rating per type and k, then over all types, then the conformant anchor."""
    rq1 = statistics["rq1"]
    groups = [(t, t, rq1["mean_by_type"][t]) for t in TYPES]
    groups.append((BREAK, "breaking", rq1["mean_breaking"]))
    groups.append(("all types", "forks", rq1["mean_by_k"]))
    rows = [
        _row(label, f"k = {k}", mean, "", "rating", _rated(kind) | {"k": k})
        for label, kind, by_k in groups
        for k, mean in sorted(by_k.items())
    ]
    anchor = rq1["conformant"]
    return [*rows, _row("conformant", "", anchor, "", "rating", _rated("conformant"))]


MEASURES = (
    ("raw", "raw agreement", "share"),
    ("ac1", "Gwet’s AC1", "number"),
    ("alpha", "Krippendorff’s alpha", "number"),
    ("kappa", "Cohen’s kappa, mean over pairs of people", "number"),
    ("fleiss", "Fleiss’ kappa", "number"),
    ("away", "mean difference of two people", "rating"),
)
SAME = {"rating": ", same number", "onset": ", same turn"}
LEVELS = {"rating": ", interval", "onset": ", interval", "confirmation": "", "prefix": ""}
QUESTIONS = {
    "rating": "Step 1, rating",
    "confirmation": "Step 2, instruction",
    "onset": "Step 2, onset",
    "prefix": "Step 3, before the fork",
}


@dataclass(frozen=True, slots=True)
class AgreementBlock:
    """The coefficients of one question; `answers` says in words how the answers are spread."""

    question: str
    label: str
    items: int
    pairs: int
    answers: str
    note: str
    rows: tuple[Row, ...]


def agreement_blocks(statistics: Stats) -> list[AgreementBlock]:
    """Agreement per question; numbers have no AC1 and no kappa."""
    blocks = []
    for question, label in QUESTIONS.items():
        found = statistics["agreement"][question]
        shared = {"question": question, "shared": 1}
        rows = [
            _agreement(label, measure + _level(key, question), found[key], shown, shared)
            for key, measure, shown in MEASURES
            if key in found
        ]
        rows += [
            _row(label, f"agreement on “{word}”", part, f"{part['n']} answers", "share", shared)
            for word, part in found["labels"].items()
        ]
        note = in_words(found["note"]) if found["note"] else ""
        block = (found["items"], found["pairs"], _answers(found), note, tuple(rows))
        blocks.append(AgreementBlock(question, label, *block))
    return blocks


def agreements(statistics: Stats) -> list[Row]:
    """All coefficients in one list."""
    return [row for block in agreement_blocks(statistics) for row in block.rows]


def _level(key: str, question: str) -> str:
    return {"alpha": LEVELS, "raw": SAME}.get(key, {}).get(question, "")


def _answers(found: Stats) -> str:
    total = found["judgements"]
    if not total:
        return "no answer yet"
    if "answers" in found:
        parts = (f"{word} {100 * n / total:.0f} %" for word, n in found["answers"].items())
        return ", ".join(parts)
    spread = "" if found["spread"] is None else f", standard deviation {found['spread']:.1f}"
    return f"mean {found['mean']:.1f}{spread}"


def _agreement(label: str, measure: str, found: Stats, shown: str, filters: Filter) -> Row:
    n = f"{found['n']} shared items"
    if "pairs_undefined" in found:
        used = found["pairs"] - found["pairs_undefined"]
        n = f"{found['n']} shared answers, {used} of {found['pairs']} pairs of people"
    return _row(label, measure, found, n, shown, filters)


def _share(group: str, measure: str, found: Stats, filters: Filter) -> Row:
    n = f"{found['k']} of {found['n']}" if found.get("k") is not None and found["n"] else ""
    return _row(group, measure, found, n, "share", filters)


def _row(
    group: str,
    measure: str,
    found: Stats,
    n: str = "",
    shown: str = "number",
    where: Filter | None = None,
) -> Row:
    ci = tuple(found["ci"]) if found.get("ci") else None
    reason = in_words(found["reason"]) if found.get("reason") else ""
    words = n or str(found["n"])
    drawn = found.get("share_ci_people")
    people = (drawn[0], drawn[1]) if drawn else None
    value, count, behind = found["value"], found["n"], dict(where or {})
    return Row(group, measure, value, ci, words, reason, shown, count, behind, people)
