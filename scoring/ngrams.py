"""Probabilities of the next node of a dialogue given the last ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scoring.flow_graphs import END, START

Context = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NGram:
    """Interpolated Witten-Bell over node sequences, context = the last `order` - 1 nodes.

    P_0 = 1 / (V + 1), END being a symbol; P(w | h) = (c(h, w) + t(h) P(w | h')) / (c(h) + t(h)),
    h' = h without its oldest node, t(h) = distinct followers of h; an unseen h passes P(w | h') on.
    Contexts are padded with START. Over all nodes and END the probabilities sum to 1.
    """

    order: int
    nodes: int
    counts: Mapping[Context, Mapping[str, int]]

    def probability(self, history: Sequence[str], node: str) -> float:
        """P(node | history); only the last order - 1 nodes of the history matter."""
        context = self._context(history)
        value = 1 / (self.nodes + 1)
        for length in range(self.order):
            row = self.counts.get(context[len(context) - length :])
            if row:
                value = (row.get(node, 0) + len(row) * value) / (sum(row.values()) + len(row))
        return value

    def add_one(self, history: Sequence[str], node: str, *, end: bool = True) -> float:
        """The add-one estimate on the full context; without END as a symbol if `end` is False."""
        row = self.counts.get(self._context(history), {})
        symbols = self.nodes + (1 if end else 0)
        return (row.get(node, 0) + 1) / (sum(row.values()) + symbols)

    def _context(self, history: Sequence[str]) -> Context:
        return _padded(history, self.order - 1)

    def stream(self, nodes: Iterable[str]) -> Iterator[float]:
        """The probability of each node in turn, from the nodes before it only."""
        history: list[str] = []
        for node in nodes:
            yield self.probability(history, node)
            history.append(node)


def fit_ngram(paths: Iterable[Sequence[str]], *, order: int = 6, nodes: int) -> NGram:
    """The model of the node sequences of conformant training dialogues.

    `nodes` is V, the number of nodes of the graph (both roles), seen in `paths` or not.
    """
    if order < 1:
        raise ValueError(f"order is {order}; it must be at least 1")
    counts: dict[Context, Counter[str]] = defaultdict(Counter)
    for path in paths:
        for i, node in enumerate([*path, END]):
            context = _padded(path[:i], order - 1)
            for length in range(order):
                counts[context[len(context) - length :]][node] += 1
    return NGram(order, nodes, {context: dict(row) for context, row in counts.items()})


def _padded(history: Sequence[str], length: int) -> Context:
    if not length:
        return ()
    last = tuple(history[-length:])
    return (START,) * (length - len(last)) + last
