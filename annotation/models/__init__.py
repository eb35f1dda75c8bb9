from annotation.models.fork_judgements import (
    InstructionConfirmation,
    OnsetMark,
    PrefixJudgement,
    Skip,
    SliderRating,
)
from annotation.models.people import (
    CrowdIdentity,
    Invitation,
    Message,
    QuestionnaireAnswer,
    Withdrawal,
)
from annotation.models.records import Adjudication, AuditEntry, Commitment, Export
from annotation.models.studies import Assignment, Item, Seat, Study
from annotation.models.trajectory_reviews import JudgeComparison, Review, RevisedReview
from annotation.models.webhooks import Delivery, Webhook
from annotation.models.working import Draft, ProblemReport, StepTime

__all__ = [
    "Adjudication",
    "Assignment",
    "AuditEntry",
    "Commitment",
    "CrowdIdentity",
    "Delivery",
    "Draft",
    "Export",
    "InstructionConfirmation",
    "Invitation",
    "Item",
    "JudgeComparison",
    "Message",
    "OnsetMark",
    "PrefixJudgement",
    "ProblemReport",
    "QuestionnaireAnswer",
    "Review",
    "RevisedReview",
    "Seat",
    "Skip",
    "SliderRating",
    "StepTime",
    "Study",
    "Webhook",
    "Withdrawal",
]
