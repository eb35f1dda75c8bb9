"""`manage.py benchmarks [AREA] [--json]`: our speed beside a peer's, on synthetic input."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scoring.benchmarks import distances, encoding, flow
from scoring.benchmarks.measuring import Measured

AREAS: dict[str, Callable[[], dict[str, Measured]]] = {
    "distances": distances.measure,
    "flow": flow.measure,
    "encoding": encoding.measure,
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
    ours, peer = ("-" if side is None else f"{side:,.0f}" for side in (case.ours, case.peer))
    ratio = "-" if case.ratio is None else f"{case.ratio:.1f}"
    return (
        f"{name}: {ours} {case.unit}, peer {peer}, ratio {ratio} "
        f"(bar {case.bar:g}): {verdict}{f' ({case.note})' if case.note else ''}"
    )
