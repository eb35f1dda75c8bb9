"""What the command `score_corpus` asks for, as runs to start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.models import Corpus
from scoring.methods import METHODS, Method, Setting, named
from scoring.models import Run
from scoring.trajectory_methods import JUDGED
from scoring.trajectory_methods import KIND as LABELS
from scoring.views.starting import OFFERED, SURPRISAL, Wanted, runnable

# Names of tasks in the command, and the kinds of run they are.
KINDS = {"1": "task1", "2": "task2", "3": "task3", "turns": "surprisal", "runs": LABELS}
DEFAULT_METHODS = {
    "task1": "flow_kl",
    "task2": "flow_score",
    "task3": "novelty",
    LABELS: "step_classifier",
}
# What the others are compared with, where all methods ran.
REFERENCES = {"task1": "flow_kl", "task2": "discounted_alignment", "task3": "novelty"}
FLAGS = ("matching", "same_role", "threshold")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command. `given` are settings as text, from NAME=VALUE."""

    task: str | None
    methods: Sequence[str]
    encoders: Sequence[str]
    everything: bool
    seed: int | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    truth: str = ""
    judge: str = ""

    @classmethod
    def from_options(cls, options: Mapping[str, Any], encoder: str) -> Asked:
        """Raises ValueError for a --set that is not NAME=VALUE."""
        given = {}
        for text in options["set"]:
            name, equals, value = text.partition("=")
            if not equals:
                raise ValueError(f"--set {text!r}: write NAME=VALUE, for example --set alpha=0.05")
            given[name.strip().replace("-", "_")] = value.strip()
        return cls(
            options["task"],
            options["method"] or [],
            options["encoder"] or [encoder],
            options["all"],
            options["seed"],
            {name: options[name] for name in FLAGS if options[name] is not None},
            given,
            options["truth"] or "",
            options["judge"] or "",
        )


def wanted(corpus: Corpus, asked: Asked) -> Iterator[Wanted]:
    """The runs in the order of tasks, methods and encoders.

    Raises ValueError with a sentence for methods, settings and values that there are not.
    """
    pairs = list(chosen_methods(asked))
    for name in asked.given:
        if not any(name == s.name for _, method in pairs for s in method.settings):
            raise ValueError(f"--set {name}: none of the chosen methods has this setting")
    for kind, method in pairs:
        parameters = settings_of(kind, method, asked, alone=len(pairs) == 1)
        for encoder in dict.fromkeys(asked.encoders) if method.encoder else [None]:
            yield Wanted(
                kind, [corpus], {**parameters, **({"encoder": encoder} if encoder else {})}
            )


def chosen_methods(asked: Asked) -> Iterator[tuple[str, Method]]:
    if (asked.truth or asked.judge) and asked.task != "runs":
        raise ValueError("--truth and --judge go with --task runs")
    if asked.task == "runs" and not asked.truth:
        raise ValueError("--task runs needs --truth: the rater whose labels are to be predicted")
    if asked.everything and asked.methods:
        raise ValueError("--all takes every method; leave --method out")
    if asked.everything and asked.task is None:
        for kind, methods in METHODS.items():
            yield from ((kind, method) for method in methods.values())
        return
    kind = KINDS[asked.task or "2"]
    if kind == "surprisal":
        if set(asked.methods) - {"surprisal"}:
            raise ValueError("--task turns has the one method surprisal")
        yield kind, SURPRISAL
    elif asked.everything:
        yield from ((kind, method) for method in runnable(kind, asked.judge))
    else:
        for name in dict.fromkeys(asked.methods or [DEFAULT_METHODS[kind]]):
            yield kind, named(OFFERED[kind], name)


def settings_of(kind: str, method: Method, asked: Asked, *, alone: bool) -> dict[str, Any]:
    """Flat parameters. A method that is `alone` gets every flag, so that one it does not have is
    refused; among several, each takes what it has."""
    own = {setting.name: setting for setting in method.settings}
    found: dict[str, Any] = {} if kind == "surprisal" else {"method": method.name}
    if kind == LABELS:
        found["truth"] = asked.truth
        found |= {"judge": asked.judge} if asked.judge and method.name in JUDGED else {}
    found |= {name: value for name, value in asked.flags.items() if alone or name in own}
    found |= {name: read(own[name], text) for name, text in asked.given.items() if name in own}
    if asked.seed is not None:
        found["bootstrap_seed"] = asked.seed
        if "seed" in own:
            found["seed"] = asked.seed
    return found


def read(setting: Setting, text: str) -> Any:
    """The value a text stands for, in the setting's type; ValueError with what is allowed."""
    kind = type(setting.default)
    if kind is bool:
        value: Any = {"true": True, "false": False}.get(text.lower(), text)
    elif kind is str:
        value = text
    else:
        try:
            value = kind(text)
        except ValueError:
            value = text
    return setting.checked(value)


def comparisons(corpus: Corpus, runs: Iterable[Run]) -> Iterator[Wanted]:
    """For each task with a reference and something beside it: one comparison per encoder."""
    for kind, name in REFERENCES.items():
        members = [run for run in runs if run.kind == kind]
        for reference in members:
            if reference.parameters["method"] != name:
                continue
            encoder = reference.parameters.get("encoder")
            others = [
                run.pk
                for run in members
                if run != reference and run.parameters.get("encoder", encoder) == encoder
            ]
            if others:
                given = {"task": kind, "reference": reference.pk, "baselines": others}
                yield Wanted("comparison", [corpus], given)
