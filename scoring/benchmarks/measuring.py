"""A measured case: our throughput beside a peer's, and whether the bar is met."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limit:
    """What one `per` of a job may take and took, in seconds of processor time."""

    took: float
    most: float
    per: str

    @property
    def kept(self) -> bool:
        return self.took <= self.most


@dataclass(frozen=True, slots=True)
class Measured:
    """`ours` and `peer` in `unit` (more is better), `ratio` = ours / peer, to be at least `bar`.

    `peer` is None where the peer is not installed or none is published (`ours` too, where nothing
    can run without it); then `ratio` is None and `note` says why. `equal` is False where the two
    sides gave different answers, and then the case is not ok. A case with a peer is judged by the
    ratio, whatever the machine; one without by its `limit`, where it has one.
    """

    ours: float | None
    peer: float | None
    bar: float
    unit: str
    equal: bool = True
    note: str = ""
    limit: Limit | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peer if self.ours and self.peer else None

    @property
    def ok(self) -> bool | None:
        if self.ratio is not None:
            return self.equal and self.ratio >= self.bar
        return None if self.limit is None else self.equal and self.limit.kept

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "ours": self.ours,
            "peer": self.peer,
            "ratio": self.ratio,
            "bar": self.bar,
            "unit": self.unit,
            "ok": self.ok,
        }
        if self.limit:
            limit = {"seconds": self.limit.took, "most": self.limit.most, "per": self.limit.per}
            row["limit"] = limit | {"kept": self.limit.kept}
        return row | ({"reason": self.note} if self.note else {})


def seconds(*functions: Callable[[], Any], repeats: int = 7) -> list[float]:
    """The least processor time of each function, measured in turns.

    Taking turns spreads the load of other programs over all of them; processor time leaves out the
    waiting for a processor.
    """
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.process_time()
            function()
            best[i] = min(best[i], time.process_time() - start)
    return best
