"""The words a language model is asked with when it judges agent runs (Trajel, appendix B).

A prompt has a name, a version and two parts, the system's and the user's, with fields in braces
such as {question}. Its words never change: other words are another version. Those that come with
the project lie in `prompts/`, one file a prompt; a file of one's own has the same form (see
docs/judges.md).
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from benchmark.records import BadRecord

PLACE = Path(__file__).with_name("prompts")
SYSTEM, USER = PARTS = ("system", "user")
LANGUAGE = "language"
FIELDS: Mapping[str, str] = {
    "question": "the task that was put to the agents",
    "characteristic_answer": "the answer the run should have had",
    "agent_think": "the thoughts of all steps, in order",
    "agent_response": "the final response of the run",
    "run": "the whole run: mandates where known, then every step with all its parts",
}
NOT_GIVEN = "(not given)"
HIGHEST = 1_000_000
_FIELD = re.compile(r"\{([a-z_]+)\}")
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*\Z")
_MARKS = {part: f"[[{part}]]" for part in PARTS}
_STEP_PARTS = ("thought", "action", "observation", "response")


class StepText(Protocol):
    """What is read of a step: a StepRecord or a stored step."""

    agent: str
    thought: str
    action: str
    observation: str
    response: str
    meta: Any


class RunText(Protocol):
    """What is read of a run: a TrajectoryRecord or a stored run."""

    task: str
    expected: str
    response: str
    meta: Any


@dataclass(frozen=True, slots=True)
class Prompt:
    """A version of a prompt.

    `variant` says where it stands in its `variant_set`, by axis; the language is one of the axes.
    """

    name: str
    version: int
    user: str
    system: str = ""
    variant_set: str = ""
    variant: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def text(self) -> str:
        """Both parts as one text; the inverse is `prompt_of_text`."""
        if not self.system:
            return self.user
        return f"{_MARKS[SYSTEM]}\n{self.system}\n\n{_MARKS[USER]}\n{self.user}"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def language(self) -> str:
        """The tag of its language, "" where it is not said."""
        return str(self.variant.get(LANGUAGE, ""))

    @property
    def fields(self) -> list[str]:
        """The names of its fields, in the order they first stand in."""
        return list(dict.fromkeys(_FIELD.findall(f"{self.system}\n{self.user}")))


def checked(prompt: Prompt) -> Prompt:
    """`prompt`, which can be stored and asked; BadRecord where name, version, words or a field is
    not allowed."""
    if not _NAME.match(prompt.name) or len(prompt.name) > 80:
        reason = "must be small letters, digits and hyphens, at most 80 characters"
        raise BadRecord("name", f"{prompt.name[:90]!r} {reason}")
    if not 1 <= prompt.version <= HIGHEST:
        raise BadRecord("version", f"is {prompt.version}; versions count from 1 to {HIGHEST:,}")
    if not prompt.user.strip():
        raise BadRecord(str(prompt), "the user's part is empty")
    for name in prompt.fields:
        if name not in FIELDS:
            known = ", ".join(FIELDS)
            raise BadRecord(str(prompt), f"names the field {{{name}}}; known are {known}")
    return prompt


def prompt_of_text(
    name: str, version: int, text: str, *, variant_set: str = "", variant: Mapping[str, str]
) -> Prompt:
    """The prompt whose `text` this is; a text without marks is the user's part."""
    system, user = "", text
    opening, middle = f"{_MARKS[SYSTEM]}\n", f"\n\n{_MARKS[USER]}\n"
    if text.startswith(opening) and middle in text:
        system, _, user = text.removeprefix(opening).partition(middle)
    return Prompt(name, version, user, system, variant_set, variant)


# -- asking ------------------------------------------------------------------------------------


def render(prompt: Prompt, fields: Mapping[str, str]) -> list[dict[str, str]]:
    """The messages of `prompt` with its fields filled in: {"role", "content"}, system first.

    Fields are filled in one pass, so that braces in the text of a run stay what they are. Raises
    BadRecord where a field of the prompt is missing or one is given that it does not have.
    """
    for name in prompt.fields:
        if name not in fields:
            raise BadRecord(str(prompt), f"needs the field {name}")
    for name in fields:
        if name not in prompt.fields:
            known = ", ".join(prompt.fields) or "none"
            raise BadRecord(str(prompt), f"has no field {name}; it has {known}")
    parts = {SYSTEM: prompt.system, USER: prompt.user}
    return [
        {"role": role, "content": _FIELD.sub(lambda found: fields[found[1]], text)}
        for role, text in parts.items()
        if text
    ]


def messages(
    prompt: Prompt, run: RunText, steps: Sequence[StepText], *, longest: int | None = None
) -> list[dict[str, str]]:
    """The messages that ask `prompt` about a run; `longest` as in `fields_of_run`."""
    fields = fields_of_run(run, steps, longest=longest)
    return render(prompt, {name: fields[name] for name in prompt.fields if name in fields})


def fields_of_run(
    run: RunText, steps: Sequence[StepText], *, longest: int | None = None
) -> dict[str, str]:
    """Every field of FIELDS for a run.

    Steps are numbered by position, from 1. The lines of the run's own texts are indented, so that
    none can pass for a heading. A part of a step with more than `longest` characters is cut in the
    middle, which is said; None cuts nothing.
    """
    last = next((s.response for s in reversed(steps) if s.response.strip()), "")
    return {
        "question": _inset(run.task, None),
        "characteristic_answer": _inset(run.expected, None),
        "agent_think": "\n\n".join(
            f"{heading(position, step)}\n{_inset(step.thought, longest)}"
            for position, step in enumerate(steps, start=1)
            if step.thought.strip()
        )
        or _inset("", None),
        "agent_response": _inset(run.response if run.response.strip() else last, longest),
        "run": "\n\n".join([*_mandates(run), *_steps(steps, longest)]) or _inset("", None),
    }


def heading(position: int, step: StepText) -> str:
    """How a step is named to a judge, which is how its answer names it."""
    task = step.meta.get("task_number") if isinstance(step.meta, Mapping) else None
    of_task = f" (task {task})" if isinstance(task, int) else ""
    agent = f", agent {' '.join(step.agent.split())}" if step.agent.strip() else ""
    return f"Step {position}{of_task}{agent}"


def _mandates(run: RunText) -> Iterator[str]:
    mandates = run.meta.get("mandates") if isinstance(run.meta, Mapping) else None
    if isinstance(mandates, Mapping) and mandates:
        lines = "\n".join(f"{agent}: {what}" for agent, what in mandates.items())
        yield f"What each agent is there for\n{_inset(lines, None)}"


def _steps(steps: Sequence[StepText], longest: int | None) -> Iterator[str]:
    for position, step in enumerate(steps, start=1):
        parts = [
            f"{name.capitalize()}:\n{_inset(text, longest)}"
            for name in _STEP_PARTS
            if (text := getattr(step, name)).strip()
        ]
        yield "\n".join([heading(position, step), *(parts or [_inset("(empty)", None)])])


def _inset(text: str, longest: int | None) -> str:
    if not text.strip():
        return f"  {NOT_GIVEN}"
    if longest is not None and len(text) > longest:
        half = max(longest // 2, 1)
        cut = len(text) - 2 * half
        text = f"{text[:half]}\n[{cut:,} characters left out here]\n{text[-half:]}"
    return "\n".join(f"  {line}" for line in text.splitlines())


# -- files -------------------------------------------------------------------------------------


def load(name: str, version: int) -> Prompt:
    """A prompt that comes with the project; BadRecord names those there are."""
    found = shipped().get((name, version))
    if found is None:
        known = ", ".join(map(str, shipped().values()))
        raise BadRecord("prompt", f"there is no {name}@{version}; with the project come {known}")
    return found


@cache
def shipped() -> Mapping[tuple[str, int], Prompt]:
    """Every prompt that comes with the project, by name and version."""
    read = (prompt for path in sorted(PLACE.glob("*.toml")) for prompt in read_prompts(path))
    return {(prompt.name, prompt.version): prompt for prompt in read}


def read_prompts(path: Path) -> list[Prompt]:
    """The versions in a file of prompts; BadRecord names the file and what is wrong in it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRecord(path.name, f"cannot be read as TOML: {error}") from error
    try:
        found = [_version(data, row) for row in _need(data, "versions", list)]
    except BadRecord as bad:
        raise BadRecord(f"{path.name}, {bad.where}", bad.reason) from bad
    numbers = [prompt.version for prompt in found]
    if not found or len(set(numbers)) != len(numbers):
        raise BadRecord(path.name, "needs [[versions]], each with a number of its own")
    return found


def _version(data: Mapping[str, Any], row: Any) -> Prompt:
    if not isinstance(row, Mapping):
        raise BadRecord("versions", "must be tables: [[versions]]")
    axes = _need(data, "axes", dict, {})
    levels = {axis: _need(row, axis, str) for axis in axes}
    known = {"version", *PARTS, *axes}
    if unknown := sorted(set(row) - known):
        raise BadRecord("versions", f"has the unknown key {unknown[0]}; known are {sorted(known)}")
    blocks = dict(_need(data, "blocks", dict, {}))
    for axis, level in levels.items():
        if level not in axes[axis]:
            allowed = ", ".join(axes[axis])
            raise BadRecord(f"axes.{axis}", f"has no level {level!r}; it has {allowed}")
        blocks[axis] = axes[axis][level]
    system, user = (_joined(row.get(p, data.get(p, [])), blocks, p) for p in PARTS)
    language = {LANGUAGE: data[LANGUAGE]} if _need(data, LANGUAGE, str, "") else {}
    found = Prompt(
        _need(data, "name", str),
        _need(row, "version", int),
        user,
        system,
        _need(data, "variant_set", str, ""),
        levels | language,
    )
    if found.variant_set and not _NAME.match(found.variant_set):
        raise BadRecord("variant_set", "must be small letters, digits and hyphens")
    return checked(found)


def _joined(names: Iterable[Any], blocks: Mapping[str, Any], part: str) -> str:
    if not isinstance(names, list):
        raise BadRecord(part, "must be a list of names of blocks and axes")
    for name in names:
        if not isinstance(name, str) or not isinstance(blocks.get(name), str):
            raise BadRecord(part, f"names {name!r}; there are {', '.join(blocks) or 'no blocks'}")
    return "\n\n".join(blocks[name].strip() for name in names)


def _need(table: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        names = {str: "text", int: "a whole number", list: "a list", dict: "a table"}
        raise BadRecord(key, f"must be {names[kind]}")
    return value
