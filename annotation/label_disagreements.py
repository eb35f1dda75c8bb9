"""Runs on which two raters differ, so that somebody can read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.label_pairs import Run, in_order
from benchmark.label_records import LabelRecord

COLUMNS = (
    "run",
    "model",
    "question",
    "person",
    "differ_on",
    "one_present",
    "one_types",
    "one_first_step",
    "other_present",
    "other_types",
    "other_first_step",
)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A run that `one` and `other` answer differently; `run` is its key, `on` some of presence,
    types and step, `person` whose review it is where reviews stand for themselves."""

    run: int
    external_id: str
    model: str
    question: str
    person: str
    on: tuple[str, ...]
    one: LabelRecord
    other: LabelRecord

    @property
    def step(self) -> int | None:
        """The first step that either names; None where neither does."""
        named = [at for at in (self.one.onset, self.other.onset) if at is not None]
        return min(named, default=None)

    def cells(self) -> tuple[Any, ...]:
        """The row under `COLUMNS`."""
        said = [
            part
            for label in (self.one, self.other)
            for part in (
                "yes" if label.present else "no",
                " ".join(label.types),
                label.onset,
            )
        ]
        return (self.external_id, self.model, self.question, self.person, " ".join(self.on), *said)


def disagreements(
    runs: Iterable[Run],
    one: str,
    other: str,
    *,
    keys: Mapping[int, int] | None = None,
    pools: Mapping[int, str] | None = None,
) -> list[Disagreement]:
    """Where two raters differ: on presence first, then on types, then on the first step alone.

    Types are compared where both say which, first steps where both name one. `keys` maps keys of
    `runs` to keys of runs as they are stored, `pools` to the person whose review it is.
    """
    found = []
    for run in in_order(runs):
        a, b = run.labels.get(one), run.labels.get(other)
        if a is None or b is None or not (on := differing(a, b)):
            continue
        found.append(
            Disagreement(
                run=(keys or {}).get(run.pk, run.pk),
                external_id=run.external_id,
                model=run.model,
                question=run.question,
                person=(pools or {}).get(run.pk, ""),
                on=on,
                one=a,
                other=b,
            )
        )
    return sorted(found, key=lambda each: ORDER.index(each.on[0]))


ORDER = ("presence", "types", "step")


def differing(one: LabelRecord, other: LabelRecord) -> tuple[str, ...]:
    """On what two answers differ; with another presence nothing else is compared."""
    if one.present != other.present:
        return ("presence",)
    on = []
    if one.typed and other.typed and set(one.types) != set(other.types):
        on.append("types")
    if None not in (one.onset, other.onset) and one.onset != other.onset:
        on.append("step")
    return tuple(on)
