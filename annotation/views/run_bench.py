"""What a page of an agent run shows. Before the review is stored, nothing here reads the judge's
answer, a label, a signal, or what would tell whose run it is: task and steps only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.forms import Form

from annotation import judging, reviewing
from annotation.models import Assignment
from annotation.review_answers import FINAL, MOST_PLACES, at_of, flat, parsed
from annotation.review_links import differs_on
from annotation.run_words import (
    CAUSE_WORDS,
    COMPONENT_WORDS,
    FLAG_WORDS,
    SKIP_WORDS,
    TYPE_HINTS,
    TYPE_WORDS,
    place_in_words,
)
from benchmark.label_records import (
    ACTION,
    COMPONENTS,
    FLAGS,
    OBSERVATION,
    REFERENTIAL,
    RESPONSE,
    THOUGHT,
    TYPES,
    LabelRecord,
)
from benchmark.labelling import records_of
from benchmark.models import LabelSet, Trajectory

# A part that is longer is folded: after so many characters or lines.
FOLDED, SHOWN = 1800, 1200
FOLDED_LINES, SHOWN_LINES = 36, 24
CODE = (ACTION, OBSERVATION)
KEYS = {THOUGHT: "t", ACTION: "a", OBSERVATION: "o", RESPONSE: "r"}
Marks = Mapping[str, Collection[str]]


def shown(
    assignment: Assignment, step: judging.Step, given: judging.Answers, form: Form
) -> dict[str, Any]:
    """What `step` adds to the page: the run, and as much as the step may reveal."""
    run = assignment.item.trajectory
    if step == "review":
        return {"run": run_of(run), **_asked(form, run)}
    if given.review is None:
        raise judging.StepLocked("The run has no review yet.")
    judge = reviewing.reveal(assignment)
    own = _record(given.review.labels)
    if step == "revise":
        if not form.is_bound and not form.initial:
            form.initial = flat(_content(own))
        return {"run": run_of(run), "judge": answer_of(judge, run), **_asked(form, run)}
    marks = {"own": _places(own, run), "judge": _places(judge, run)}
    return {"run": run_of(run, marks), "own": answer_of(own, run), "judge": answer_of(judge, run)}


def given(assignment: Assignment, said: judging.Answers) -> dict[str, Any]:
    """What a person answered to a run; the judge's answer only once they have compared."""
    run = assignment.item.trajectory
    found: dict[str, Any] = {"skip": said.skip}
    if said.skip:
        found["skip_words"] = SKIP_WORDS.get(said.skip.reason, said.skip.get_reason_display())
    marks: dict[str, Collection[str]] = {}
    if said.review:
        record = _record(said.review.labels)
        marks["own"] = _places(record, run)
        found["own"] = answer_of(record, run)
    if said.comparison:
        judge = reviewing.judge_record(assignment)
        marks["judge"] = _places(judge, run)
        found |= {"judge": answer_of(judge, run), "comparison": said.comparison}
        found["differs_on"] = differs_on(said.comparison)
    if said.revision:
        found["revised"] = answer_of(_record(said.revision.labels), run)
    return found | {"run": run_of(run, marks)}


def run_of(run: Trajectory, marks: Marks | None = None) -> dict[str, Any]:
    """Task, expected answer, who should do what, and the steps; one query.

    `marks` names, by who made them ("own", "judge"), the places that are marked.
    """
    rows = run.steps.order_by("position").values_list("position", "agent", *COMPONENTS)
    steps = [
        {
            "position": position,
            "agent": agent,
            "parts": [
                _part(position, name, text, marks or {})
                for name, text in zip(COMPONENTS, texts, strict=True)
                if text.strip()
            ],
            "named": [who for who, places in (marks or {}).items() if f"{position}." in places],
        }
        for position, agent, *texts in rows
    ]
    final = _part(None, RESPONSE, run.response, marks or {}) if run.response.strip() else None
    return {
        "task": run.task,
        "expected": run.expected,
        "mandates": _mandates(run.meta),
        "steps": steps,
        "final": final,
        "n_steps": len(steps),
    }


def answer_of(record: LabelRecord, run: Trajectory) -> dict[str, Any]:
    """A label in words, for a page: presence, types with flags, places with links, and why."""
    return {
        "present": record.present,
        "types": [TYPE_WORDS[name] for name in TYPES if name in record.types],
        "flags": [FLAG_WORDS[name] for name in FLAGS if name in record.flags],
        "places": [
            {
                "href": _href(place.step, run) if place.step or place.component else "",
                "words": place_in_words(place.step, place.component),
                "type": TYPE_WORDS[place.type] if place.type else "",
                "cause": CAUSE_WORDS[place.cause] if place.cause else "",
                "evidence": place.evidence,
            }
            for place in record.places
        ],
        "rationale": record.rationale,
    }


def _asked(form: Any, run: Trajectory) -> dict[str, Any]:
    """The fields of a review as the form holds them: what is ticked, and a row per marked place."""
    values = form.flat
    types = values.get("types") or ()
    marked = _marked(values.get("places") or (), run)
    return {
        "values": values,
        "marked": set(marked),
        "types": [
            {
                "name": name,
                "key": key,
                "word": TYPE_WORDS[name],
                "hint": TYPE_HINTS[name],
                "checked": name in types,
            }
            for key, name in enumerate(TYPES, start=1)
        ],
        "flags": [
            {"name": name, "word": FLAG_WORDS[name], "checked": name in (values.get("flags") or ())}
            for name in FLAGS
        ],
        "rows": [_row(at, values, run) for at in marked],
        "blank_row": _row("", {}, run),
    }


def _marked(places: Collection[Any], run: Trajectory) -> list[str]:
    """Of what was sent, what can be shown as a place of this run, each once."""
    found = [at for at in dict.fromkeys(places) if (place := parsed(at)) and _within(place, run)]
    return found[:MOST_PLACES]


def _within(place: tuple[int | None, str], run: Trajectory) -> bool:
    return place[0] is None or place[0] <= run.n_steps


def _row(at: str, values: Mapping[str, Any], run: Trajectory) -> dict[str, Any]:
    step, component = parsed(at) or (None, RESPONSE)
    kinds = values.get(f"kind-{at}") or ()
    cause = values.get(f"cause-{at}") or ""
    return {
        "at": at,
        "href": _href(step, run),
        "words": place_in_words(step, component),
        "kinds": [{"name": n, "word": TYPE_WORDS[n], "checked": n in kinds} for n in TYPES],
        "causes": [{"name": n, "word": CAUSE_WORDS[n], "chosen": n == cause} for n in CAUSE_WORDS],
        "evidence": values.get(f"evidence-{at}") or "",
        "open": bool(kinds or cause or values.get(f"evidence-{at}")),
        "last": run.n_steps if step is None else step - 1,
        "referential": REFERENTIAL in (values.get("types") or ()),
    }


def _part(step: int | None, name: str, text: str, marks: Marks) -> dict[str, Any]:
    at = at_of(step, name)
    head, rest = folded(text)
    return {
        "at": at,
        "name": name,
        "key": KEYS[name],
        "word": COMPONENT_WORDS[name],
        "where": place_in_words(step, name),
        "head": head,
        "rest": rest,
        "code": name in CODE,
        "by": [who for who, places in marks.items() if at in places],
    }


def folded(text: str) -> tuple[str, str]:
    """What is shown of a long part, and what is folded away: "" where it is short."""
    lines = text.split("\n", SHOWN_LINES)
    many = text.count("\n") >= FOLDED_LINES
    if len(text) <= FOLDED and not many:
        return text, ""
    room = len(text) - len(lines[-1]) if many else len(text)
    if room > SHOWN:
        at = max(text.rfind("\n", SHOWN // 2, SHOWN), text.rfind(" ", SHOWN * 3 // 4, SHOWN))
        room = at + 1 if at > 0 else SHOWN
    return text[:room], text[room:]


def _href(step: int | None, run: Trajectory) -> str:
    """A final response that is no text of its own is what the last step says."""
    if step is None and run.response.strip():
        return f"#{FINAL}"
    return f"#step-{step or run.n_steps}"


def _places(record: LabelRecord, run: Trajectory) -> set[str]:
    """The places of a label by name; a step alone is "3."."""
    last = None if run.response.strip() else run.n_steps
    return {
        at_of(place.step or last, place.component)
        for place in record.places
        if place.step or place.component
    }


def _record(labels: LabelSet) -> LabelRecord:
    return records_of([labels])[labels.pk]


def _content(record: LabelRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ("present", "types", "flags", "places")} | {
        "rationale": record.rationale
    }


def _mandates(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What each agent is there for, where the run says so."""
    said = meta.get("mandates")
    if not isinstance(said, Mapping):
        return []
    return [(str(agent), text) for agent, text in said.items() if isinstance(text, str)]
