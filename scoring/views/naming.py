"""How runs are called on pages: their method in words, their settings where they are not usual."""

from __future__ import annotations

from typing import Any

from scoring.methods import Method
from scoring.models import Run
from scoring.views.starting import KIND_LABELS, OFFERED


def method_of_run(run: Run) -> Method | None:
    return OFFERED.get(run.kind, {}).get(run.parameters.get("method", ""))


def method_label(run: Run) -> str:
    """The method's name for people; for other kinds the kind's."""
    method = method_of_run(run)
    return method.label if method else KIND_LABELS.get(run.kind, run.kind)


def task_label(run: Run) -> str:
    return KIND_LABELS.get(run.kind, run.kind)


def title(run: Run) -> str:
    """Task and method in words, for lists and progress lines."""
    if run.kind == "comparison":
        return f"{task_label(run)}, task {run.parameters.get('task', '')[-1:]}"
    return f"{task_label(run)}, {method_label(run)}"


def settings_words(run: Run) -> str:
    """The settings that differ from the defaults, as "N 3, node confidence"; "" when none does."""
    method = method_of_run(run)
    given: dict[str, Any] = run.parameters.get("settings") or {}
    if method is None:
        return ""
    words = []
    for setting in method.settings:
        value = given.get(setting.name, setting.default)
        if value == setting.default:
            continue
        label = setting.label
        if len(label) > 1:
            label = label[0].lower() + label[1:]
        if isinstance(value, bool):
            words.append(label if value else f"no {label}")
        else:
            words.append(f"{label} {str(value).replace('_', ' ')}")
    return ", ".join(words)
