"""Published packages measured in a process of their own, on the arrays that we measure with.

Each runs with an empty working directory and home: one writes files where it runs and reads them
again by path, sets the seeds and the log of its whole process, another prints its licence.
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

from scoring.dialogue_distances import DialogueVectors

LIMIT_SECONDS = 600


def run_peer(
    package: str, script: str, arrays: Mapping[str, Any], *arguments: str
) -> Mapping[str, Any]:
    """The JSON object that `script` of this folder prints, or {"error": why there is none}."""
    if importlib.util.find_spec(package) is None:
        return {"error": f"{package} is not installed"}
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "given.npz"
        np.savez(given, **arrays)
        environment = os.environ | {"HOME": folder, "HF_HUB_OFFLINE": "1", "MPLBACKEND": "Agg"}
        command = [sys.executable, str(Path(__file__).with_name(script)), str(given), *arguments]
        try:
            done = subprocess.run(  # noqa: S603
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"error": f"{package} took longer than {LIMIT_SECONDS} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"{package} could not run: {last}"}
    found: Mapping[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def sdialog_peer(
    measure: str,
    reference: Sequence[DialogueVectors],
    others: Sequence[DialogueVectors],
    model: str = "",
) -> Mapping[str, Any]:
    """sdialog's flow score ("score") or perplexity ("perplexity") of `others`; see its script.

    With `model`, the folder of a sentence-transformers model, the peer encodes the texts itself.
    """
    arrays = {**_arrays("reference", reference), **_arrays("others", others)}
    return run_peer("sdialog", "sdialog_peer.py", arrays, measure, model)


def _arrays(name: str, dialogues: Sequence[DialogueVectors]) -> dict[str, Any]:
    return {
        f"{name}_roles": np.array([role for d in dialogues for role in d.roles]),
        f"{name}_texts": np.array([text for d in dialogues for text in d.texts]),
        f"{name}_vectors": np.concatenate([d.vectors for d in dialogues]),
        f"{name}_lengths": np.array([len(d.roles) for d in dialogues]),
    }
