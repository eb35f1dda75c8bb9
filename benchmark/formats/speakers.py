"""From what a file calls a speaker to the role of a turn; a name that tells none is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from benchmark.formats.reading import abbreviated
from benchmark.records import ACTION, ASSISTANT, OBSERVATION, ROLES, SYSTEM, USER, BadRecord

INFERRED = "role inferred from the other speaker"

# Role words of chat logs, where "system" is the prompt and not a speaker.
MESSAGE_ROLES = {
    "user": USER,
    "human": USER,
    "assistant": ASSISTANT,
    "gpt": ASSISTANT,
    "chatgpt": ASSISTANT,
    "bot": ASSISTANT,
    "model": ASSISTANT,
    "system": SYSTEM,
    "developer": SYSTEM,
    "tool": OBSERVATION,
    "function": OBSERVATION,
    "observation": OBSERVATION,
    "function_response": OBSERVATION,
    "tool_response": OBSERVATION,
    "ipython": OBSERVATION,
    "action": ACTION,
    "function_call": ACTION,
    "tool_call": ACTION,
}

# Words of transcripts, where "system" is the dialogue system that answers.
_ASSISTANT_WORDS = (
    "assistant system agent bot chatbot wizard operator advisor adviser doctor dr support clerk ai "
    "gpt model representative"
)
_USER_WORDS = "user human customer client caller patient guest"
SPEAKER_WORDS = dict.fromkeys(_ASSISTANT_WORDS.split(), ASSISTANT) | dict.fromkeys(
    _USER_WORDS.split(), USER
)
SPEAKER_WORDS |= {"action": ACTION, "tool": OBSERVATION, "observation": OBSERVATION}


def message_role(name: str, roles: Mapping[str, str] | None, what: str) -> str:
    """The role of a message called `name`; raises BadRecord, naming `what`, for an unknown one."""
    given = roles or {}
    role = given.get(name) or MESSAGE_ROLES.get(name.strip().lower())
    if role is None:
        raise BadRecord(what, unknown([name], sorted(set(MESSAGE_ROLES))))
    return role


def speaker_role(name: str, roles: Mapping[str, str] | None) -> str | None:
    """The role of a speaker: as mapped, else by the last word that tells one, else None."""
    given = roles or {}
    if name in given:
        return given[name]
    told = [SPEAKER_WORDS[w] for w in re.findall(r"\w+", name.lower()) if w in SPEAKER_WORDS]
    return told[-1] if told else None


def speaker_roles(names: Iterable[str], roles: Mapping[str, str] | None) -> dict[str, str]:
    """Role by speaker. Of two speakers one may tell the other's; else raises BadRecord."""
    ordered = list(dict.fromkeys(names))
    found = {name: speaker_role(name, roles) for name in ordered}
    dumb = [name for name, role in found.items() if role is None]
    if len(dumb) == 1 and len(ordered) == 2:
        known = next(role for role in found.values() if role)
        if known in (USER, ASSISTANT):
            found[dumb[0]] = USER if known == ASSISTANT else ASSISTANT
            dumb = []
    if dumb:
        raise BadRecord("speakers", unknown(dumb, sorted(SPEAKER_WORDS)))
    return {name: role for name, role in found.items() if role}


def unknown(names: Iterable[str], known: Iterable[str]) -> str:
    """The sentence for speakers nobody knows: what is known, and how to map them."""
    listed = list(names)
    shown = ", ".join(abbreviated(n) for n in listed[:5])
    example = " ".join(f'"{n}={ASSISTANT}"' for n in listed[:2])
    return (
        f"no role is known for {shown}; say it with --roles {example} "
        f"(roles: {', '.join(ROLES)}; known names: {', '.join(known)})"
    )
