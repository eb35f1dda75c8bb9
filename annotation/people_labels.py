"""What several people say of one run, made into one answer, or each put beside the other rater.

Trajel gives every run to several reviewers (section 3.3, appendix C). Three rules: "majority" (more
than half of them), "any" (at least one), and "each" (every review is a pair of its own).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotation.label_pairs import Run
from benchmark.label_records import FLAGS, PERSON, TYPES, LabelRecord, PlaceRecord

PEOPLE = "people"
MAJORITY, ANY, EACH = RULES = ("majority", "any", "each")


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run as statistics see it, with other labels than are stored."""

    pk: int
    external_id: str
    corpus: str
    model: str
    question: str
    n_steps: int
    agents: tuple[str, ...]
    labels: Mapping[str, LabelRecord]


@dataclass(frozen=True, slots=True)
class Combined:
    """Runs with "people" among their raters.

    `pools` says whose review a run stands for (by its key; only by rule "each"), `tied` counts the
    runs left without an answer of people because as many say yes as no. `keys` maps the key of a
    run here to the key of the run it was made from.
    """

    runs: Sequence[SeenRun]
    pools: Mapping[int, str]
    tied: int
    keys: Mapping[int, int]


def combined(runs: Iterable[Run], people: Collection[str], rule: str) -> Combined:
    """`runs` with the labels of `people` as one rater named "people".

    By "majority" and "any" every run stays one run. By "each" a run comes once per review, with a
    key of its own and the question of the run, so that reviews of one question hang together; a run
    without a review comes once. Raises ValueError for an unknown rule.
    """
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}; it must be one of {', '.join(RULES)}")
    if rule == EACH:
        return _each(runs, people)
    found, tied = [], 0
    for run in runs:
        said = [run.labels[name] for name in sorted(run.labels) if name in people]
        labels = {name: label for name, label in run.labels.items() if name not in people}
        answer = one_answer(said, rule)
        tied += bool(said) and answer is None
        found.append(_with(run, labels | ({PEOPLE: answer} if answer else {})))
    return Combined(found, {}, tied, {run.pk: run.pk for run in found})


def one_answer(said: Sequence[LabelRecord], rule: str) -> LabelRecord | None:
    """One answer from several; None where nobody answered, or as many say yes as no.

    Types are asked of those who see a fault and say which, places and flags of those who see one;
    a place that is given different types loses its type.
    """
    yes = [label for label in said if label.present]
    if not said or (rule == MAJORITY and 2 * len(yes) == len(said)):
        return None
    if not (yes if rule == ANY else 2 * len(yes) > len(said)):
        return LabelRecord(PEOPLE, False, kind=PERSON)
    typed = [label for label in yes if label.types]
    types = _kept([label.types for label in typed], TYPES, rule)
    flags = _kept([label.flags for label in typed], FLAGS, rule) if "scope" in types else ()
    return LabelRecord(PEOPLE, True, types, flags, _places(yes, rule), kind=PERSON)


def _kept(said: Sequence[Sequence[str]], names: Sequence[str], rule: str) -> tuple[str, ...]:
    return tuple(n for n in names if _enough(sum(n in each for each in said), len(said), rule))


def _enough(n: int, of: int, rule: str) -> bool:
    return n > 0 if rule == ANY else 2 * n > of


def _places(said: Sequence[LabelRecord], rule: str) -> tuple[PlaceRecord, ...]:
    """The places that enough people name, in the order of the run."""
    by_place: dict[tuple[int, str], list[PlaceRecord]] = defaultdict(list)
    people: dict[tuple[int, str], set[int]] = defaultdict(set)
    for person, label in enumerate(said):
        for place in label.places:
            key = (place.step or 0, place.component)
            by_place[key].append(place)
            people[key].add(person)
    found = []
    for (step, component), places in sorted(by_place.items()):
        if _enough(len(people[step, component]), len(said), rule):
            type_, cause = (_shared([getattr(p, n) for p in places]) for n in ("type", "cause"))
            evidence = {p.evidence for p in places}
            where = evidence.pop() if len(evidence) == 1 else None
            found.append(PlaceRecord(step or None, component, type_, cause, where))
    return tuple(found)


def _shared(words: Sequence[str]) -> str:
    return words[0] if len(set(words)) == 1 else ""


def _each(runs: Iterable[Run], people: Collection[str]) -> Combined:
    found: list[SeenRun] = []
    pools: dict[int, str] = {}
    keys: dict[int, int] = {}
    for run in runs:
        others = {name: label for name, label in run.labels.items() if name not in people}
        names = [name for name in sorted(run.labels) if name in people]
        question = run.question or f"run {run.external_id}"
        for name in names:
            pools[len(found)], keys[len(found)] = name, run.pk
            labels = others | {PEOPLE: run.labels[name]}
            found.append(_with(run, labels, pk=len(found), question=question))
        if not names:
            keys[len(found)] = run.pk
            found.append(_with(run, others, pk=len(found), question=question))
    return Combined(found, pools, 0, keys)


def _with(
    run: Run, labels: Mapping[str, LabelRecord], *, pk: int | None = None, question: str = ""
) -> SeenRun:
    return SeenRun(
        pk=run.pk if pk is None else pk,
        external_id=run.external_id,
        corpus=run.corpus,
        model=run.model,
        question=question or run.question,
        n_steps=run.n_steps,
        agents=run.agents,
        labels=labels,
    )
