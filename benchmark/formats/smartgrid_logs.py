"""What stands beside smart-grid runs: verdicts of a judge, and people's audits of some of them.

A verdict gives a run six signals and one label by the model that judged. An audit of a run gives
signals of the source "audit"; a decision on a verdict is kept with the label it speaks of. The
names of the people who audited are left out.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from benchmark.formats.reading import expect, files, json_values, located, text_stream
from benchmark.formats.runs import text_at, text_of
from benchmark.label_records import JUDGE, SIGNALS, LabelRecord, SignalRecord
from benchmark.records import BadRecord

HALLUCINATIONS, PASS, AUDIT = "hallucinations", "pass", "audit"
DIMENSIONS = (*SIGNALS, HALLUCINATIONS)
RATER_LENGTH = 120
LOGS, ANNOTATIONS = "judge_logs", "annotations"
_DECISION = {
    "audit_decision": "decision",
    "berkeley_label": "label",
    "failure_stage": "failure_stage",
    "audit_note": "note",
}
_AUDITED = {"manual_pass": PASS, "obvious_hallucination_or_unsupported_claim": HALLUCINATIONS}
_FLAGS = {"true": True, "false": False, "": None}

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Decision:
    """What people decided about a verdict, and where that stands."""

    where: str
    said: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's log: which run it is about (a path), its six answers, and where it stands."""

    where: str
    run: str
    key: Key
    scored_at: str
    signals: tuple[SignalRecord, ...]
    label: LabelRecord

    @property
    def scenario(self) -> str:
        return self.key[1]

    @property
    def has_trial(self) -> bool:
        return bool(self.key[2])


@dataclass
class Beside:
    """Verdicts and audits of a folder by the path of their run; `bad` is what could not be read."""

    verdicts: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    audits: dict[str, list[SignalRecord]] = field(default_factory=lambda: defaultdict(list))
    decisions: dict[Key, Decision] = field(default_factory=dict)
    bad: list[BadRecord] = field(default_factory=list)

    def paths(self) -> set[str]:
        return {*self.verdicts, *self.audits}

    def strays(self) -> Iterator[BadRecord]:
        """Decisions on verdicts that are not here."""
        judged = {verdict.key for verdicts in self.verdicts.values() for verdict in verdicts}
        for key, decision in self.decisions.items():
            if key not in judged:
                run, scenario, trial = key
                reason = f"no judge's log here is of {run!r:.120}, {scenario!r:.40}, {trial!r:.20}"
                yield BadRecord(decision.where, reason)


def beside(folder: Path) -> Beside:
    """What `judge_logs` and `annotations` in `folder` say of runs."""
    found = Beside()
    for row in _rows(folder / ANNOTATIONS, found.bad):
        try:
            _audit(row, found)
        except BadRecord as bad:
            found.bad.append(located(row.where, bad))
    logs = folder / LOGS
    for file in files(logs, ".json") if logs.is_dir() else []:
        for item in json_values(file):
            if isinstance(item, BadRecord):
                found.bad.append(BadRecord(f"{LOGS}/{item.where}", item.reason))
                continue
            where, value = item
            try:
                verdict = verdict_of(value, f"{LOGS}/{where}", found.decisions)
            except BadRecord as bad:
                found.bad.append(located(f"{LOGS}/{where}", bad))
                continue
            found.verdicts[verdict.run].append(verdict)
    return found


def verdict_of(value: Any, where: str, decisions: Mapping[Key, Decision]) -> Verdict:
    """One judge's log; raises BadRecord naming the field that does not fit."""
    data = expect(value, dict, "log")
    dims = expect(data.get("parsed_dims"), dict, "parsed_dims")
    rater = expect(data.get("judge_model"), str, "judge_model")
    if not 1 <= len(rater) <= RATER_LENGTH:
        raise BadRecord("judge_model", f"must have 1 to {RATER_LENGTH} characters")
    present = expect(dims.get(HALLUCINATIONS), bool, f"parsed_dims.{HALLUCINATIONS}")
    # A dimension that is missing was not judged; one that is null was judged and left open.
    answers = {
        name: expect(dims[name], (bool, type(None)), f"parsed_dims.{name}")
        for name in DIMENSIONS
        if name in dims
    }
    run = text_at(data, "trajectory_file", "trajectory_file")
    scenario = text_at(data, "scenario_id", "scenario_id")
    key = (text_of(data.get("run_name")), scenario, text_of(data.get("trial_index")))
    names = ("run_name", "scenario_id", "trial_index", "score_6d", "pass", "scored_at")
    meta = {name: data[name] for name in names if data.get(name) is not None}
    audit = decisions.get(key)
    return Verdict(
        where=where,
        run=run,
        key=key,
        scored_at=text_of(data.get("scored_at")),
        signals=tuple(SignalRecord(name, answer, rater) for name, answer in answers.items()),
        label=LabelRecord(
            rater=rater,
            present=present,
            rationale=text_at(dims, "suggestions", "parsed_dims.suggestions"),
            kind=JUDGE,
            model=rater,
            meta=meta | ({"audit": dict(audit.said)} if audit else {}),
        ),
    )


def in_time(verdicts: list[Verdict]) -> list[Verdict]:
    """The verdicts on one run in the order of their time."""
    return sorted(verdicts, key=lambda v: (v.scored_at, v.where))


def numbered(verdicts: list[Verdict]) -> list[LabelRecord]:
    """The labels of one run; further answers of a judge, in the order given, are its trials."""
    seen: dict[str, int] = {}
    labels = []
    for verdict in verdicts:
        rater = verdict.label.rater
        seen[rater] = seen.get(rater, 0) + 1
        labels.append(replace(verdict.label, trial=seen[rater]))
    return labels


class Row(dict[str, str]):
    """A row of a table, and where it stands."""

    where: str = ""


def _rows(folder: Path, bad: list[BadRecord]) -> Iterator[Row]:
    """The rows of all tables of a folder that speak of a run; a table of other columns has none."""
    for file in files(folder, ".csv", ".tsv") if folder.is_dir() else []:
        try:
            stream = text_stream(file)
            reader = csv.DictReader(stream, delimiter="\t" if file.suffix == ".tsv" else ",")
            for given in reader:
                row = Row({k: v or "" for k, v in given.items() if isinstance(k, str)})
                row.where = f"{ANNOTATIONS}/{file.name}:{reader.line_num}"
                yield row
        except BadRecord as wrong:
            bad.append(BadRecord(f"{ANNOTATIONS}/{wrong.where}", wrong.reason))
        except csv.Error as error:
            bad.append(BadRecord(f"{ANNOTATIONS}/{file.name}", f"is not a table: {error}"))


def _audit(row: Row, found: Beside) -> None:
    """Put one row where it belongs: a decision on a verdict, or an audit of a run."""
    if "audit_decision" in row:
        names = ("run_name", "scenario_id", "trial_index")
        run, scenario, trial = (row.get(name, "") for name in names)
        kept = {new: row.get(old, "") for old, new in _DECISION.items()}
        said = {name: text for name, text in kept.items() if text}
        found.decisions[run, scenario, trial] = Decision(row.where, said)
    elif "manual_pass" in row and row.get("trajectory_file"):
        for column, name in _AUDITED.items():
            text = row.get(column, "").strip().lower()
            if text not in _FLAGS:
                raise BadRecord(column, f"must be true, false or empty; it is {text!r:.60}")
            if text:
                signal = SignalRecord(name, _FLAGS[text], AUDIT)
                found.audits[row["trajectory_file"]].append(signal)


def matched(path: str, known: set[str], others: set[str]) -> str | None:
    """Which of `known` paths means the run at `path`: itself, or the one with its ending.

    A shared name is no match where another run of the input (`others`) has it too.
    """
    if path in known:
        return path
    name = PurePosixPath(path).name
    if sum(PurePosixPath(other).name == name for other in others) > 1:
        return None
    ending = [k for k in known if PurePosixPath(k).name == name]
    return ending[0] if len(ending) == 1 else None
