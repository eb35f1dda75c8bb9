"""Forks of real human dialogues (STAR): a sample, its balance and its order."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.stats import kendalltau

from benchmark.formats import FORMATS
from benchmark.records import ASSISTANT, DialogueRecord, WorkflowRecord
from benchmark.splicing import SpliceEngine
from benchmark.witnesses import plain
from scoring.dialogue_distances import METHODS, DialogueVectors
from scoring.encoders import LexicalEncoder

pytestmark = pytest.mark.slow

SAMPLE = 120


@pytest.fixture(scope="module")
def star(shared):
    """(sources, forks by (source, type)) of a sample of STAR, each task with all its dialogues."""
    folder = shared / "data" / "star"
    found = list(FORMATS["star"](folder / "dialogues.jsonl.gz", workflows=folder / "workflows"))
    workflows = {r.name: r for r in found if isinstance(r, WorkflowRecord)}
    pool = [r for r in found if isinstance(r, DialogueRecord) and r.conformant]
    eligible = [d for d in pool if sum(t.role == ASSISTANT for t in d.turns) >= 4]
    assert len(eligible) == 2030
    eligible.sort(key=lambda d: zlib.crc32(d.external_id.encode()))
    engine = SpliceEngine(pool, workflows, seed=11, encode=LexicalEncoder().encode)
    forks = defaultdict(dict)
    for source in eligible[:SAMPLE]:
        for fork in engine.forks(source):
            assert isinstance(fork, DialogueRecord), fork
            forks[source.external_id, fork.forks[0].type][fork.forks[0].k] = fork
    return {d.external_id: d for d in eligible[:SAMPLE]}, forks


def test_every_source_has_all_its_forks(star):
    sources, forks = star
    assert len(forks) == 4 * len(sources)
    assert all(sorted(found) == [1, 2, 3, 4] for found in forks.values())


def test_prefixes_are_the_sources_and_fork_turns_are_not(star):
    sources, forks = star
    for (key, _), found in forks.items():
        for fork in found.values():
            at = fork.forks[0].fork_turn - 1
            assert list(fork.turns[:at]) == list(sources[key].turns[:at])
            assert plain(fork.turns[at].text) != plain(sources[key].turns[at].text)


def test_length_does_not_give_the_position_away(star):
    sources, forks = star
    taus = defaultdict(list)
    for (key, type_), found in forks.items():
        longer = [abs(len(found[k].turns) - len(sources[key].turns)) for k in (1, 2, 3, 4)]
        tau = kendalltau([4, 3, 2, 1], longer).statistic
        taus[type_].append(0.0 if np.isnan(tau) else tau)
    assert {t: abs(float(np.mean(v))) <= 0.3 for t, v in taus.items()} == dict.fromkeys(
        ("WIC", "SSPC", "GR", "CSC"), True
    )


def test_the_witness_starts_at_the_fork(star):
    _, forks = star
    for found in forks.values():
        for fork in found.values():
            mark = fork.forks[0]
            assert mark.witness["from"]["turn"] == mark.fork_turn
        starts = [found[k].forks[0].witness["from"]["turn"] for k in (1, 2, 3, 4)]
        assert all(a < b for a, b in itertools.pairwise(starts))


def test_all_strategies_of_step_corruption_occur(star):
    _, forks = star
    counts = Counter(f[1].forks[0].variant for (_, t), f in forks.items() if t == "SSPC")
    assert set(counts) == {"repeat", "skip", "reorder", "close_early", "stall"}
    assert counts["stall"] < 0.6 * sum(counts.values())


def test_earlier_forks_are_further_from_their_source(star):
    sources, forks = star
    texts = sorted(
        {t.text.strip() for d in sources.values() for t in d.turns}
        | {t.text.strip() for found in forks.values() for f in found.values() for t in f.turns}
    )
    rows = LexicalEncoder().encode(texts)
    place = {text: i for i, text in enumerate(texts)}

    def vectors(record):
        return DialogueVectors.scored(
            [t.role for t in record.turns],
            [t.text for t in record.turns],
            rows[[place[t.text.strip()] for t in record.turns]],
        )

    held = {key: vectors(d) for key, d in sources.items()}
    units = list(forks.items())
    pairs = [(held[key], vectors(f[k])) for (key, _), f in units for k in (1, 2, 3, 4)]
    values = [d.value for d in METHODS["flow_score"](pairs)]
    taus = defaultdict(list)
    for i, ((_, type_), _) in enumerate(units):
        tau = kendalltau([4, 3, 2, 1], values[4 * i : 4 * i + 4]).statistic
        taus[type_].append(0.0 if np.isnan(tau) else tau)
    means = {type_: float(np.mean(found)) for type_, found in taus.items()}
    assert np.mean(list(means.values())) >= 0.70, means
    assert min(means.values()) >= 0.5, means
