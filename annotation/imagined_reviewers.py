"""Reviewers of agent runs made up by a seeded rule, to try a study out. What they say means
nothing.

An imagined reviewer knows what is wrong with a run and sees it with the skill that is set: some
faults are missed, some imagined, types and places are mixed up now and then.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from benchmark.label_records import (
    FLAGS,
    PERSON,
    RESPONSE,
    REVIEW,
    REVISION,
    SCOPE,
    TYPES,
    LabelRecord,
    PlaceRecord,
)

RATIONALE = "A simulated answer: a rule with noise gave it, nobody read the run."
Place = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class Skill:
    """How well imagined reviewers see what is there; all are probabilities.

    `sensitivity` and `specificity` are of presence, `type_kept` and `type_added` of each type that
    is there and of one more that is not, `place_kept` of each place. `changed` says how often the
    mind is changed where the judge says something else. `prevalence` is used where nobody has said
    what is wrong with a run.
    """

    sensitivity: float = 0.88
    specificity: float = 0.82
    type_kept: float = 0.85
    type_added: float = 0.15
    place_kept: float = 0.7
    changed: float = 0.3
    prevalence: float = 0.6

    def __post_init__(self) -> None:
        for each in fields(self):
            if not 0 <= getattr(self, each.name) <= 1:
                value = getattr(self, each.name)
                raise ValueError(f"{each.name} is {value}; it must be a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class RunCase:
    """A run to be reviewed: `places` are the parts it has, `truth` what is wrong with it (None:
    nobody said), `judge` what the judge said (None: nothing to compare with)."""

    name: str
    places: Sequence[Place]
    truth: LabelRecord | None = None
    judge: LabelRecord | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """How a reviewer sees the judge's answer; `on` names what the two differ on."""

    agreement: str
    on: tuple[str, ...]
    changed: bool


@dataclass(frozen=True, slots=True)
class Reviewed:
    """All answers: `compared` is None without a judge, `revised` without a changed mind."""

    review: LabelRecord
    compared: Compared | None = None
    revised: LabelRecord | None = None


class Reviewer:
    """One imagined person. `seed` names them: the same seed and run give the same answers."""

    def __init__(self, rater: str, seed: str, skill: Skill) -> None:
        self.rater, self.seed, self.skill = rater, seed, skill

    def answer(self, case: RunCase) -> Reviewed:
        """Everything this person says of a run."""
        rng = random.Random(f"{self.seed} {case.name}")
        review = self._review(case, rng)
        if case.judge is None:
            return Reviewed(review)
        on = differences(review, case.judge)
        revised = self._revised(case, case.judge) if on else None
        if rng.random() >= self.skill.changed:
            revised = None
        agreement = "agree" if not on else "disagree" if on == ("presence",) else "partly"
        return Reviewed(review, Compared(agreement, on, revised is not None), revised)

    def _review(self, case: RunCase, rng: random.Random) -> LabelRecord:
        truth = case.truth or self._planted(case)
        rate = self.skill.sensitivity if truth.present else 1 - self.skill.specificity
        if rng.random() >= rate:
            return self._label(False)
        types = self._types(truth, rng)
        flags = tuple(truth.flags) or (rng.choice(FLAGS),) if SCOPE in types else ()
        return self._label(True, types, flags, self._places(case, truth, types, rng))

    def _planted(self, case: RunCase) -> LabelRecord:
        """What is wrong with a run of which nobody has said it: the same for all reviewers."""
        rng = random.Random(f"planted {case.name}")
        if rng.random() >= self.skill.prevalence:
            return self._label(False)
        place = rng.choice(list(case.places)) if case.places else (None, RESPONSE)
        types = (rng.choice(TYPES),)
        flags = (FLAGS[0],) if SCOPE in types else ()
        return self._label(True, types, flags, (PlaceRecord(*place),))

    def _types(self, truth: LabelRecord, rng: random.Random) -> tuple[str, ...]:
        kept = {name for name in truth.types if rng.random() < self.skill.type_kept}
        others = [name for name in TYPES if name not in truth.types]
        if others and (not kept or rng.random() < self.skill.type_added):
            kept.add(rng.choice(others))
        return tuple(name for name in TYPES if name in kept) or (rng.choice(TYPES),)

    def _places(
        self, case: RunCase, truth: LabelRecord, types: Sequence[str], rng: random.Random
    ) -> tuple[PlaceRecord, ...]:
        known = list(case.places)
        if not known:
            return ()
        named = dict.fromkeys((place.step, place.component) for place in truth.places)
        there = [at for at in named if at in known and rng.random() < self.skill.place_kept]
        return tuple(PlaceRecord(*at) for at in there or [rng.choice(known)])

    def _revised(self, case: RunCase, judge: LabelRecord) -> LabelRecord | None:
        """The judge's answer as one's own; None where a person could not give it."""
        places = tuple(
            dict.fromkeys(
                PlaceRecord(place.step, place.component)
                for place in judge.places
                if (place.step, place.component) in case.places
            )
        )
        if judge.present and not (judge.types and (places or not case.places)):
            return None
        flags = tuple(judge.flags) or FLAGS[:1] if SCOPE in judge.types else ()
        own = self._label(judge.present, tuple(judge.types), flags, places)
        return replace(own, stage=REVISION, post_reveal=True)

    def _label(
        self,
        present: bool,
        types: tuple[str, ...] = (),
        flags: tuple[str, ...] = (),
        places: tuple[PlaceRecord, ...] = (),
    ) -> LabelRecord:
        rationale = RATIONALE if present else ""
        return LabelRecord(
            self.rater, present, types, flags, places, rationale, PERSON, stage=REVIEW
        )


def differences(one: LabelRecord, other: LabelRecord) -> tuple[str, ...]:
    """What two answers differ on: presence alone, or type, first step and parts."""
    if one.present != other.present:
        return ("presence",)
    parts = {"type": set(one.types) != set(other.types), "step": one.onset != other.onset}
    components = [{place.component for place in label.places} for label in (one, other)]
    parts["component"] = components[0] != components[1]
    return tuple(name for name, differs in parts.items() if differs)
