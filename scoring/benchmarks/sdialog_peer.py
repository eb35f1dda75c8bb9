"""Run as a script in its own process: times sdialog's scores of dialogues on a flow graph.

    python sdialog_peer.py DIALOGUES.npz score|perplexity [MODEL]

With stored vectors in place of its encoder, or, given the folder of a model, with that. Prints one
JSON object: seconds for fitting and scoring, and the scores.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

NAMES = {"user": "User", "assistant": "System"}


class StoredVectors:
    """Stands in for the peer's encoder: a text's vector is looked up, never computed."""

    by_text: dict[str, Any] = {}

    def __init__(self, *args: Any, **settings: Any) -> None:
        pass

    def encode(self, texts: Any, **settings: Any) -> Any:
        if isinstance(texts, str):
            return self.by_text[texts]
        return np.stack([self.by_text[str(text)] for text in texts])

    def get_sentence_embedding_dimension(self) -> int:
        return len(next(iter(self.by_text.values())))


def main(path: str, wanted: str, model: str = "") -> None:
    import sdialog
    from sdialog.evaluation import DialogFlowPPL, DialogFlowScore, base
    from sdialog.evaluation.dialog2flow import extract_trajectories

    given = np.load(path)
    if not model:
        for module in (base, extract_trajectories):
            module.SentenceTransformer = StoredVectors
    reference, others = (dialogues(sdialog, given, name) for name in ("reference", "others"))
    start = clocks()
    kind = {"score": DialogFlowScore, "perplexity": DialogFlowPPL}[wanted]
    measure = kind(reference, **({"node_embedding_model": model} if model else {}))
    fitted = clocks()
    scores = [float(measure.score(dialogue)) for dialogue in others]
    found = {"fitting": least(start, fitted), "scoring": least(fitted, clocks())}
    print(json.dumps(found | {"scores": scores}))


def clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def least(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Seconds by the clock kinder to the peer: its idle threads spin, other programs wait."""
    return min(after - before for before, after in zip(start, end, strict=True))


def dialogues(sdialog: Any, given: Any, name: str) -> list[Any]:
    roles, texts = given[f"{name}_roles"], given[f"{name}_texts"]
    StoredVectors.by_text |= dict(
        zip((str(text) for text in texts), given[f"{name}_vectors"], strict=True)
    )
    found, at = [], 0
    for number, length in enumerate(given[f"{name}_lengths"]):
        turns = [
            sdialog.Turn(speaker=NAMES[str(roles[i])], text=str(texts[i]))
            for i in range(at, at + int(length))
        ]
        found.append(sdialog.Dialog(id=f"{name}-{number}", turns=turns))
        at += int(length)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
