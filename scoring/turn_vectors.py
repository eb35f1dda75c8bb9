"""The scored turns of dialogues as vectors, and cosines between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from benchmark.records import ASSISTANT, USER

SCORED_ROLES = (USER, ASSISTANT)
Floats = NDArray[np.float64]
SAME = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class DialogueVectors:
    """The scored turns of a dialogue.

    `roles` and `texts` have length T, `vectors` has shape (T, d), rows need not be of unit length.
    `full` is the vector of the whole dialogue's text, shape (d,), where the method needs it.
    `unit` says that the rows have length one (or zero), as stored vectors do: they are then taken
    as they are, which saves a fifth of a distance.
    """

    roles: tuple[str, ...]
    texts: tuple[str, ...]
    vectors: NDArray[Any]
    full: NDArray[Any] | None = None
    unit: bool = False

    def __post_init__(self) -> None:
        if not len(self.roles) == len(self.texts) == len(self.vectors):
            raise ValueError("roles, texts and vectors must have one entry per turn")

    @classmethod
    def scored(
        cls,
        roles: Sequence[str],
        texts: Sequence[str],
        vectors: ArrayLike,
        full: NDArray[Any] | None = None,
    ) -> DialogueVectors:
        """Only the turns that are scored (see `scored_turns`); `vectors` covers all turns."""
        keep = scored_turns(roles, texts)
        rows = np.asarray(vectors)
        return cls(
            tuple(roles[i] for i in keep),
            tuple(texts[i].strip() for i in keep),
            rows[keep] if keep else np.zeros((0, rows.shape[-1] if rows.ndim == 2 else 0)),
            full,
        )


Pair = tuple[DialogueVectors, DialogueVectors]
Pairs = Sequence[Pair]


NOTHING: Mapping[str, Any] = MappingProxyType({})


class Distance(NamedTuple):
    """`value` is None exactly where `reason` is non-empty; `detail` holds the method's parts."""

    value: float | None
    reason: str = ""
    detail: Mapping[str, Any] = NOTHING


def scored_turns(roles: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Places (from 0) of the turns that are scored: user and assistant turns that say something."""
    return [
        i
        for i, (role, text) in enumerate(zip(roles, texts, strict=True))
        if role in SCORED_ROLES and text.strip()
    ]


def cosines(a: ArrayLike, b: ArrayLike) -> NDArray[Any]:
    """Cosine of each row of `a`, shape (n, d), with each row of `b`, shape (m, d): shape (n, m).

    Computed in the precision of the input (at least float32). A zero row has cosine 0 with
    anything. See `snapped` for what rounding leaves.
    """
    x, y = _floats(a), _floats(b)
    products = (x / _lengths(x)[:, None]) @ y.T
    products /= _lengths(y)
    return products


def snapped(values: NDArray[Any]) -> NDArray[Any]:
    """Cosines within 1e-6 of 1 become 1, so that equal turns are equal whatever their place."""
    return np.where(values > 1.0 - SAME, values.dtype.type(1.0), values)


def _floats(vectors: ArrayLike) -> NDArray[Any]:
    rows = np.asarray(vectors)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _lengths(rows: NDArray[Any]) -> NDArray[Any]:
    lengths = np.sqrt(np.vecdot(rows, rows))
    lengths[lengths == 0] = 1.0
    return lengths


def cosine_distance(a: ArrayLike, b: ArrayLike) -> float:
    """1 - cos of two vectors; 1 if either is zero."""
    x, y = (np.asarray(v, dtype=np.float64) for v in (a, b))
    norms = float(np.sqrt((x @ x) * (y @ y)))
    return 1.0 - float(x @ y) / norms if norms > 0 else 1.0


def one_thread() -> Any:
    """A context in which matrix products use one thread.

    The products here are small; parting them over threads costs far more than it saves, above all
    on a machine that is busy with other workers.
    """
    return _thread_pools().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


@dataclass(frozen=True, slots=True)
class Block:
    """Cosines of all forks of one source with it: shape (m_1 + m_2 + ..., n), float64.

    `places` are the pairs' places in the batch; fork j has the rows
    starts[j] to starts[j] + lengths[j], the source's turns are the columns.
    """

    places: list[int]
    cosines: Floats
    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]


def similarity_blocks(pairs: Pairs) -> Iterator[Block]:
    """The pairs with two non-empty sides, grouped by source object, one matrix product each.

    Computed in float64 whatever the vectors' precision: in float32 a cosine changes in the seventh
    decimal with the row's place in the product, and equal forks would get an order.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    for i, (a, b) in enumerate(pairs):
        if len(a.roles) and len(b.roles):
            groups[id(a)].append(i)
    # One buffer for all products: a fresh one each time costs more than the copy into it.
    buffer = np.empty((0, 0))
    for places in groups.values():
        source, forks = pairs[places[0]][0], [pairs[i][1] for i in places]
        lengths = np.array([len(fork.vectors) for fork in forks], dtype=np.intp)
        ends = np.cumsum(lengths)
        if len(buffer) < ends[-1] or buffer.shape[1] != source.vectors.shape[1]:
            buffer = np.empty((int(ends[-1]) * 2, source.vectors.shape[1]))
        rows = np.concatenate(
            [fork.vectors for fork in forks], out=buffer[: ends[-1]], casting="unsafe"
        )
        columns = source.vectors.astype(np.float64)
        if not source.unit:
            columns /= _lengths(columns)[:, None]
        found = rows @ columns.T
        if not all(fork.unit for fork in forks):
            found /= _lengths(rows)[:, None]
        yield Block(places, found, ends - lengths, lengths)
