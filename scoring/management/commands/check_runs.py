"""Ask a rule of stored runs, or of a run in a file: a monitor for scripts and for CI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.formats import FORMATS
from benchmark.management.named_corpus import named_corpus
from benchmark.records import BadRecord, TrajectoryRecord
from scoring import order_reports, run_monitor, signal_rules, step_rules
from scoring.prefix_signals import PREFIX_SIGNALS, SeenStep
from scoring.run_monitor import Watched
from scoring.run_signals import material

FOUND, WRONG = 1, 2


class Command(BaseCommand):
    help = (
        "Ask a rule of the runs of a corpus, or of a file. Ends with 0 when no run alarms, "
        f"{FOUND} when one does, {WRONG} when the question cannot be asked."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("corpus", nargs="?", help="slug of a corpus; or use --file")
        parser.add_argument("--file", type=Path, help="a file of runs instead of a corpus")
        parser.add_argument("--format", choices=sorted(FORMATS), default="trajel")
        rules = parser.add_mutually_exclusive_group(required=True)
        rules.add_argument("--rule", help="signals joined by and, or, not: alarms where it is yes")
        rules.add_argument("--order", help="names in order, such as 'not:TSFM, IoT when TSFM'")
        parser.add_argument("--over", choices=step_rules.OVER, default=step_rules.AGENTS)
        parser.add_argument("--rater", default="", help="whose labels precision and recall are of")
        parser.add_argument("--source", default="", help="whose signals are meant")
        parser.add_argument("--json", action="store_true", help="end with one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["corpus"]) == bool(options["file"]):
            raise CommandError("Give a corpus or --file, one of them.", returncode=WRONG)
        try:
            runs, names, rater = self.runs(options)
            found = self.by_rule(runs, names, rater, options) if options["rule"] else None
            result = found or self.by_order(runs, options)
        except (ValueError, BadRecord) as error:
            raise CommandError(str(error), returncode=WRONG) from error
        if options["json"]:
            self.stdout.write(json.dumps(result))
        if result["alarms"]:
            raise SystemExit(FOUND)

    def runs(self, options: Any) -> tuple[Sequence[Watched], Sequence[str], str]:
        """The runs, the names of their signals, and the rater whose labels they carry."""
        if options["file"]:
            return self.read(options["file"], options["format"]), (), ""
        held = material(
            named_corpus(options["corpus"]), rater=options["rater"], source=options["source"]
        )
        return held.runs, held.names, held.rater

    def read(self, path: Path, format: str) -> list[Watched]:
        found = []
        for record in FORMATS[format](path):
            if isinstance(record, BadRecord):
                raise record
            if isinstance(record, TrajectoryRecord):
                found.append(_watched(record, len(found) + 1))
        if not found:
            raise ValueError(f"{path.name} holds no run that the format {format} can read")
        return found

    def by_rule(
        self, runs: Sequence[Watched], names: Sequence[str], rater: str, options: Any
    ) -> dict[str, Any]:
        own = {name for run in runs for name in run.signals}
        rule = signal_rules.parse(options["rule"], [*names, *sorted(own), *PREFIX_SIGNALS])
        alarms = [run_monitor.watch(rule, run) for run in runs]
        for alarm in alarms:
            if alarm.value:
                where = f"step {alarm.step}" if alarm.step else "at the end"
                self.stdout.write(f"{alarm.run.name}: {where}")
        self.stdout.write(f"{sum(bool(a.value) for a in alarms)} of {len(alarms)} runs alarm.")
        result: dict[str, Any] = {
            "rule": rule.text,
            "runs": len(alarms),
            "alarms": [{"run": a.run.name, "step": a.step} for a in alarms if a.value],
            "unknown": sum(alarm.value is None for alarm in alarms),
        }
        if rater:
            found = run_monitor.outcomes(alarms)
            figures = {key: value.as_dict() for key, value in found.items() if key != "alarms"}
            result |= {"rater": rater, **figures}
            for key in ("precision", "recall", "false_alarms"):
                self.stdout.write(f"{key} against {rater}: {_said(found[key].as_dict())}")
        return result

    def by_order(self, runs: Sequence[Watched], options: Any) -> dict[str, Any]:
        rule = step_rules.parse(options["order"])
        rows = order_reports.ordered(rule, runs, options["over"])
        broken = [row for row in rows if row.found.kept is False]
        for row in broken:
            where = f"step {row.found.step}" if row.found.step else "at the end"
            self.stdout.write(f"{row.run.name}: {where}, {row.found.why}")
        told = sum(row.found.kept is not None for row in rows)
        self.stdout.write(f"{len(broken)} of {told} runs that the rule speaks of break it.")
        return {
            "order": rule.text,
            "runs": len(rows),
            "told": told,
            "alarms": [
                {"run": row.run.name, "step": row.found.step, "why": row.found.why}
                for row in broken
            ],
        }


def _watched(record: TrajectoryRecord, key: int) -> Watched:
    steps = [
        SeenStep(s.agent, s.thought, s.action, s.observation, s.response, s.meta)
        for s in record.steps
    ]
    signals = {signal.name: signal.value for signal in record.signals}
    return Watched(key, record.external_id, steps, signals, model=record.model)


def _said(found: dict[str, Any]) -> str:
    if found["value"] is None:
        return f"undefined ({found['reason']})"
    low, high = found["ci"]
    return f"{found['value']:.3f} [{low:.3f}, {high:.3f}], n = {found['n']}"
