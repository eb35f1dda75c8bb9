"""Task 1 at full size: transitions, precision and recall, flow graphs, beside their peers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from threadpoolctl import threadpool_limits

from scoring import encoders, sentence_encoders
from scoring.benchmarks.encoding import forked_texts
from scoring.benchmarks.measuring import Limit, Measured, seconds
from scoring.benchmarks.peers import run_peer, sdialog_peer
from scoring.benchmarks.synthetic import procedural_dialogues
from scoring.dialogue_distances import DialogueVectors
from scoring.flow_graphs import fit
from scoring.flow_tables import FlowTable, count_moves
from scoring.set_distances import flow_kl, prd, prd_curve, prd_distance

DIALOGUES, TURNS = 36_000, 750_000
NODES = 120
PAIRS, PAIR_DIM, CLUSTERS, RUNS = 1_700, 768, 20, 10
SEEDS = 20
MODEL = "minilm"
ROLES = ("user", "assistant")


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    return {
        "transition_counts": transition_counts(),
        "prd_unit": prd_unit(),
        "flow_kl_set": flow_kl_set(),
        "perplexity_stored": perplexity_stored(),
        "perplexity_encoding": perplexity_encoding(),
    }


def transition_counts(dialogues: int = DIALOGUES, turns: int = TURNS) -> Measured:
    """Moves between 120 nodes; the inner counts equal pm4py's."""
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.choice(np.arange(1, turns), dialogues - 1, replace=False))
    lengths = np.diff([0, *cuts, turns])
    codes = rng.integers(0, NODES, turns)
    (ours,) = seconds(lambda: count_moves(codes, lengths, nodes=NODES))
    limit = Limit(ours, 0.050, f"{turns:,} turns")
    theirs = run_peer("pm4py", "pm4py_peer.py", {"codes": codes, "lengths": lengths})
    unit = "turns/s"
    if "error" in theirs:
        return Measured(turns / ours, None, 14.0, unit, note=str(theirs["error"]), limit=limit)
    moves = count_moves(codes, lengths, nodes=NODES)
    inner = (moves.a < NODES) & (moves.b < NODES)
    counts = {(a, b): n for a, b, n in theirs["counts"]}
    own = zip(
        moves.a[inner].tolist(), moves.b[inner].tolist(), moves.n[inner].tolist(), strict=True
    )
    equal = counts == {(a, b): n for a, b, n in own}
    return Measured(turns / ours, turns / theirs["seconds"], 14.0, unit, equal, limit=limit)


def plain_prd(
    reference: np.ndarray, candidate: np.ndarray, seed: int = 0, runs: int = RUNS
) -> float:
    """The distance with scikit-learn's own ten starts in each run."""
    curves, n = [], len(candidate)
    for run in range(runs):
        model = MiniBatchKMeans(CLUSTERS, n_init=10, random_state=seed + run)
        labels = model.fit_predict(np.concatenate([candidate, reference]))
        shares = [
            np.bincount(part, minlength=CLUSTERS) / len(part) for part in (labels[n:], labels[:n])
        ]
        curves.append(prd_curve(*shares))
    return prd_distance(*np.mean(curves, axis=0))


def prd_unit(pairs: int = PAIRS, seeds: int = SEEDS, runs: int = RUNS) -> Measured:
    """One set against the conformant one; equal: our distance lies inside the spread of the plain
    form over `seeds` seeds, taken on a tenth of the pairs to end within a minute."""
    reference, candidate = _clouds(pairs)
    with threadpool_limits(limits=1):
        ours, plain = seconds(
            lambda: prd(reference, candidate, clusters=CLUSTERS, runs=runs),
            lambda: plain_prd(reference, candidate, 0, runs),
            repeats=1,
        )
        few = slice(0, max(pairs // 10, 2 * CLUSTERS))
        spread = [plain_prd(reference[few], candidate[few], runs * i, runs) for i in range(seeds)]
        own = prd(reference[few], candidate[few], clusters=CLUSTERS, runs=runs).value
    equal = own is not None and min(spread) <= own <= max(spread)
    note = f"distance {own:.4f}, plain form {min(spread):.4f} to {max(spread):.4f}"
    return Measured(1 / ours, 1 / plain, 3.0, "units/s", equal, note=note)


def _clouds(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of turns that scatter round shared steps; the candidate has a few of its own."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(30, PAIR_DIM))
    found = []
    for first in (0, 6):
        near = steps[rng.integers(first, first + 24, pairs)]
        found.append(near + 0.7 * rng.normal(size=(pairs, PAIR_DIM)))
    return found[0], found[1]


def flow_kl_set(dialogues: int = 90) -> Measured:
    """Scores of a set of 90 dialogues of 20 turns on a given graph, and their divergence."""
    reference = procedural_dialogues(dialogues, turns=20, dim=384, noise=0.03, seed=1)
    candidate = procedural_dialogues(dialogues, turns=20, dim=384, noise=0.03, seed=2)
    table = FlowTable(fit(reference))
    likely = _values(table, reference)
    (ours,) = seconds(lambda: flow_kl(likely, _values(table, candidate)))
    limit = Limit(ours, 0.005, "set")
    return Measured(1 / ours, None, 1.0, "sets/s", note="no peer scores sets so", limit=limit)


def _values(
    table: FlowTable, dialogues: Sequence[DialogueVectors], *, confidence: bool = False
) -> list[float]:
    found = table.scores(dialogues, node_confidence=confidence)
    return [score.value or 0.0 for score in found]


def perplexity_stored(dialogues: int = 60) -> Measured:
    """sdialog's DialogFlowPPL on stored vectors, graph given; its scores to a relative 1e-5."""
    reference = procedural_dialogues(dialogues, turns=20, dim=384, noise=0.03, seed=1)
    others = procedural_dialogues(dialogues, turns=20, dim=384, noise=0.03, seed=2)
    table = FlowTable(fit(reference, compat="sdialog"))
    (ours,) = seconds(lambda: _values(table, others, confidence=True), repeats=3)
    values = _values(table, others, confidence=True)
    theirs = sdialog_peer("perplexity", reference, others)
    return _perplexity(values, ours, theirs, others, 20.0, 1e-5)


def perplexity_encoding(sources: int = 2, forks: int = 7) -> Measured:
    """The same with the encoder included on both sides: one batch beside one call per turn."""
    said = forked_texts(2 * sources, forks=forks)
    try:
        encoder = encoders.get(MODEL)
        encoder.encode(["a first call loads the weights"])
    except encoders.EncoderUnavailable as error:
        return Measured(None, None, 8.0, "turns/s", note=str(error))
    half = len(said) // 2
    with threadpool_limits(limits=1):
        reference = _spoken(encoder, said[:half])
        table = FlowTable(fit(reference, compat="sdialog"))
        (ours,) = seconds(
            lambda: _values(table, _spoken(encoder, said[half:]), confidence=True), repeats=1
        )
    others = _spoken(encoder, said[half:])
    values = _values(table, others, confidence=True)
    folder = str(sentence_encoders.package_folder(sentence_encoders.MODELS[MODEL]))
    theirs = sdialog_peer("perplexity", reference, others, folder)
    return _perplexity(values, ours, theirs, others, 8.0, 1e-3)


def _spoken(encoder: encoders.Encoder, said: Sequence[Sequence[str]]) -> list[DialogueVectors]:
    rows = encoder.encode([text for texts in said for text in texts])
    found, at = [], 0
    for texts in said:
        roles = tuple(ROLES[i % 2] for i in range(len(texts)))
        found.append(DialogueVectors(roles, tuple(texts), rows[at : at + len(texts)]))
        at += len(texts)
    return found


def _perplexity(
    values: Sequence[float],
    took: float,
    theirs: Any,
    dialogues: Sequence[DialogueVectors],
    bar: float,
    tolerance: float,
) -> Measured:
    """Perplexity is one over the score; both in turns per second."""
    turns = sum(len(d.roles) for d in dialogues)
    if "error" in theirs:
        return Measured(turns / took, None, bar, "turns/s", note=str(theirs["error"]))
    own = 1 / np.asarray(values)
    equal = bool(np.allclose(own, theirs["scores"], rtol=tolerance, atol=0))
    return Measured(turns / took, turns / theirs["scoring"], bar, "turns/s", equal)
