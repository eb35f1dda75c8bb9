"""Fitting flow graphs and scoring dialogues on them, beside sdialog 0.5.3.

Both sides get the same stored vectors in place of an encoder, so that only the work on graphs is
measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoring.benchmarks.measuring import Measured, seconds
from scoring.benchmarks.peers import sdialog_peer
from scoring.benchmarks.synthetic import procedural_dialogues
from scoring.dialogue_distances import DialogueVectors
from scoring.flow_graphs import fit
from scoring.flow_tables import FlowTable

BAR = 3.0


def measure() -> dict[str, Measured]:
    """The measured cases of this area, by name."""
    reference = procedural_dialogues(60, seed=1)
    others = procedural_dialogues(60, seed=2)
    table = FlowTable(fit(reference, compat="sdialog"))
    fitting, scoring = seconds(
        lambda: fit(reference, compat="sdialog"), lambda: _scores(table, others), repeats=3
    )
    theirs = peer(reference, others)
    ours = (len(reference) / fitting, len(others) / scoring)
    units = ("dialogues fitted/s", "dialogues scored/s")
    if "error" in theirs:
        note = str(theirs["error"])
        cases = [Measured(ours[i], None, BAR, units[i], note=note) for i in (0, 1)]
    else:
        equal = bool(np.allclose(_scores(table, others), theirs["scores"], rtol=1e-5, atol=0))
        peers = (len(reference) / theirs["fitting"], len(others) / theirs["scoring"])
        cases = [Measured(ours[i], peers[i], BAR, units[i], equal) for i in (0, 1)]
    return {"flow_graph_fit": cases[0], "flow_graph_score": cases[1]}


def _scores(table: FlowTable, dialogues: Sequence[DialogueVectors]) -> list[float]:
    found = table.scores(dialogues, node_confidence=True)
    return [score.value or 0.0 for score in found]


def peer(
    reference: Sequence[DialogueVectors], others: Sequence[DialogueVectors]
) -> Mapping[str, Any]:
    """What the peer measures on the same dialogues, or {"error": why there is nothing}."""
    return sdialog_peer("score", reference, others)
