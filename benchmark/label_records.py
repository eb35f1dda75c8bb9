"""What a rater says of an agent run: whether it hallucinates, how, where, and why (Trajel, 3.2).

A rater is a person, a language model as judge, or whoever published the data. All of them answer
in the same words, so that any two can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.records import BadRecord

FACTUAL, REFERENTIAL, LOGICAL, PROCEDURAL, SCOPE = TYPES = (
    "factual",
    "referential",
    "logical",
    "procedural",
    "scope",
)
# Two readings of scope: an agent outside its mandate, or an answer to another question.
ROLE_BREACH, TARGET_CHANGE = FLAGS = ("role_breach", "target_change")
THOUGHT, ACTION, OBSERVATION, RESPONSE = COMPONENTS = (
    "thought",
    "action",
    "observation",
    "response",
)
ROOT, PROPAGATED = CAUSES = ("root", "propagated")
PERSON, JUDGE, PUBLISHED = RATER_KINDS = ("person", "judge", "published")
REVIEW, REVISION = STAGES = ("review", "revision")
# The five binary execution signals of Trajel's analysis, by AssetOpsBench's names.
TC, DRA, RV, ASC, CJ = SIGNALS = (
    "task_completion",
    "data_retrieval_accuracy",
    "generalized_result_verification",
    "agent_sequence_correct",
    "clarity_and_justification",
)


@dataclass(frozen=True, slots=True)
class PlaceRecord:
    """Where it happens.

    `step` is the position of a step (from 1), None for the final response of the run or where the
    rater names none. `component` is "" where the rater does not say. `type` says which of several
    types this place shows, `cause` whether the fault begins here or comes from an earlier one, and
    `evidence` the position of the earlier step that should hold what is referred to.
    """

    step: int | None
    component: str = ""
    type: str = ""
    cause: str = ""
    evidence: int | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("component", self.component, COMPONENTS),
            ("type", self.type, TYPES),
            ("cause", self.cause, CAUSES),
        ):
            if value and value not in allowed:
                raise BadRecord(name, f"{value!r} is not one of {', '.join(allowed)}")
        for name, number in (("step", self.step), ("evidence", self.evidence)):
            if number is not None and number < 1:
                raise BadRecord(name, f"is {number}; steps are numbered from 1")
        if self.evidence is not None and self.step is not None and self.evidence >= self.step:
            raise BadRecord("evidence", f"step {self.evidence} is not before step {self.step}")


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """One rater's answer on one run. An empty `types` beside `present` means: not said which.

    `trial` tells repeated answers of a judge apart; `post_reveal` marks what was said after the
    answers of others were seen: it is no blind answer. `stage` is "" but for people in a study,
    whose first answer is a "review" and whose changed mind is a "revision".
    """

    rater: str
    present: bool
    types: Sequence[str] = ()
    flags: Sequence[str] = ()
    places: Sequence[PlaceRecord] = ()
    rationale: str = ""
    kind: str = PUBLISHED
    model: str = ""
    trial: int = 1
    post_reveal: bool = False
    stage: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.rater:
            raise BadRecord("rater", "a label needs the name of its rater")
        if self.kind not in RATER_KINDS:
            raise BadRecord("kind", f"{self.kind!r} is not one of {', '.join(RATER_KINDS)}")
        for name, values, allowed in (("types", self.types, TYPES), ("flags", self.flags, FLAGS)):
            for value in values:
                if value not in allowed:
                    raise BadRecord(name, f"{value!r} is not one of {', '.join(allowed)}")
        if self.stage and self.stage not in STAGES:
            raise BadRecord("stage", f"{self.stage!r} is not one of {', '.join(STAGES)}")
        if self.stage == REVISION and not self.post_reveal:
            raise BadRecord("post_reveal", "a revision is no blind answer")
        if not self.present and (self.types or self.places):
            raise BadRecord("present", "is no, so there can be no type and no place")
        if self.flags and SCOPE not in self.types:
            raise BadRecord("flags", "belong to the type scope, which is not among the types")

    @property
    def typed(self) -> bool:
        """Whether the rater says which types, or that there are none."""
        return bool(self.types) or not self.present

    @property
    def onset(self) -> int | None:
        """The position of the first step named, None where no step is."""
        return min((p.step for p in self.places if p.step is not None), default=None)

    def to_json(self) -> dict[str, Any]:
        """As a release and the API write it; the inverse is `label_of`."""
        return {
            "rater": self.rater,
            "kind": self.kind,
            "model": self.model,
            "trial": self.trial,
            "post_reveal": self.post_reveal,
            "stage": self.stage,
            "present": self.present,
            "types": sorted(self.types, key=TYPES.index),
            "flags": sorted(self.flags, key=FLAGS.index),
            "places": [
                {name: getattr(place, name) for name in PlaceRecord.__dataclass_fields__}
                for place in self.places
            ],
            "rationale": self.rationale,
            "meta": dict(self.meta),
        }


_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("rater", "rationale", "kind", "model", "stage"), (str,)),
    **dict.fromkeys(("component", "type", "cause"), (str,)),
    **dict.fromkeys(("step", "evidence"), (int, type(None))),
    **dict.fromkeys(("present", "post_reveal"), (bool,)),
    **dict.fromkeys(("types", "flags", "places"), (list, tuple)),
    "trial": (int,),
    "meta": (dict,),
}


def label_of(value: Mapping[str, Any]) -> LabelRecord:
    """A label as `LabelRecord.to_json` writes it; raises BadRecord naming the field."""
    fields = _checked(value, LabelRecord, ("rater", "present"))
    for name in ("types", "flags"):
        for item in fields.get(name, ()):
            if not isinstance(item, str):
                raise BadRecord(name, f"holds {item!r}, which is no text")
    places = []
    for item in fields.get("places", ()):
        if not isinstance(item, dict):
            raise BadRecord("places", "must be a list of objects")
        places.append(PlaceRecord(**_checked(item, PlaceRecord, ("step",))))
    if fields.get("trial", 1) < 1:
        raise BadRecord("trial", "counts from 1")
    return LabelRecord(**fields | {"places": tuple(places)})


def _checked(
    value: Mapping[str, Any], record: type[LabelRecord] | type[PlaceRecord], needed: Sequence[str]
) -> dict[str, Any]:
    for name in needed:
        if name not in value:
            raise BadRecord(name, "is missing")
    for name, given in value.items():
        if name not in record.__dataclass_fields__:
            known = ", ".join(record.__dataclass_fields__)
            raise BadRecord(str(name), f"is not a field; known are {known}")
        wanted = _KINDS[name]
        if not isinstance(given, wanted) or (isinstance(given, bool) and bool not in wanted):
            raise BadRecord(name, f"is {given!r:.80}; it must be {wanted[0].__name__}")
    return dict(value)


@dataclass(frozen=True, slots=True)
class SignalRecord:
    """A yes or no about a whole run, and who or what computed it. None: computed, undecided."""

    name: str
    value: bool | None
    source: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise BadRecord("signal", "a signal needs a name")
