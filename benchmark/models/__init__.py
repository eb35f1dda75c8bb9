from benchmark.models.dialogues import Dialogue, Fork, Turn
from benchmark.models.releases import Release
from benchmark.models.trajectories import Trajectory, TrajectoryStep
from benchmark.models.workflows import Corpus, Workflow, WorkflowStep, WorkflowTransition

__all__ = [
    "Corpus",
    "Dialogue",
    "Fork",
    "Release",
    "Trajectory",
    "TrajectoryStep",
    "Turn",
    "Workflow",
    "WorkflowStep",
    "WorkflowTransition",
]
