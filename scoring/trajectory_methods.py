"""The detectors of agent runs that a scoring run can use, with their settings."""

from __future__ import annotations

from collections.abc import Mapping

from scoring import finetuned_detectors
from scoring.methods import BEYOND, CONTROL, SEED, Method, Setting
from scoring.trajectory_detectors import AGGREGATORS, STEP_TRUTHS
from scoring.trajectory_features import POOLS

KIND = "labels"
TASK = "Agent runs: does it hallucinate?"
FOLDS = Setting("folds", 5, "Folds of questions", low=2, high=20)
COMMON = (FOLDS, SEED)
AGGREGATOR = Setting("aggregator", "max", "Run from its steps", choices=AGGREGATORS)
STEP_TRUTH = Setting("step_truth", "places", "Step labels from", choices=STEP_TRUTHS)
WINDOW = Setting("window", 2000, "Characters per window", low=200, high=20_000)
TUNING = (
    Setting("epochs", 3, "Passes over the training", low=1, high=20),
    Setting("rate", 2e-5, "Learning rate", low=1e-7, high=1e-2),
    Setting("batch", 8, "Texts per step", low=1, high=128),
)

_METHODS = (
    Method(
        "step_classifier",
        "Step classifier",
        "Each step by itself: the vector of its thought, action and observation, classified.",
        settings=(AGGREGATOR, STEP_TRUTH, *COMMON),
    ),
    Method(
        "step_entailment",
        "History and step (NLI-style)",
        "Does each step follow from the task and the steps before it? The largest doubt counts.",
        settings=(STEP_TRUTH, *COMMON),
    ),
    Method(
        "long_context",
        "Long context",
        "The whole run as one text, in windows whose vectors are pooled.",
        settings=(WINDOW, Setting("pool", "mean", "Windows pooled by", choices=POOLS), *COMMON),
    ),
    Method(
        "judge_hybrid",
        "Hybrid with a judge",
        "What a judge says and the execution signals, together with the text.",
        origin=BEYOND,
        settings=(
            Setting("with_text", True, "With the text"),
            Setting("judge_weight", 4.0, "Weight of the judge’s columns", low=0.1, high=100.0),
            WINDOW,
            *COMMON,
        ),
    ),
    Method(
        "bert",
        "BERT, fine-tuned",
        "A transformer trained on single steps.",
        False,
        settings=(AGGREGATOR, STEP_TRUTH, *TUNING, *COMMON),
    ),
    Method(
        "nli_cross_encoder",
        "NLI cross-encoder",
        "An entailment model on history and step, fine-tuned; with 0 passes as it comes.",
        False,
        settings=(
            STEP_TRUTH,
            Setting("epochs", 3, "Passes over the training", low=0, high=20),
            *TUNING[1:],
            *COMMON,
        ),
    ),
    Method(
        "longformer",
        "Longformer, fine-tuned",
        "A transformer with sparse attention, trained on whole runs.",
        False,
        settings=(*TUNING, *COMMON),
    ),
    Method(
        "judge_label",
        "Judge alone",
        "What the judge says: 1 for a hallucination, 0 for none. Trains nothing.",
        False,
        CONTROL,
        COMMON,
    ),
    Method(
        "step_position",
        "Step position",
        "Where a step stands, and nothing of what it says.",
        False,
        CONTROL,
        (AGGREGATOR, STEP_TRUTH, *COMMON),
    ),
    Method(
        "run_length",
        "Run length",
        "How many steps or characters a run has, and nothing of what it says.",
        False,
        CONTROL,
        (
            Setting("measure", "both", "Length in", choices=("both", "steps", "characters")),
            *COMMON,
        ),
    ),
    Method("majority", "Majority", "The same answer for every run.", False, CONTROL, COMMON),
)
LABEL_METHODS: Mapping[str, Method] = {method.name: method for method in _METHODS}
# Those that read a judge's labels, and those that train a transformer.
JUDGED = frozenset({"judge_hybrid", "judge_label"})
TUNED = frozenset(finetuned_detectors.MODELS)
