from annotation.models.fork_judgements import (
    InstructionConfirmation,
    OnsetMark,
    PrefixJudgement,
    Skip,
    SliderRating,
)
from annotation.models.studies import Assignment, Item, Seat, Study

__all__ = [
    "Assignment",
    "InstructionConfirmation",
    "Item",
    "OnsetMark",
    "PrefixJudgement",
    "Seat",
    "Skip",
    "SliderRating",
    "Study",
]
