"""Encoding the turns of sources and their forks: one batch beside one call per dialogue."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from scoring import encoders
from scoring.benchmarks.measuring import Measured, seconds

NAME = "minilm"
SAME = 1e-5
REPEATED = 0.4
UNIT = "turns/s"
SAYINGS = (
    "please could you tell me the name day hour place number of your booking room table flight "
    "account card order visit doctor ticket bill and then we can look for a free one later today "
    "tomorrow morning evening yes no thank sorry right that is all sure moment again confirmed"
)


def measure() -> dict[str, Measured]:
    """The measured case of this area, by name."""
    return {"encoding_batch": encoding_batch()}


def forked_texts(
    sources: int, *, forks: int = 16, turns: int = 14, stock: int = 60, seed: int = 0
) -> list[list[str]]:
    """The turns of each source and of its forks; a fork shares its first turns with the source.

    The assistant says what stands in a stock of sayings; the user of a fork says two times in five
    what some user said before, else something new. That makes four turns per distinct text, as
    in the scripted forks of the demo corpus (118,000 turns, 29,000 texts); forks spliced from
    human dialogues repeat more (29 turns per text on STAR).
    """
    rng = np.random.default_rng(seed)
    words = SAYINGS.split()

    def free() -> str:
        return " ".join(rng.choice(words, int(rng.integers(2, 25))).tolist())

    stocked = [free() for _ in range(stock)]
    heard: list[str] = []

    def said(turn: int, again: float = 0.0) -> str:
        if turn % 2:
            return stocked[int(rng.integers(stock))]
        if heard and rng.random() < again:
            return heard[int(rng.integers(len(heard)))]
        heard.append(free())
        return heard[-1]

    dialogues = []
    for _ in range(sources):
        source = [said(turn) for turn in range(turns)]
        dialogues.append(source)
        for fork in range(forks):
            shared = 1 + (fork % 4) * turns // 4
            rest = [said(turn, REPEATED) for turn in range(shared, turns)]
            dialogues.append([*source[:shared], *rest])
    return dialogues


def encoding_batch(sources: int = 4) -> Measured:
    """All turns in one call against one call per dialogue; vectors equal to 1e-5."""
    dialogues = forked_texts(sources)
    texts = [text for dialogue in dialogues for text in dialogue]
    try:
        encoder = encoders.get(NAME)
        encoder.encode(texts[:1])
    except encoders.EncoderUnavailable as error:
        return Measured(None, None, 3.0, UNIT, note=str(error))
    found: dict[str, np.ndarray] = {}

    def together() -> None:
        found["ours"] = encoder.encode(texts)

    def one_by_one() -> None:
        found["peer"] = np.concatenate([encoder.encode(dialogue) for dialogue in dialogues])

    with threadpool_limits(limits=1):
        ours, peer = seconds(together, one_by_one, repeats=1)
    equal = bool(np.allclose(found["ours"], found["peer"], rtol=0, atol=SAME))
    return Measured(len(texts) / ours, len(texts) / peer, 3.0, UNIT, equal)
