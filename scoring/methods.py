"""Every method a run can use, with its settings: read by forms, API, commands and leaderboards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring import encoders

PAPER, CONTROL, BEYOND = "paper", "control", "beyond"
MOST_SEED = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a method: its default, and what is allowed.

    The type is the default's. `choices` lists the only values; `low` and `high` bound a number,
    ends included.
    """

    name: str
    default: Any
    label: str
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None

    def checked(self, value: Any) -> Any:
        """`value` in the type of the default; ValueError with what is allowed."""
        if self.choices:
            if not any(value == each and type(value) is type(each) for each in self.choices):
                words = ", ".join(map(str, self.choices))
                raise ValueError(f"{self.name} is {value!r}; it must be one of {words}")
            return value
        if isinstance(self.default, bool):
            if not isinstance(value, bool):
                raise ValueError(f"{self.name} is {value!r}; it must be true or false")
            return value
        return self._number(value)

    def _number(self, value: Any) -> Any:
        whole = isinstance(self.default, int)
        wanted = int if whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, wanted):
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"{self.name} is {value!r}; it must be {kind}")
        low, high = self.low, self.high
        # Written so that a NaN is refused too.
        if (low is not None and not value >= low) or (high is not None and not value <= high):
            raise ValueError(f"{self.name} is {value!r}; it must lie between {low} and {high}")
        return value if whole else float(value)


@dataclass(frozen=True, slots=True)
class Method:
    """A method of one task. `origin` is "paper", "control" or "beyond" (not in the paper)."""

    name: str
    label: str
    summary: str
    encoder: bool = True
    origin: str = PAPER
    settings: tuple[Setting, ...] = ()


SEED = Setting("seed", 0, "Seed", low=0, high=MOST_SEED)
THRESHOLD = Setting("threshold", 0.55, "Cluster threshold (cosine distance)", low=0.01, high=2.0)
ALPHA = Setting("alpha", 0.1, "Share of conformant dialogues that may alarm", low=0.001, high=0.5)
PAIRS = Setting("pairs", "all", "Turn pairs", choices=("all", "to_assistant"))
NGRAM = (
    Setting("order", 6, "N", choices=(2, 3, 6, 10)),
    Setting("node_confidence", False, "Node confidence (NC)"),
    Setting("calibration", "in_sample", "Threshold", choices=("in_sample", "leave_one_out")),
    Setting("alpha", 0.05, ALPHA.label, low=0.001, high=0.5),
    THRESHOLD,
)
OTHERS = Setting("other_workflows", False, "Knows the corpus's other workflows")

_SETS = (
    Method(
        "fbd",
        "FBD",
        "Fréchet distance between Gaussians fitted to the vectors of neighbouring turns.",
        settings=(PAIRS,),
    ),
    Method(
        "prd",
        "PRD",
        "1 - the largest F1 of precision and recall of distributions, over k-means histograms.",
        settings=(
            PAIRS,
            Setting("clusters", 20, "Clusters", low=2, high=200),
            Setting("rounds", 10, "Clusterings averaged", low=1, high=50),
            SEED,
        ),
    ),
    Method(
        "flow_kl",
        "FlowKL",
        "Divergence of the densities of path likelihoods under the flow graph.",
        settings=(THRESHOLD,),
    ),
    Method(
        "flow_kl_compat",
        "FlowKL (sdialog)",
        "The same as sdialog 0.5.3 computes it, for comparison with published figures.",
        settings=(THRESHOLD,),
    ),
    Method("turn_count", "Turn count", "Difference of the mean number of turns.", False, CONTROL),
    Method("word_count", "Word count", "Difference of the mean number of words.", False, CONTROL),
    Method("random", "Random", "A number drawn from the seed.", False, CONTROL, (SEED,)),
)

_DISTANCES = (
    Method(
        "flow_score",
        "FlowScore",
        "1 - F1 of the best matches between turns; turn order is not used.",
        settings=(
            Setting("matching", "greedy", "Matching", choices=("greedy", "assignment")),
            Setting("same_role", False, "Match turns of the same role only"),
        ),
    ),
    Method("mean", "Mean-turn", "1 - cosine of the mean turn vectors."),
    Method("full", "Full-dialogue", "1 - cosine of the vectors of the whole texts."),
    Method("flow_dtw", "FlowDTW", "Dynamic time warping over turn vectors, divided by n + m."),
    Method(
        "discounted_alignment",
        "Discounted alignment",
        "Alignment of turns in order; each departure discounts what follows, so the method itself "
        "holds that earlier is farther.",
        origin=BEYOND,
        settings=(Setting("discount", 0.9, "Discount", low=0.0, high=1.0),),
    ),
    Method(
        "soft_lcs",
        "Soft LCS",
        "Longest common subsequence with graded matches: turn order alone, without a discount.",
        origin=BEYOND,
    ),
    Method(
        "shared_prefix",
        "Shared prefix",
        "1 - the share of leading turns with the same text.",
        False,
        CONTROL,
    ),
    Method("turn_difference", "Turn count", "Difference of the number of turns.", False, CONTROL),
    Method("word_difference", "Word count", "Difference of the number of words.", False, CONTROL),
    Method("random", "Random", "A number drawn from the seed.", False, CONTROL, (SEED,)),
)

_ONSETS = (
    Method(
        "ngram_it",
        "N-gram, improbable transition",
        "Alarm on a move less probable than conformant dialogues make.",
        settings=NGRAM,
    ),
    Method(
        "ngram_ss",
        "N-gram, surprisal spike",
        "Alarm on a rise of surprisal larger than conformant dialogues show.",
        settings=NGRAM,
    ),
    Method(
        "novelty",
        "Novelty",
        "Alarm on a reply unlike the known replies to such a turn, after such a turn, in such "
        "words; with a conformal threshold.",
        origin=BEYOND,
        settings=(
            Setting("form", "exact", "Form", choices=("exact", "leave_one_out")),
            ALPHA,
        ),
    ),
    Method(
        "novelty_remaining",
        "Novelty and what remains",
        "Novelty, stricter while much of the dialogue remains.",
        origin=BEYOND,
        settings=(ALPHA,),
    ),
    Method(
        "workflow_aware",
        "Workflow-aware",
        "Novelty together with the steps the workflow allows next.",
        origin=BEYOND,
        settings=(
            Setting("form", "leave_one_out", "Form", choices=("leave_one_out", "split")),
            ALPHA,
            OTHERS,
        ),
    ),
    Method(
        "workflow_offline",
        "Workflow-aware, whole dialogue",
        "The same with the whole dialogue at hand.",
        origin=BEYOND,
        settings=(
            Setting("form", "leave_one_out", "Form", choices=("leave_one_out", "split")),
            ALPHA,
            OTHERS,
        ),
    ),
    Method("first_turn", "First turn", "Always the first assistant turn.", False, CONTROL),
    Method("last_turn", "Last turn", "Always the last assistant turn.", False, CONTROL),
    Method(
        "random_turn", "Random turn", "An assistant turn drawn by seed.", False, CONTROL, (SEED,)
    ),
)

METHODS: Mapping[str, Mapping[str, Method]] = {
    "task1": {method.name: method for method in _SETS},
    "task2": {method.name: method for method in _DISTANCES},
    "task3": {method.name: method for method in _ONSETS},
}
TASKS: Mapping[str, str] = {
    "task1": "Set to set",
    "task2": "Dialogue to dialogue",
    "task3": "First off-track turn",
}


def method_of(kind: str, name: Any) -> Method:
    """The method of that name; ValueError lists the names there are."""
    return named(METHODS[kind], name)


def named(known: Mapping[str, Method], name: Any) -> Method:
    """The method of that name among `known`; ValueError lists the names there are."""
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"method is {name!r}; it must be one of {', '.join(known)}")
    return known[name]


def chosen(kind: str, given: Mapping[str, Any], *, shared: Mapping[str, Any]) -> dict[str, Any]:
    """As `chosen_of`, of the method of a task that `given` names."""
    return chosen_of(method_of(kind, given.get("method")), given, shared=shared)


def chosen_of(
    method: Method, given: Mapping[str, Any], *, shared: Mapping[str, Any]
) -> dict[str, Any]:
    """The full parameters of a run: "method", "settings", "encoder" where one is needed, `shared`.

    `given` is flat: method, encoder, the method's settings, and any of `shared` (name -> default
    of what every method of the kind has, such as "bootstrap_seed": whole numbers from 0). Raises
    ValueError with a sentence for what does not exist or is not allowed.
    """
    settings = {setting.name: setting for setting in method.settings}
    known = {"method", "encoder", *settings, *shared}
    for name in given:
        if name not in known:
            words = ", ".join(sorted(known - {"method"}))
            raise ValueError(f"method {method.name} has no setting {name!r}; it has {words}")
    found: dict[str, Any] = {
        "method": method.name,
        "settings": {
            name: setting.checked(given.get(name, setting.default))
            for name, setting in settings.items()
        },
    }
    for name, default in shared.items():
        whole = Setting(name, default, name, low=0, high=MOST_SEED)
        found[name] = whole.checked(given.get(name, default))
    if method.encoder:
        found["encoder"] = given.get("encoder") or encoders.DEFAULT
        encoders.check(found["encoder"])
    return found
