"""On what several blind answers to one agent run differ."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark.label_records import LabelRecord

PRESENCE, TYPE, STEP, COMPONENT = PARTS = ("presence", "type", "step", "component")


def differ_on(labels: Sequence[LabelRecord]) -> tuple[str, ...]:
    """Among PARTS, in that order; () where all say the same.

    Types, the first step and the parts of steps are compared among those who see a fault; a place
    without a step, such as the final response, is a place of its own.
    """
    seen = [label for label in labels if label.present]
    parts = {
        PRESENCE: {label.present for label in labels},
        TYPE: {frozenset(label.types) for label in seen},
        STEP: {label.onset for label in seen},
        COMPONENT: {frozenset(place.component for place in label.places) for label in seen},
    }
    return tuple(name for name in PARTS if len(parts[name]) > 1)
