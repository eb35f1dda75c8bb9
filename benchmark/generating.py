"""Forks of a whole corpus: every eligible source, sixteen forks each, resumable.

A fork's identity is its source's id, type and k, and an engine gives the same fork each time, so a
run that was stopped anywhere goes on where it stopped and ends with the same rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Count, QuerySet

from benchmark.corruption import MIN_ASSISTANT_TURNS, POSITIONS, Engine, Refusal, fork_id
from benchmark.importing import import_records
from benchmark.models import Corpus, Dialogue, Fork, Turn, Workflow
from benchmark.records import (
    EXACT,
    FORK_TYPES,
    BadRecord,
    DialogueRecord,
    StepSpec,
    TransitionSpec,
    TurnRecord,
    WorkflowRecord,
)
from benchmark.simulation import ScriptedEngine
from benchmark.splicing import SpliceEngine
from benchmark.splitting import store_split

FORKS_PER_SOURCE = 16
SETTINGS = "forking"
READ_AT_ONCE = 500
_LONGEST_TYPE = max(FORK_TYPES, key=len)
LONGEST_SOURCE_ID = 200 - len(fork_id("", _LONGEST_TYPE, POSITIONS[-1]))

Progress = Callable[[Iterable[DialogueRecord]], Iterable[DialogueRecord]]

ENGINES: dict[str, tuple[str, Callable[..., Engine]]] = {
    "scripted": ("scripted-fork", ScriptedEngine),
    "splice": ("splice", SpliceEngine),
}


@dataclass
class ForkReport:
    """What became of a corpus's sources.

    `refused[type][reason]` counts forks that were not made; `wic_other_domain` WIC forks whose
    other task is of another domain; `identical_prefix` forks whose prefix is word for word the
    source's; `too_short` conformant dialogues with fewer than four assistant turns.
    """

    source: str
    into: str
    engine: str
    seed: int
    reword_prefix: bool = False
    sources: int = 0
    too_short: int = 0
    forks: int = 0
    new: int = 0
    unchanged: int = 0
    refused: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rejected: list[BadRecord] = field(default_factory=list)
    by_type: dict[str, int] = field(default_factory=dict)
    by_variant: dict[str, int] = field(default_factory=dict)
    wic_other_domain: int = 0
    identical_prefix: int = 0

    def to_json(self) -> dict[str, Any]:
        """The report as the last line of `fork_corpus --json`."""
        own = dict(vars(self))
        own["refused"] = {t: dict(sorted(found.items())) for t, found in self.refused.items()}
        own["rejected"] = [{"where": b.where, "reason": b.reason} for b in self.rejected]
        return own


def fork_corpus(
    source: Corpus,
    into: Corpus,
    engine: str,
    seed: int,
    *,
    reword_prefix: bool = False,
    limit: int | None = None,
    progress: Progress = iter,
) -> ForkReport:
    """Make the forks of every conformant dialogue of `source` with T >= 4 and store them in `into`.

    `into` remembers source, engine, seed and settings; `limit` takes only the first sources and may
    be raised later. `progress` wraps the sources as they are worked on.

    Raises
    ------
    BadRecord
        If the engine is unknown, the seed does not fit 64 bits, nothing can be forked, `into` is
        `source`, holds something else or was made with other settings, or if two sources share an
        external id.
    """
    format_, make = _engine(engine, reword_prefix)
    if not -(2**63) <= seed < 2**63:
        raise BadRecord("seed", f"{seed} does not fit 64 bits")
    if into.pk == source.pk:
        raise BadRecord("into", "forks go into a corpus of their own, not among their sources")
    report = ForkReport(source.slug, into.slug, engine, seed, reword_prefix)
    pool = conformant_records(source)
    sources = _eligible(pool, report)[:limit]
    if not sources:
        raise BadRecord(
            source.slug,
            f"holds no conformant dialogue with {MIN_ASSISTANT_TURNS} or more assistant turns, "
            "so there is nothing to fork",
        )
    report.sources = len(sources)
    workflows = {record.name: record for record in workflow_records(source)}
    extra = {"reword_prefix": True} if reword_prefix else {}
    maker = make(pool, workflows, seed=seed, **extra)
    generator = str(getattr(maker, "generator", engine))
    _claim(into, source, engine, seed, reword_prefix, generator)
    formats = dict(source.dialogues.filter(conformant=True).values_list("external_id", "format"))
    done = _finished(into, format_)
    todo = [s for s in sources if done[s.external_id] < FORKS_PER_SOURCE]
    report.unchanged = FORKS_PER_SOURCE * (len(sources) - len(todo))
    forks = _forks(maker, progress(todo), source.slug, formats, report)
    stored = import_records(into, format_, forks)
    report.new = stored.new
    report.rejected += stored.rejected
    report.unchanged += stored.unchanged
    store_split(into)
    _count(report, into, format_)
    return report


def conformant_records(corpus: Corpus) -> list[DialogueRecord]:
    """The conformant dialogues with a turn, as records, in the order of their keys."""
    rows = (
        corpus.dialogues.conformant()
        .filter(n_turns__gt=0, forks__isnull=True)
        .select_related("workflow")
        .order_by("id")
    )
    return list(_records(rows))


def workflow_records(corpus: Corpus) -> list[WorkflowRecord]:
    """The workflows of a corpus as records."""
    rows = corpus.workflows.prefetch_related(
        "steps", "transitions__source", "transitions__target"
    ).order_by("id")
    return [_workflow_record(row) for row in rows]


def _engine(name: str, reword_prefix: bool) -> tuple[str, Callable[..., Engine]]:
    if name not in ENGINES:
        raise BadRecord("engine", f"{name!r} is not one of {', '.join(sorted(ENGINES))}")
    if reword_prefix and name != "splice":
        raise BadRecord("reword_prefix", "only the splice engine rewords prefixes")
    return ENGINES[name]


def _claim(
    into: Corpus, source: Corpus, engine: str, seed: int, reword_prefix: bool, generator: str
) -> None:
    """Note in `into` what its forks are made of, or refuse a corpus made of something else."""
    wanted = {
        "source": source.slug,
        "engine": engine,
        "seed": seed,
        "reword_prefix": reword_prefix,
        "generator": generator,
    }
    held = into.meta.get(SETTINGS)
    if held is None:
        if into.dialogues.exists():
            raise BadRecord(into.slug, "holds dialogues that are not forks of one engine's run")
        into.meta[SETTINGS] = wanted
        into.save(update_fields=["meta"])
        return
    for name, value in wanted.items():
        if held.get(name) != value:
            raise BadRecord(
                into.slug,
                f"was forked with {name} {held.get(name)}, not {value}; "
                "use that, or another corpus for the new forks",
            )


def _eligible(pool: Sequence[DialogueRecord], report: ForkReport) -> list[DialogueRecord]:
    seen: set[str] = set()
    found = []
    for record in pool:
        if record.external_id in seen:
            raise BadRecord(
                record.external_id, "two conformant dialogues have this id; forks need one"
            )
        seen.add(record.external_id)
        if len(record.external_id) > LONGEST_SOURCE_ID:
            reason = f"the id has over {LONGEST_SOURCE_ID} characters: no fork can be named by it"
            report.rejected.append(BadRecord(record.external_id, reason))
        elif sum(t.role == "assistant" for t in record.turns) >= MIN_ASSISTANT_TURNS:
            found.append(record)
        else:
            report.too_short += 1
    return found


def _finished(into: Corpus, format_: str) -> Counter[str]:
    rows = (
        Fork.objects.filter(dialogue__corpus=into, dialogue__format=format_)
        .order_by()
        .values_list("source__external_id")
        .annotate(n=Count("id"))
    )
    return Counter(dict(rows))


def _forks(
    maker: Engine,
    sources: Iterable[DialogueRecord],
    slug: str,
    formats: Mapping[str, str],
    report: ForkReport,
) -> Iterator[DialogueRecord]:
    for source in sources:
        for made in maker.forks(source):
            if isinstance(made, Refusal):
                report.refused[made.type][made.reason] += 1 if made.k else 4
                continue
            workflow = made.workflow
            yield replace(
                made,
                workflow=f"{slug}/{workflow}" if workflow and "/" not in workflow else workflow,
                forks=[
                    replace(fork, source_corpus=slug, source_format=formats[source.external_id])
                    for fork in made.forks
                ],
            )


def _count(report: ForkReport, into: Corpus, format_: str) -> None:
    forks = Fork.objects.filter(dialogue__corpus=into, dialogue__format=format_).order_by()
    report.forks = forks.count()
    report.by_type = _counts(forks, "type")
    report.by_variant = _counts(forks, "variant")
    report.wic_other_domain = forks.filter(witness__partner="other domain").count()
    report.identical_prefix = forks.filter(replay=EXACT).count()


def _counts(forks: QuerySet[Fork], name: str) -> dict[str, int]:
    return dict(sorted(forks.values_list(name).annotate(n=Count("id"))))


def _records(rows: QuerySet[Dialogue]) -> Iterator[DialogueRecord]:
    """Records of dialogues, their turns read for `READ_AT_ONCE` dialogues at a time."""
    dialogues = list(rows)
    for begin in range(0, len(dialogues), READ_AT_ONCE):
        part = dialogues[begin : begin + READ_AT_ONCE]
        turns: dict[int, list[TurnRecord]] = defaultdict(list)
        values = (
            Turn.objects.filter(dialogue__in=[d.pk for d in part])
            .order_by("dialogue_id", "number")
            .values_list("dialogue_id", "role", "text", "name", "label", "meta")
        )
        for key, role, text, name, label, meta in values:
            turns[key].append(TurnRecord(role, text, name=name, label=label, meta=meta))
        for row in part:
            yield DialogueRecord(
                external_id=row.external_id,
                turns=turns[row.pk],
                workflow=row.workflow.name if row.workflow else "",
                conformant=row.conformant,
                split=row.split,
                meta=row.meta,
            )


def _workflow_record(row: Workflow) -> WorkflowRecord:
    steps = list(row.steps.all())
    return WorkflowRecord(
        name=row.name,
        domain=row.domain,
        objective=row.objective,
        system_instruction=row.system_instruction,
        user_instruction=row.user_instruction,
        steps=[StepSpec(step.key, step.text, step.kind) for step in steps],
        transitions=[
            TransitionSpec(move.source.key, move.target.key, move.observation)
            for move in row.transitions.all()
        ],
        start=next((step.key for step in steps if step.is_start), ""),
        terminals=[step.key for step in steps if step.is_terminal],
        meta=row.meta,
    )
