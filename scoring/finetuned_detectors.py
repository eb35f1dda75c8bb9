"""Transformers fine-tuned as detectors: BERT on steps, an NLI model on pairs, Longformer on runs.

The three models of Trajel (section 4.2). They need the packages of the extra `encoders` and weights
that were fetched once; nothing here asks a network.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.linear_detectors import NO_LABEL, ONE_CLASS
from scoring.sentence_encoders import EncoderUnavailable, Model, snapshot_folder
from scoring.trajectory_detectors import MAX, NO_STEP, WHOLE_RUN, Scored, run_score
from scoring.trajectory_features import (
    CLEAN,
    CONTRADICTED,
    ENTAILED,
    NEUTRAL,
    UNKNOWN,
    SeenRun,
    joined,
    nli_truth,
    owners,
    run_truth,
    step_truth,
    whole_text,
)

MODELS: Mapping[str, Model] = {
    model.name: model
    for model in (
        Model("bert", 512, "Apache-2.0", hub_id="google-bert/bert-base-uncased"),
        Model("nli_cross_encoder", 512, "Apache-2.0", hub_id="cross-encoder/nli-MiniLM2-L6-H768"),
        Model("longformer", 4096, "Apache-2.0", hub_id="allenai/longformer-base-4096"),
    )
}
INSTALL = (
    "Fine-tuning needs the packages torch and transformers. "
    "Install the extra with: make setup EXTRAS=encoders."
)
# More characters than this per token are rare; cutting early keeps long histories cheap.
CHARACTERS_PER_TOKEN = 6
ASKED_AT_ONCE = 32
# Heads of an entailment model, by the beginning of their names.
NLI_HEADS = {"entail": ENTAILED, "neutral": NEUTRAL, "contra": CONTRADICTED}


@dataclass(frozen=True, slots=True)
class Texts:
    """What a model reads: first and second text of each row ("" for none), whose run it is, its
    position and its class."""

    first: Sequence[str]
    second: Sequence[str]
    owner: NDArray[np.intp]
    y: NDArray[np.intp]
    position: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A tokenizer and a model with its heads; `classes[i]` is the class that head i stands for."""

    tokenizer: Any
    model: Any
    classes: Sequence[int]
    max_tokens: int


Load = Callable[[str], Loaded]


def weights_of(method: str) -> str:
    """Which weights `method` trains from, as hub id and commit.

    Raises EncoderUnavailable, with what to do, where packages or weights are not on this machine.
    """
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        raise EncoderUnavailable(INSTALL)
    model = MODELS[method]
    return f"{model.hub_id}@{snapshot_folder(model).name[:12]}"


def loaded(method: str) -> Loaded:
    """The fetched model of `method`: its own heads for entailment, else two new ones."""
    weights_of(method)
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    spec, folder = MODELS[method], str(snapshot_folder(MODELS[method]))
    heads = {} if method == "nli_cross_encoder" else {"num_labels": 2}
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        model = AutoModelForSequenceClassification.from_pretrained(
            folder, use_safetensors=True, **heads, **local
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, truncation_side="left", **local)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise EncoderUnavailable(f"{method} could not be loaded from {folder}: {reason}") from error
    names = model.config.id2label if method == "nli_cross_encoder" else {}
    return Loaded(tokenizer, model, head_classes(names) if names else (0, 1), spec.max_tokens)


def head_classes(names: Mapping[int, str]) -> tuple[int, ...]:
    """The class of each head of an entailment model, by its name; EncoderUnavailable for others."""
    found = []
    for head in sorted(names):
        word = names[head].lower()
        fitting = [each for start, each in NLI_HEADS.items() if word.startswith(start)]
        if not fitting:
            raise EncoderUnavailable(f"{names[head]!r} is no head of an entailment model.")
        found += fitting
    return tuple(found)


def out_of_fold(
    method: str,
    settings: Mapping[str, Any],
    runs: Sequence[SeenRun],
    tested: NDArray[np.bool_],
    *,
    load: Load = loaded,
) -> list[Scored]:
    """The scores of the `tested` runs by a transformer trained on labelled runs of other questions.

    As `scoring.trajectory_detectors.out_of_fold`. With 0 epochs the model answers as it comes.
    """
    held_out = {run.question for run, yes in zip(runs, tested, strict=True) if yes}
    train = np.array([run.present is not None and run.question not in held_out for run in runs])
    texts = texts_of(method, settings, runs)
    rows = train[texts.owner] & (texts.y != UNKNOWN)
    faulty = texts.y[rows] != CLEAN
    if settings["epochs"] and (not rows.any() or faulty.all() or not faulty.any()):
        reason = ONE_CLASS if rows.any() else NO_LABEL
        return [Scored(run.key, None, reason) for run, yes in zip(runs, tested, strict=True) if yes]
    held = load(method)
    if settings["epochs"]:
        _train(held, texts, np.flatnonzero(rows), settings)
    asked = np.flatnonzero(tested[texts.owner])
    values = np.full(len(texts.owner), np.nan)
    values[asked] = _suspicion(held, texts, asked)
    return _scored(
        runs, tested, texts, values, settings, float(faulty.mean()) if len(faulty) else 0
    )


def texts_of(method: str, settings: Mapping[str, Any], runs: Sequence[SeenRun]) -> Texts:
    """What `method` reads of the runs, with the class of each row."""
    if method == "longformer":
        places = np.arange(len(runs), dtype=np.intp)
        whole = [whole_text(run) for run in runs]
        return Texts(whole, [""] * len(runs), places, run_truth(runs), np.zeros_like(places))
    weak = settings["step_truth"] == WHOLE_RUN
    owner, position = owners(runs)
    said = [step.said for run in runs for step in run.steps]
    if method == "bert":
        return Texts(said, [""] * len(said), owner, step_truth(runs, weak=weak), position)
    longest = MODELS[method].max_tokens * CHARACTERS_PER_TOKEN
    histories = [text for run in runs for text in _histories(run, longest)]
    claims = [step.hypothesis for run in runs for step in run.steps]
    return Texts(histories, claims, owner, nli_truth(runs, weak=weak), position)


def _histories(run: SeenRun, longest: int) -> Iterator[str]:
    """Before each step: the task and what was said so far, its last characters."""
    before = run.task
    for step in run.steps:
        yield before[-longest:]
        before = joined(before[-longest:], step.said)


def _train(held: Loaded, texts: Texts, rows: NDArray[np.intp], settings: Mapping[str, Any]) -> None:
    """Train in place, the classes balanced, rows shuffled by the seed."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    rng = np.random.default_rng(settings["seed"])
    faulty = texts.y[rows] != CLEAN
    share = {True: faulty.mean(), False: 1 - faulty.mean()}
    weights = np.array([0.5 / share[bool(yes)] for yes in faulty])
    model = held.model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings["rate"])
    with torch.random.fork_rng():
        torch.manual_seed(settings["seed"])
        for _ in range(settings["epochs"]):
            order = rng.permutation(len(rows))
            for start in range(0, len(order), settings["batch"]):
                part = order[start : start + settings["batch"]]
                logits = model(**_tokens(held, texts, rows[part], device)).logits
                allowed = torch.as_tensor(_allowed(held, texts.y[rows[part]]), device=device)
                loss = logits.logsumexp(1) - logits.masked_fill(~allowed, -1e9).logsumexp(1)
                weight = torch.as_tensor(weights[part], dtype=loss.dtype, device=device)
                optimizer.zero_grad()
                (loss * weight).mean().backward()
                optimizer.step()


def _allowed(held: Loaded, y: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which heads may be right for each class: a fault that no head stands for allows all of the
    heads that are not CLEAN."""
    classes = np.asarray(held.classes)
    exact = classes[None, :] == y[:, None]
    return np.where(exact.any(axis=1, keepdims=True), exact, classes[None, :] != CLEAN)


def _suspicion(held: Loaded, texts: Texts, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = held.model.to(device).eval()
    clean = list(held.classes).index(CLEAN)
    parts = [np.zeros(0)]
    with torch.no_grad():
        for start in range(0, len(rows), ASKED_AT_ONCE):
            part = rows[start : start + ASKED_AT_ONCE]
            logits = model(**_tokens(held, texts, part, device)).logits.double()
            parts.append(1 - logits.softmax(1)[:, clean].cpu().numpy())
    return np.concatenate(parts)


def _tokens(held: Loaded, texts: Texts, rows: NDArray[np.intp], device: str) -> Any:
    longest = held.max_tokens * CHARACTERS_PER_TOKEN
    first = [texts.first[row][-longest:] for row in rows]
    second = [texts.second[row][:longest] for row in rows]
    pair = {"text_pair": second} if any(second) else {}
    tokens = held.tokenizer(
        first,
        **pair,
        truncation=True,
        max_length=held.max_tokens,
        padding=True,
        return_tensors="pt",
    )
    return tokens.to(device)


def _scored(
    runs: Sequence[SeenRun],
    tested: NDArray[np.bool_],
    texts: Texts,
    values: NDArray[np.float64],
    settings: Mapping[str, Any],
    prior: float,
) -> list[Scored]:
    found = []
    for place in np.flatnonzero(tested):
        own = np.flatnonzero(texts.owner == place)
        if not len(own):
            found.append(Scored(runs[place].key, None, NO_STEP))
            continue
        value = run_score(values[own], settings.get("aggregator", MAX), prior)
        steps = [(int(texts.position[row]), float(values[row])) for row in own]
        found.append(Scored(runs[place].key, value, steps=[s for s in steps if s[0]]))
    return found
