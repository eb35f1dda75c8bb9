"""The demo corpus: nine workflows with scripts, dialogues that follow them, and agent runs.

Everything is invented. `records(seed)` yields it, the same for the same seed.
"""

from benchmark.demo.corpus import DIALOGUES_PER_WORKFLOW, SEED, dialogues, records
from benchmark.demo.trajectory_files import read_trajectories
from benchmark.demo.workflow_files import read_workflows

__all__ = [
    "DIALOGUES_PER_WORKFLOW",
    "SEED",
    "dialogues",
    "read_trajectories",
    "read_workflows",
    "records",
]
