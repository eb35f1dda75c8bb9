"""`manage.py benchmarks [AREA] [--json]`: our speed beside a peer's, on synthetic input."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.benchmarks import agreement_speed, label_speed
from scoring.benchmarks import distances, encoding, flow, onset_speed, pair_speed, set_speed
from scoring.benchmarks.measuring import Measured

AREAS: dict[str, Callable[[], dict[str, Measured]]] = {
    "distances": distances.measure,
    "flow": flow.measure,
    "encoding": encoding.measure,
    "scoring": lambda: pair_speed.measure() | set_speed.measure() | onset_speed.measure(),
    "annotation": agreement_speed.measure,
    "labels": label_speed.measure,
}


class Command(BaseCommand):
    help = "Measures speed beside published packages and plain loops; inputs are synthetic."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("area", nargs="?", help=f"one of {', '.join(AREAS)}; default: all")
        parser.add_argument("--json", action="store_true", help="end with one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        area = options["area"]
        if area and area not in AREAS:
            raise CommandError(f"There is no area {area!r}; the areas are {', '.join(AREAS)}.")
        cases: dict[str, Measured] = {}
        for name in [area] if area else AREAS:
            cases |= AREAS[name]()
        for name, case in cases.items():
            self.stdout.write(_line(name, case))
        if options["json"]:
            rows = {name: case.as_dict() for name, case in cases.items()}
            self.stdout.write(json.dumps(rows))


def _line(name: str, case: Measured) -> str:
    verdict = {True: "ok", False: "BELOW THE BAR", None: "no peer"}[case.ok]
    if case.ok is False and not case.equal:
        verdict = "UNEQUAL ANSWERS"
    ours, peer = ("-" if side is None else _number(side) for side in (case.ours, case.peer))
    ratio = "-" if case.ratio is None else f"{case.ratio:.1f}"
    line = f"{name}: {ours} {case.unit}, peer {peer}, ratio {ratio} (bar {case.bar:g}): {verdict}"
    if limit := case.limit:
        past = "" if limit.kept else ", OVER"
        line += f"; {_time(limit.took)} per {limit.per} (at most {_time(limit.most)}{past})"
    return f"{line} ({case.note})" if case.note else line


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _time(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
