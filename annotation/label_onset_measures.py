"""Who finds the first wrong step, and its agent: people, judges, and what needs no reading.

Step accuracy is the share of runs whose first wrong step is named exactly or within some steps,
agent accuracy that of runs whose agent at fault is named (Zhang et al. 2025, Which agent causes
task failures and when?). Who names no step is wrong there. The baselines "first" and "last" name
that step of every run; "random step" and "random agent" are what a uniform guess over the steps of
a run, or over its agents, is right to expect: in closed form, nothing is drawn.

An agent is known by its name before a bracket: logs add what it is doing, "Orchestrator (thought)",
and publishers and judges blame the Orchestrator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.label_intervals import RESAMPLES, Draws, Floats, draws_of, estimates, share
from annotation.label_pairs import Bools, Run, in_order, question_of
from annotation.people_resampling import ratio
from benchmark.label_records import LabelRecord
from scoring.estimates import Estimate, undefined

FIRST, LAST, RANDOM_STEP, RANDOM_AGENT = "first", "last", "random step", "random agent"
WITHIN = (0, 1, 3, 5)
NO_REFERENCE = "the reference names no step"
NO_ANSWER = "no step is named"
NO_AGENT = "the reference names no agent"
ONLY_STEPS = "an agent is guessed, not a step"
BY_RULE = "a baseline always answers, so there is no interval"
Ints = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Truth:
    """Runs whose reference names a first wrong step.

    `step` (n,) counts from 1, `agent` holds the agent at fault as the reference names it ("" where
    it does not), `steps` (n,) the length of each run.
    """

    runs: Sequence[Run]
    step: Ints
    agent: Sequence[str]
    steps: Ints
    draws: Draws

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, slots=True)
class Guess:
    """What one predictor says of the runs of a `Truth`.

    `labelled` (n,) says whether it has seen the run, `step` (n,) is 0 where it names none.
    """

    name: str
    labelled: Bools
    step: Ints
    agent: Sequence[str]


def actor(name: str) -> str:
    """The name of an agent without what stands in brackets after it.

    >>> actor("Orchestrator (-> WebSurfer)")
    'Orchestrator'
    """
    return name.partition(" (")[0].strip()


def actors(run: Run) -> list[str]:
    """Who acts in each step of a run."""
    return [actor(name) for name in run.agents]


def agent_named(run: Run, record: LabelRecord) -> str:
    """The agent a label blames: by name where it gives one, else whose step it names, else ""."""
    given = record.meta.get("mistake_agent")
    if isinstance(given, str) and given:
        return actor(given)
    onset = record.onset
    return actor(run.agents[onset - 1]) if onset and onset <= len(run.agents) else ""


def truth_of(
    runs: Iterable[Run], reference: str, *, resamples: int = RESAMPLES, seed: int = 0
) -> Truth:
    """The runs whose `reference` names a first wrong step, in one order."""
    kept = [
        run
        for run in in_order(runs)
        if reference in run.labels and run.labels[reference].onset is not None
    ]
    records = [run.labels[reference] for run in kept]
    return Truth(
        kept,
        np.array([record.onset for record in records], dtype=np.intp),
        [agent_named(run, record) for run, record in zip(kept, records, strict=True)],
        np.array([run.n_steps for run in kept], dtype=np.intp),
        draws_of([question_of(run) for run in kept], resamples=resamples, seed=seed),
    )


def guess_of(truth: Truth, rater: str) -> Guess:
    """The answers of a rater; a run it calls right names no step."""
    records = [run.labels.get(rater) for run in truth.runs]
    steps = [(record.onset or 0) if record else 0 for record in records]
    agents = [
        agent_named(run, record) if record else ""
        for run, record in zip(truth.runs, records, strict=True)
    ]
    labelled = np.array([record is not None for record in records], dtype=bool)
    return Guess(rater, labelled, np.array(steps, dtype=np.intp), agents)


def fixed_guess(truth: Truth, name: str) -> Guess:
    """The baseline that names the first or the last step of every run."""
    steps = np.ones(len(truth), dtype=np.intp) if name == FIRST else truth.steps
    agents = [
        actor(run.agents[step - 1]) if step <= len(run.agents) else ""
        for run, step in zip(truth.runs, steps.tolist(), strict=True)
    ]
    return Guess(name, np.ones(len(truth), dtype=bool), steps, agents)


def guessed(truth: Truth, guess: Guess, within: Sequence[int] = WITHIN) -> dict[str, Estimate]:
    """Shares right: "within_0" (exact) and so on, "agent", and "before" and "after" of answers.

    "unanswered" is the share of labelled runs without a named step. "distance" is the mean number
    of steps between, over answers, with a bootstrap interval over questions.
    """
    seen, answered = guess.labelled, guess.labelled & (guess.step > 0)
    away = guess.step - truth.step
    n, named = int(seen.sum()), int(answered.sum())
    found = {
        f"within_{w}": share((answered & (abs(away) <= w)).sum(), n, NO_ANSWER) for w in within
    }
    known = np.array([bool(agent) for agent in truth.agent], dtype=bool) & seen
    same = [a == b for a, b in zip(truth.agent, guess.agent, strict=True)]
    right = known & np.array(same, dtype=bool)
    parts = np.stack([np.where(answered, abs(away), 0), answered], axis=-1)[:, None, :]
    return found | {
        "agent": share(right.sum(), known.sum(), NO_AGENT),
        "unanswered": share(n - named, n, NO_ANSWER),
        "before": share((answered & (away < 0)).sum(), named, NO_ANSWER),
        "after": share((answered & (away > 0)).sum(), named, NO_ANSWER),
        "distance": _mean(truth.draws, parts, NO_ANSWER),
    }


def _mean(draws: Draws, parts: NDArray, reason: str) -> Estimate:
    """Mean of sums and counts (n, 1, 2); `reason` where there is nothing."""
    n = int(parts[:, 0, 1].sum())
    if not n:
        return undefined(reason)
    mean = {"mean": (lambda sums: ratio(sums[..., 0], sums[..., 1]), reason)}
    return estimates(draws, parts, mean, [n])["mean"][0]


def _mean_of(draws: Draws, values: Floats, kept: Bools, reason: str) -> Estimate:
    parts = np.stack([np.where(kept, values, 0.0), kept.astype(np.float64)], axis=-1)
    return _mean(draws, parts[:, None, :], reason)


def random_step(truth: Truth, within: Sequence[int] = WITHIN) -> dict[str, Estimate]:
    """What a step drawn uniformly from each run is right to expect; intervals over questions."""
    t, n = truth.step.astype(np.float64), truth.steps.astype(np.float64)
    everywhere = np.ones(len(truth), dtype=bool)
    found = {}
    for w in within:
        hits = np.minimum(n, t + w) - np.maximum(1, t - w) + 1
        found[f"within_{w}"] = _mean_of(truth.draws, hits / n, everywhere, NO_REFERENCE)
    counts = [actors(run).count(agent) for run, agent in zip(truth.runs, truth.agent, strict=True)]
    known = np.array([bool(agent) for agent in truth.agent], dtype=bool)
    far = (t * (t - 1) + (n - t) * (n - t + 1)) / 2 / n
    return found | {
        "agent": _mean_of(truth.draws, np.array(counts, dtype=float) / n, known, NO_AGENT),
        "unanswered": _always_answered(truth),
        "before": _mean_of(truth.draws, (t - 1) / n, everywhere, NO_REFERENCE),
        "after": _mean_of(truth.draws, (n - t) / n, everywhere, NO_REFERENCE),
        "distance": _mean_of(truth.draws, far, everywhere, NO_REFERENCE),
    }


def _always_answered(truth: Truth) -> Estimate:
    return Estimate(0.0, BY_RULE, n=len(truth)) if len(truth) else undefined(NO_REFERENCE)


def fixed(truth: Truth, name: str, within: Sequence[int] = WITHIN) -> dict[str, Estimate]:
    """What naming the first or the last step of every run gets right."""
    found = guessed(truth, fixed_guess(truth, name), within)
    return found | {"unanswered": _always_answered(truth)}


def random_agent(truth: Truth, within: Sequence[int] = WITHIN) -> dict[str, Estimate]:
    """What an agent drawn uniformly from those of each run is right to expect; names no step."""
    hits = [
        (agent in actors(run)) / len(set(actors(run))) if run.agents else 0.0
        for run, agent in zip(truth.runs, truth.agent, strict=True)
    ]
    known = np.array([bool(agent) for agent in truth.agent], dtype=bool)
    none = ("unanswered", "before", "after", "distance", *(f"within_{w}" for w in within))
    return {name: undefined(ONLY_STEPS) for name in none} | {
        "agent": _mean_of(truth.draws, np.array(hits), known, NO_AGENT)
    }


BASELINES: Mapping[str, Callable[[Truth, Sequence[int]], dict[str, Estimate]]] = {
    FIRST: lambda truth, within: fixed(truth, FIRST, within),
    LAST: lambda truth, within: fixed(truth, LAST, within),
    RANDOM_STEP: random_step,
    RANDOM_AGENT: random_agent,
}
