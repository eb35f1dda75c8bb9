from benchmark.models.dialogues import Dialogue, Fork, Turn
from benchmark.models.labels import JudgeAnswer, JudgePrompt, LabelPlace, LabelSet, Rater
from benchmark.models.releases import Release
from benchmark.models.trajectories import Trajectory, TrajectorySignal, TrajectoryStep
from benchmark.models.workflows import Corpus, Workflow, WorkflowStep, WorkflowTransition

__all__ = [
    "Corpus",
    "Dialogue",
    "Fork",
    "JudgeAnswer",
    "JudgePrompt",
    "LabelPlace",
    "LabelSet",
    "Rater",
    "Release",
    "Trajectory",
    "TrajectorySignal",
    "TrajectoryStep",
    "Turn",
    "Workflow",
    "WorkflowStep",
    "WorkflowTransition",
]
