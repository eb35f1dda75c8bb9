"""The card of a release: what is in it and how it came about, from its manifest alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark.records import FORK_TYPES

_COLUMNS = (
    ("workflows", "the procedures: steps, moves with what authorises them, start, ends, texts"),
    ("dialogues", "one row per conversation; `conformant` is null where nobody says"),
    ("turns", "one row per turn; `number` counts all turns, `assistant_number` the assistant's"),
    ("forks", "where and how a forked conversation leaves its source, and what shows it"),
    ("trajectories", "agent runs with their steps"),
    ("signals", "yes or no about a whole run, and who computed it"),
    ("prompts", "the words that judges were asked with, by version"),
    ("raters", "who labels runs: people by pseudonym, judges, publishers"),
    ("labels", "what a rater says of a run: presence, types, places, why"),
    ("judge_answers", "what a judge wrote, word for word, and whether it could be read"),
    ("reviews", "which label was given in which study, and what was said to the judge's answer"),
    ("annotations", "what annotators answered, by pseudonym; null where a step was not reached"),
)

_FORM_2 = (
    "Only rows with `post_reveal` false are blind judgements; `status` says how far a row came.",
    "`withdrawn` marks answers left under the pseudonym by somebody who withdrew. Times are",
    "durations in milliseconds. `commitments` in the manifest are the heads of the chains that",
    "prove in which order was answered and shown.",
)


def card(manifest: Mapping[str, Any]) -> str:
    """The card as Markdown; the same manifest gives the same text."""
    title = manifest["title"] or manifest["corpus"]
    lines = [f"# {title}, version {manifest['version']}", ""]
    if manifest["description"]:
        lines += [manifest["description"], ""]
    lines += [
        f"Licence: {manifest['licence'] or 'not stated'}.",
        f"Made with {manifest['code']['name']} {manifest['code']['version']}.",
        "",
        "## Tables",
        "",
        "Each is there twice, as JSON lines and as Parquet (free-form values are JSON text there).",
        "",
        "| table | rows | holds |",
        "|---|---|---|",
        *(
            f"| {name} | {manifest['counts'][name]} | {what} |"
            for name, what in _COLUMNS
            if name in manifest["counts"]
        ),
        "",
        "Rows belong together by `corpus`, `format` and the dialogue's id. An empty `corpus` is",
        f"this release's own, `{manifest['corpus']}`; the others hold the sources of its forks.",
        "",
        "## Halves",
        "",
        f"{manifest['split']['rule']}. The other conformant dialogues and their forks test.",
        "Fit nothing on anything but `split` = train. Seeds: "
        + ", ".join(f"{c['corpus']} {c['split_seed']}" for c in manifest["corpora"])
        + ".",
        "",
    ]
    lines += _forks(manifest) + _runs(manifest) + _annotations(manifest)
    lines += [
        "## Checking and loading",
        "",
        "`MANIFEST.json` has the SHA-256 of every other file. "
        "`manage.py import_corpus dialfork FOLDER --corpus NAME` brings everything back.",
        "",
    ]
    return "\n".join(lines)


def _forks(manifest: Mapping[str, Any]) -> list[str]:
    made = manifest["forking"]
    if not manifest["counts"]["forks"]:
        return []
    types = ", ".join(f"{name} {made['types'][name]}" for name in FORK_TYPES)
    return [
        "## Forks",
        "",
        f"By type: {types}.",
        f"Made by {', '.join(made['generators'])}, variants version {made['variants_version']}; "
        f"fork points by the rule {', '.join(made['rules'])}.",
        "`fork_assistant_turn` counts the assistant's turns, `fork_turn` all turns, both from 1.",
        "`replay` says whether the turns before it are the source's word for word (exact).",
        "",
    ]


def _runs(manifest: Mapping[str, Any]) -> list[str]:
    if not manifest["counts"].get("labels"):
        return []
    return [
        "## Labels of runs",
        "",
        "People, judges and publishers label in the same words. Only labels with `post_reveal`",
        "false are blind: the others were given after somebody else's answer was seen. A place's",
        "`step` counts the steps of the run from 1 and is null for its final response. Labels",
        "without `types` beside `present` do not say which.",
        "",
    ]


def _annotations(manifest: Mapping[str, Any]) -> list[str]:
    if not manifest["studies"]:
        return []
    shown = [
        f"- {s['study']}: {s['judgements']} judgements of {s['annotators']} annotators"
        + (f", of which {s['simulated']} are simulated (no people)" if s["simulated"] else "")
        for s in manifest["studies"]
    ]
    gone = sum(len(s.get("withdrawn", {})) for s in manifest["studies"])
    return [
        "## Annotations",
        "",
        "Pseudonyms were drawn at random and stand for no name. Rows with `simulated` true were",
        "made by a program and are no evidence about people.",
        *(_FORM_2 if manifest["format"] >= 2 else ()),
        "",
        *shown,
        *([f"- {gone} withdrew; the manifest names their seats"] if gone else ()),
        "",
    ]
