"""Fitting flow graphs and scoring dialogues on them, beside sdialog 0.5.3.

Both sides get the same stored vectors in place of an encoder, so that only the work on graphs is
measured. The peer runs in a process of its own with an empty working directory and home: it writes
files where it runs, reads them again by path, and sets the seeds and the log of its whole process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoring.benchmarks.measuring import Measured, seconds
from scoring.benchmarks.synthetic import procedural_dialogues
from scoring.dialogue_distances import DialogueVectors
from scoring.flow_graphs import fit
from scoring.path_scores import score_dialogue

PEER = Path(__file__).with_name("sdialog_peer.py")
BAR = 3.0
LIMIT_SECONDS = 600


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    reference = procedural_dialogues(60, seed=1)
    others = procedural_dialogues(60, seed=2)
    graph = fit(reference, compat="sdialog")
    fitting, scoring = seconds(
        lambda: fit(reference, compat="sdialog"), lambda: _scores(graph, others), repeats=3
    )
    theirs = peer(reference, others)
    ours = (len(reference) / fitting, len(others) / scoring)
    units = ("dialogues fitted/s", "dialogues scored/s")
    if "error" in theirs:
        note = str(theirs["error"])
        cases = [Measured(ours[i], None, BAR, units[i], note=note) for i in (0, 1)]
    else:
        equal = bool(np.allclose(_scores(graph, others), theirs["scores"], rtol=1e-5, atol=0))
        peers = (len(reference) / theirs["fitting"], len(others) / theirs["scoring"])
        cases = [Measured(ours[i], peers[i], BAR, units[i], equal) for i in (0, 1)]
    return {"flow_graph_fit": cases[0], "flow_graph_score": cases[1]}


def _scores(graph: Any, dialogues: Sequence[DialogueVectors]) -> list[float]:
    found = (score_dialogue(graph, d.roles, d.vectors, node_confidence=True) for d in dialogues)
    return [score.value or 0.0 for score in found]


def peer(
    reference: Sequence[DialogueVectors], others: Sequence[DialogueVectors]
) -> Mapping[str, Any]:
    """What the peer measures on the same dialogues, or {"error": why there is nothing}."""
    if importlib.util.find_spec("sdialog") is None:
        return {"error": "sdialog is not installed"}
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "dialogues.npz"
        np.savez(given, **_arrays("reference", reference), **_arrays("others", others))
        environment = os.environ | {"HOME": folder, "HF_HUB_OFFLINE": "1", "MPLBACKEND": "Agg"}
        done = subprocess.run(  # noqa: S603
            [sys.executable, str(PEER), str(given)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"sdialog could not run: {last}"}
    found: Mapping[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _arrays(name: str, dialogues: Sequence[DialogueVectors]) -> dict[str, Any]:
    return {
        f"{name}_roles": np.array([role for d in dialogues for role in d.roles]),
        f"{name}_texts": np.array([text for d in dialogues for text in d.texts]),
        f"{name}_vectors": np.concatenate([d.vectors for d in dialogues]),
        f"{name}_lengths": np.array([len(d.roles) for d in dialogues]),
    }
