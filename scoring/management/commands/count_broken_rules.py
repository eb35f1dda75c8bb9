"""`manage.py count_broken_rules CORPUS`: how often do conformant dialogues break hard rules?"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections import defaultdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmark.management.named_corpus import named_corpus
from benchmark.models import Dialogue, Turn, Workflow, WorkflowStep
from scoring.broken_rules import RULES, Said, broken, shares
from scoring.workflow_steps import KnownStep, WorkflowKnowledge


class Command(BaseCommand):
    help = (
        "Hold the conformant test half of each workflow against hard rules of the workflow and of "
        "its train half, by step labels, and show the share of dialogues that break each kind."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="the corpus with the conformant dialogues")
        parser.add_argument("--json", action="store_true", help="one JSON object as the last line")

    def handle(self, *args: Any, **options: Any) -> None:
        corpus = named_corpus(options["slug"])
        found = {
            workflow.name: rows
            for workflow in Workflow.objects.filter(corpus=corpus).order_by("name")
            if (rows := _broken(workflow))
        }
        if not found:
            raise CommandError(
                f"Corpus {corpus.slug} has no workflow with conformant dialogues in both halves "
                "whose assistant turns carry step labels."
            )
        every = [row for rows in found.values() for row in rows]
        report = {
            "corpus": corpus.slug,
            "dialogues": len(every),
            "workflows": len(found),
            "shares": shares(every),
            "by_workflow": {name: shares(rows) for name, rows in found.items()},
        }
        self.stdout.write(
            f"{corpus.slug}: {len(every)} conformant test dialogues of {len(found)} workflows"
        )
        for rule in RULES:
            self.stdout.write(f"  {report['shares'][rule]:5.1f} %  {rule}")
        if options["json"]:
            self.stdout.write(json.dumps(report, allow_nan=False))


def _broken(workflow: Workflow) -> list[frozenset[str]]:
    halves = _told(workflow)
    train, test = halves[Dialogue.Split.TRAIN], halves[Dialogue.Split.TEST]
    if not any(turn.label for row in train for turn in row):
        return []
    steps = workflow.steps.order_by("position").values_list("key", "kind")
    moves = workflow.transitions.values_list("source__key", "target__key")
    knowledge = WorkflowKnowledge(
        steps=tuple(KnownStep(key, said=kind != WorkflowStep.Kind.STATE) for key, kind in steps),
        labels=(),
        moves=tuple(moves),
    )
    return [broken(knowledge, train, row) for row in test]


def _told(workflow: Workflow) -> dict[str, list[list[Said]]]:
    """The assistant turns of the conformant dialogues of each half; dialogues without one left
    out."""
    turns = (
        Turn.objects.filter(dialogue__workflow=workflow, dialogue__conformant=True)
        .filter(dialogue__forks__isnull=True, role=Turn.Role.ASSISTANT)
        .order_by("dialogue_id", "number")
        .values_list("dialogue__split", "dialogue_id", "label", "text")
    )
    halves: dict[str, dict[int, list[Said]]] = defaultdict(lambda: defaultdict(list))
    for split, dialogue, label, text in turns:
        if text.strip():
            halves[split][dialogue].append(Said(label, text))
    return defaultdict(list, {split: list(rows.values()) for split, rows in halves.items()})
