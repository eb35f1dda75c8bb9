"""Runs golden cases through the product's functions.

    python tests/golden_runner.py PATH... [--statistic NAME ...]

PATH is a JSON file or a folder of them. Three forms are read: one case with a `statistic`; a list
of bug cases (`statistic`, `input`, `params`, `right`); a file of metric cases known by its name.
Each failure is printed with its name; the last line is `N passed, M failed`; exit code 1 if M > 0.
A statistic the product lacks counts as failed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.golden_metrics import METRIC_FILES
from tests.golden_statistics import BUG_VALUES, STATISTICS

LEAST_TOLERANCE = 1e-12


def close(expected: Any, answer: Any, tolerance: float, relative: float = 0.0) -> bool:
    """Whether an answer equals what is expected; None only equals None, never NaN or 0."""
    if expected is None or isinstance(expected, bool):
        return answer is expected
    if isinstance(expected, int | float):
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            return False
        slack = max(tolerance, LEAST_TOLERANCE, relative * abs(expected))
        return math.isfinite(answer) and abs(expected - answer) <= slack
    if isinstance(expected, list):
        return (
            isinstance(answer, list | tuple)
            and len(answer) == len(expected)
            and all(close(e, a, tolerance, relative) for e, a in zip(expected, answer, strict=True))
        )
    if isinstance(expected, Mapping):
        return isinstance(answer, Mapping) and all(
            key in answer and close(value, answer[key], tolerance, relative)
            for key, value in expected.items()
        )
    return bool(expected == answer)


def differences(
    expected: Mapping[str, Any], answer: Mapping[str, Any], tolerance: float, relative: float = 0.0
) -> list[str]:
    """What is wrong with an answer, a sentence per key; a reason only has to be there."""
    wrong = []
    for key, value in expected.items():
        if key == "reason":
            if not (isinstance(answer.get("reason"), str) and answer["reason"]):
                wrong.append("no reason given")
        elif key not in answer:
            wrong.append(f"no {key}")
        elif not close(value, answer[key], tolerance, relative):
            wrong.append(f"{key} is {_short(answer[key])}, expected {_short(value)}")
    return wrong


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


Outcome = tuple[str, str, list[str]]


def outcomes(paths: Iterable[Path], only: frozenset[str] = frozenset()) -> Iterator[Outcome]:
    """(name, statistic, what is wrong) of every case under the paths (of some statistics)."""
    for path in paths:
        if not path.exists():
            yield str(path), "", ["there is no such file or folder"]
            continue
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        if not files:
            yield str(path), "", ["holds no JSON file"]
        for file in files:
            yield from _of_file(file, only)


def _of_file(file: Path, only: frozenset[str]) -> Iterator[Outcome]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        yield file.name, "", [f"cannot be read: {error}"]
        return
    cases = content if isinstance(content, list) else [content]
    if not cases or not all(isinstance(case, dict) for case in cases):
        yield file.name, "", ["holds no case: a case is an object, or a list holds objects"]
    elif isinstance(content, list):
        for case in cases:
            if not only or case.get("statistic") in only:
                yield _of_case(str(case.get("id", file.name)), case, "right")
    elif only and (content.get("statistic") or file.stem) not in only:
        return
    elif "statistic" in content:
        yield _of_case(str(content.get("name", file.stem)), content, "expected")
    elif file.stem in METRIC_FILES:
        yield from _of_metrics(file, content)
    else:
        yield file.name, file.stem, [f"no statistic of the product is named {file.stem}"]


def _of_case(name: str, case: Mapping[str, Any], key: str) -> Outcome:
    statistic = str(case.get("statistic", ""))
    if statistic not in STATISTICS:
        return name, statistic, [f"the product has no statistic {statistic!r}"]
    try:
        expected = case[key]
        answer = STATISTICS[statistic](case["input"], case.get("params", {}))
        if key == "right" and statistic in BUG_VALUES:
            answer = BUG_VALUES[statistic](answer, expected)
        tolerance = float(case.get("tolerance", 0))
        relative = float(case.get("tolerance_relative", 0))
        return name, statistic, differences(expected, answer, tolerance, relative)
    except Exception as error:
        return name, statistic, [f"{type(error).__name__}: {error}"]


def _of_metrics(file: Path, content: Mapping[str, Any]) -> Iterator[Outcome]:
    checks = 0
    try:
        for name, expected, answer, tolerance, relative in METRIC_FILES[file.stem](content, file):
            checks += 1
            wrong = differences(expected, answer, tolerance, relative)
            yield f"{file.stem}: {name}", file.stem, wrong
        if not checks:
            yield file.name, file.stem, ["holds no case"]
    except Exception as error:
        yield file.name, file.stem, [f"{type(error).__name__}: {error}"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--statistic", nargs="+", action="extend", default=[], metavar="NAME")
    options = parser.parse_args(arguments)
    passed = failed = 0
    missing = set(options.statistic)
    for name, statistic, wrong in outcomes(options.paths, frozenset(options.statistic)):
        missing.discard(statistic)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(f"FAILED {name} ({statistic}): {'; '.join(wrong)}")
    for statistic in sorted(missing):
        failed += 1
        print(f"FAILED {statistic}: no case of this statistic was found")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
