"""The prompts that judges are asked with: those of the project and those that were brought."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from benchmark.judge_prompts import FIELDS, LANGUAGE, Prompt, shipped
from benchmark.judge_raters import prompt_of
from benchmark.models import JudgePrompt, Rater
from benchmark.views.paging import number

LINES_AROUND = 2
NOT_KNOWN = "not known here; a judge cannot be asked with it"
KEPT, ADDED, REMOVED, GAP = "kept", "added", "removed", "gap"


@dataclass(frozen=True, slots=True)
class Listed:
    """A version of a prompt with the number of judges asked with it; None where it is not stored
    yet, which happens when it is first used."""

    prompt: Prompt
    judges: int | None

    @property
    def axes(self) -> list[tuple[str, str]]:
        """Where it stands in its set of variants, without the language."""
        return [
            (axis.replace("_", " "), str(level).replace("_", " "))
            for axis, level in self.prompt.variant.items()
            if axis != LANGUAGE
        ]


def listed() -> list[Listed]:
    """Every prompt, by name and version; the stored words where there are any. One query."""
    found = {key: Listed(prompt, None) for key, prompt in shipped().items()}
    for row in JudgePrompt.objects.annotate(n=Count("raters")):
        found[row.name, row.version] = Listed(prompt_of(row), row.n)
    return [found[key] for key in sorted(found)]


@require_safe
def prompts(request: HttpRequest) -> HttpResponse:
    groups = [
        (name, list(versions)) for name, versions in groupby(listed(), lambda one: one.prompt.name)
    ]
    return render(request, "benchmark/judge_prompts.html", {"groups": groups, "fields": FIELDS})


@require_safe
def prompt(request: HttpRequest, name: str, version: int) -> HttpResponse:
    versions = {one.prompt.version: one for one in listed() if one.prompt.name == name}
    if version not in versions:
        raise Http404
    found = versions[version]
    against = chosen_version(request, version, sorted(versions))
    judges = Rater.objects.filter(prompt__name=name, prompt__version=version).order_by("name")
    before = versions[against].prompt if against else None
    return render(
        request,
        "benchmark/judge_prompt.html",
        {
            "found": found,
            "prompt": found.prompt,
            "parts": [("system", found.prompt.system), ("user", found.prompt.user)],
            "fields": [(field, FIELDS.get(field, NOT_KNOWN)) for field in found.prompt.fields],
            "others": [other for other in sorted(versions) if other != version],
            "against": against,
            "changes": changed_lines(before.text, found.prompt.text) if before else [],
            "judges": judges,
        },
    )


def chosen_version(request: HttpRequest, version: int, versions: Sequence[int]) -> int | None:
    """The version to compare with: the one asked for, else the one before, else none."""
    asked = number(request, "against")
    others = [other for other in versions if other != version]
    if asked is not None and asked not in others:
        allowed = ", ".join(map(str, others)) or "no other version"
        raise BadRequest(f"against is {asked}; it must be one of {allowed}.")
    return asked or max((other for other in others if other < version), default=None)


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    """What is added and removed, line by line, with two lines around it."""
    found: list[tuple[str, Any]] = []
    kinds = {"+": ADDED, "-": REMOVED, " ": KEPT}
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), lineterm="", n=LINES_AROUND
    )
    for place, line in enumerate(lines):
        if place < 2:
            continue
        if line.startswith("@@"):
            found += [(GAP, "")] if found else []
        else:
            found.append((kinds[line[0]], line[1:]))
    return found
