"""Scoring runs: started once, scored part by part, summed up, resumed."""

from __future__ import annotations

import pytest

from scoring import encoders, leases, runs
from scoring.models import Chunk, DialogueScore, FlowGraph, Run, RunResult

TASK2 = {"method": "flow_score", "encoder": "lexical"}


def test_task_two_gives_every_fork_a_distance_and_a_tau_per_type(corpus, forked):
    run = runs.work_through(runs.start("task2", [forked], TASK2))

    assert run.state == Run.State.DONE
    assert run.scores.count() == forked.dialogues.count() == 64
    taus = {row.group: row for row in run.results.filter(statistic="tau")}
    assert list(taus) == ["WIC", "SSPC", "GR", "CSC", "all"]
    assert {row.n for group, row in taus.items() if group != "all"} == {4}
    assert taus["WIC"].value == pytest.approx(1.0)
    assert taus["all"].n == 16


def test_surprisal(corpus, forked):
    run = runs.work_through(runs.start("surprisal", [forked], {"encoder": "lexical"}))
    assert run.scores.count() == 68
    print(run.scores.first().turns, list(run.results.values()))
