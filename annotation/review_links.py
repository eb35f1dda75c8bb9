"""The answers to an agent run as the links of a chain say them: free words as a digest only."""

from __future__ import annotations

from typing import Any

from annotation.commitment_chain import digest
from annotation.models import JudgeComparison
from benchmark.label_records import LabelRecord

PARTS = ("presence", "type", "step", "component")


def answer_of(record: LabelRecord) -> dict[str, Any]:
    """A review: presence, types, flags, places in the order of the run, and why."""
    said = record.to_json()
    places = sorted(
        said["places"],
        key=lambda p: (p["step"] or 0, p["component"], p["type"], p["evidence"] or 0),
    )
    return {
        "present": record.present,
        "types": said["types"],
        "flags": said["flags"],
        "places": places,
        "rationale": digest(record.rationale),
    }


def comparison_of(comparison: JudgeComparison) -> dict[str, Any]:
    """A comparison: agreement, what the two differ on, and whether the mind was changed."""
    return {
        "agreement": comparison.agreement,
        "on": differs_on(comparison),
        "changed": comparison.changed,
        "note": digest(comparison.note),
    }


def differs_on(comparison: JudgeComparison) -> list[str]:
    """What the two answers differ on: among presence, type, step, component."""
    return [name for name in PARTS if getattr(comparison, f"on_{name}")]
