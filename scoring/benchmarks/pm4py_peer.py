"""Run as a script in its own process: times pm4py's directly-follows graph of coded paths.

    python pm4py_peer.py PATHS.npz

Reads `codes` (all paths end to end) and `lengths`; prints one JSON object: the least processor
time of a few calls in seconds, and the counts as [from, to, n].
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

REPEATS = 3


def main(path: str) -> None:
    import pandas
    import pm4py

    given = np.load(path)
    codes, lengths = given["codes"], given["lengths"]
    cases = np.repeat(np.arange(len(lengths)), lengths)
    seconds = pandas.to_timedelta(np.arange(len(codes)), unit="s")
    log = pandas.DataFrame(
        {
            "case:concept:name": cases.astype(str),
            "concept:name": codes.astype(str),
            "time:timestamp": pandas.Timestamp("2026-01-01", tz="UTC") + seconds,
        }
    )
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        graph, _, _ = pm4py.discover_dfg(log)
        best = min(best, time.process_time() - start)
    counts = [[int(a), int(b), int(n)] for (a, b), n in graph.items()]
    print(json.dumps({"seconds": best, "counts": counts}))


if __name__ == "__main__":
    main(sys.argv[1])
