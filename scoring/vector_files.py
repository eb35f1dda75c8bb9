"""Files of texts and their vectors: what another machine encodes, read and checked before storing.

Texts are one JSON string a line (`.jsonl`; an object with the key `text` is read as well) or one
text a line (`.txt`). Vectors are a `.npy` array with one row per text, in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOATS = ("float16", "float32", "float64")
# Two vectors of one text agree when rounding alone parts them.
SAME = 1e-3
AT_ONCE = 4096


class BadVectors(ValueError):
    """A file that cannot be used; the message is one sentence that names it."""


def read_texts(path: Path) -> list[str]:
    """The texts of a `.jsonl` or `.txt` file in order; an empty last line is no text.

    Raises BadVectors naming the file and line.
    """
    if path.suffix not in (".jsonl", ".txt"):
        raise BadVectors(f"{path.name} must be a .jsonl or .txt file")
    try:
        content = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadVectors(f"{path.name} is not UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise BadVectors(f"{path.name} cannot be read: {error.strerror}") from error
    lines = content.removesuffix("\n").split("\n") if content else []
    if path.suffix == ".txt":
        return [line.removesuffix("\r") for line in lines]
    return [_text(line, f"{path.name}, line {i}") for i, line in enumerate(lines, start=1)]


def write_texts(texts: Iterable[str], path: Path) -> int:
    """Write one JSON string a line; returns how many."""
    n = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text in texts:
            # Escapes keep unpaired surrogates and line separators inside their line.
            file.write(json.dumps(text) + "\n")
            n += 1
    return n


def read_vectors(path: Path, *, texts: int, dim: int) -> NDArray[Any]:
    """The array of a `.npy` file, mapped into memory: shape (texts, dim), finite floats.

    Raises BadVectors with the file, and the first row that is wrong.
    """
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise BadVectors(f"{path.name} cannot be read: {error.strerror or 'no array'}") from error
    except (ValueError, EOFError) as error:
        raise BadVectors(f"{path.name} is not a .npy array of numbers") from error
    if not isinstance(rows, np.ndarray) or rows.dtype.name not in FLOATS:
        kind = getattr(getattr(rows, "dtype", None), "name", "several arrays")
        raise BadVectors(f"{path.name} holds {kind}; it must hold {', '.join(FLOATS)}")
    if rows.ndim != 2 or rows.shape[1] != dim:
        shape = " x ".join(map(str, rows.shape))
        raise BadVectors(f"{path.name} has the shape {shape}; its rows must have {dim} numbers")
    if len(rows) != texts:
        raise BadVectors(f"{path.name} has {len(rows)} rows, but there are {texts} texts")
    for start in range(0, texts, AT_ONCE):
        part = rows[start : start + AT_ONCE].astype(np.float64)
        bad = ~np.isfinite(part).all(axis=1)
        if bad.any():
            row = start + int(bad.argmax()) + 1
            raise BadVectors(f"{path.name}, row {row}: holds a number that is not finite")
    return rows


def first_rows(texts: list[str], rows: NDArray[Any], name: str) -> dict[str, int]:
    """Each distinct text, without surrounding blanks, with the place of its first row.

    Blank texts are left out. Raises BadVectors where a text stands twice with other vectors, or
    where a text that says something has a vector of zeros.
    """
    first: dict[str, int] = {}
    for place, text in enumerate(texts):
        if not (stripped := text.strip()):
            continue
        known = first.setdefault(stripped, place)
        if known != place and not alike(rows[known], rows[place]):
            raise BadVectors(
                f"{name}, rows {known + 1} and {place + 1}: the same text has other vectors"
            )
        if known == place and not np.any(rows[place]):
            raise BadVectors(f"{name}, row {place + 1}: is all zeros, but its text is not blank")
    return first


def alike(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two vectors point the same way, but for rounding."""
    x, y = (np.asarray(v, dtype=np.float64) for v in (a, b))
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    return bool(abs(float(x @ y) - lengths) <= SAME * max(lengths, 1e-12))


def _text(line: str, where: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadVectors(f"{where}: is not JSON") from error
    if isinstance(value, dict):
        value = value.get("text")
    if not isinstance(value, str):
        raise BadVectors(f"{where}: must be a JSON string, or an object with a string `text`")
    return value
