"""The demo corpus: nine workflows with scripts, dialogues that follow them, and agent runs.

Everything is invented. `records(seed)` yields it, the same for the same seed; `scripted_runs(seed)`
yields the runs of three invented models on the same questions, `judge_answers` what an invented
judge says of them.
"""

from benchmark.demo.corpus import DIALOGUES_PER_WORKFLOW, SEED, dialogues, records
from benchmark.demo.scripted_judge import MODEL as JUDGE_MODEL
from benchmark.demo.scripted_judge import NAME as JUDGE
from benchmark.demo.scripted_judge import PROMPT, VERSIONS, judge_answers
from benchmark.demo.scripted_runs import SOURCE, scripted_runs
from benchmark.demo.trajectory_files import read_trajectories
from benchmark.demo.workflow_files import read_workflows

__all__ = [
    "DIALOGUES_PER_WORKFLOW",
    "JUDGE",
    "JUDGE_MODEL",
    "PROMPT",
    "SEED",
    "SOURCE",
    "VERSIONS",
    "dialogues",
    "judge_answers",
    "read_trajectories",
    "read_workflows",
    "records",
    "scripted_runs",
]
