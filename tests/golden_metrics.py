"""Golden files of metrics, by file name: distances, densities, orders, detectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from scoring.detection_metrics import detection, detection_score
from scoring.detectors import IT, SS, WatchedTurn, calibrate, calibration_values, readings
from scoring.dialogue_distances import METHODS, flow_dtw, flow_score
from scoring.flow_graphs import START
from scoring.ngrams import NGram, fit_ngram
from scoring.rankings import order_taus
from scoring.set_distances import (
    cauchy_schwarz_compat,
    flow_kl,
    flow_kl_compat,
    frechet,
    prd,
    prd_curve,
    prd_distance,
)
from scoring.turn_vectors import DialogueVectors
from tests.golden_flow import flow_candidates, flow_reference

Check = tuple[str, dict[str, Any], dict[str, Any], float, float]
Content = Mapping[str, Any]


def fbd(content: Content, file: Path) -> Iterator[Check]:
    for case in content["cases"]:
        answer = {"value": frechet(case["ref"], case["cand"]).value}
        expected = {"value": case["expected"]}
        yield case["name"], expected, answer, case.get("abs_tol", 0), content["rel_tol"]


def precision_recall(content: Content, file: Path) -> Iterator[Check]:
    for case in content["from_histograms"]:
        precision, recall = prd_curve(case["ref_hist"], case["cand_hist"])
        answer = {
            "expected": prd_distance(precision, recall),
            "precision_at": {str(i): float(value) for i, value in enumerate(precision)},
            "recall_at": {str(i): float(value) for i, value in enumerate(recall)},
        }
        expected = {key: case[key] for key in answer}
        yield case["name"], expected, answer, content["abs_tol"], 0
    for case in content["end_to_end"]:
        answer = {"value": prd(case["ref"], case["cand"], clusters=case["k"]).value}
        yield case["name"], {"value": case["expected"]}, answer, content["abs_tol"], 0
    if case := content.get("unseeded_overlap"):
        # The reference tool has no seed: its own values span a band, and ours must lie in it.
        value = prd(case["ref"], case["cand"]).value
        inside = case["sdialog_min"] <= value <= case["sdialog_max"]
        yield "unseeded overlap", {"inside": True}, {"inside": inside, "value": value}, 0, 0


def kde(content: Content, file: Path) -> Iterator[Check]:
    functions = {"kl_sdialog": flow_kl_compat, "cs": cauchy_schwarz_compat, "kl_log_ours": flow_kl}
    for case in [*content["cases"], *content.get("ours_only", [])]:
        expected = {key: case[key] for key in functions if key in case}
        answer = {
            key: functions[key](case["ref"], case["cand"], factor=case.get("bw")).value
            for key in expected
        }
        yield f"{case['name']} {case.get('bw')}", expected, answer, 1e-9, content["rel_tol"]


def dialogue_of(vectors: list[list[float]], full: list[float] | None) -> DialogueVectors:
    n = len(vectors)
    roles = tuple(("user", "assistant")[i % 2] for i in range(n))
    texts = tuple(f"turn {i}" for i in range(n))
    return DialogueVectors(
        roles, texts, np.array(vectors), None if full is None else np.array(full)
    )


def dialog_distance(content: Content, file: Path) -> Iterator[Check]:
    for case in content["cases"]:
        a = dialogue_of(case["a"], case.get("full_a"))
        b = dialogue_of(case["b"], case.get("full_b"))
        score, warped = flow_score(a, b), flow_dtw(a, b)
        answer = {
            "mean_turn": METHODS["mean"]([(a, b)])[0].value,
            "full": METHODS["full"]([(a, b)])[0].value,
            "dtw_raw": warped.detail["raw"],
            "dtw_over_n_plus_m": warped.value,
            "flow_P": score.detail["precision"],
            "flow_R": score.detail["recall"],
            "flow_F": score.detail["f"],
            "flow_distance": score.value,
        }
        expected = {key: case[key] for key in answer if key in case}
        yield case["name"], expected, answer, content["abs_tol"], 0
        batched = METHODS["flow_score"]([(a, b)] * 3)[2].value
        yield f"{case['name']} batched", {"v": score.value}, {"v": batched}, 1e-9, 0


def kendall(content: Content, file: Path) -> Iterator[Check]:
    for case in content["cases"]:
        # The golden order falls with the position; a row is read in that order.
        order = np.argsort([-gold for gold in case["gold"]])
        answer = {"tau_b": float(order_taus([np.array(case["pred"])[order]])[0])}
        name = f"{case['gold']} {case['pred']}"
        yield name, {"tau_b": case["tau_b"]}, answer, content["abs_tol"], 0


def turns_of(nodes: list[str]) -> list[WatchedTurn]:
    return [WatchedTurn(i + 1, node, node.startswith("s")) for i, node in enumerate(nodes)]


def ngram(content: Content, file: Path) -> Iterator[Check]:
    tolerance = content["abs_tol"]
    # The file's V counts END as a symbol; ours counts nodes.
    size = int(re.search(r"V=(\d+)", content["what"])[1]) - 1
    training = [turns_of(path) for path in content["train"]]
    for case in content["models"]:
        model = fit_ngram(content["train"], order=case["N"], nodes=size)
        found = {kind: calibrate(model, training, kind=kind) for kind in (IT, SS)}
        answer = {
            "IT_threshold": found[IT].threshold,
            "SS_threshold": found[SS].threshold,
            "min_probs": calibration_values(model, training, kind=IT),
            "max_spikes": calibration_values(model, training, kind=SS),
        }
        yield f"N={case['N']}", {key: case[key] for key in answer}, answer, tolerance, 0
        for name, test in case["tests"].items():
            seen = list(readings(model, turns_of(test["nodes"])))
            places = range(len(test["nodes"]))
            alarms = {kind: found[kind].first_alarm(turns_of(test["nodes"])) for kind in found}
            answer = {
                "p_wb": [reading.probability for reading in seen],
                "spikes_wb": [reading.rise for reading in seen],
                "p_laplace": [model.add_one(test["nodes"][:i], test["nodes"][i]) for i in places],
                # The file counts turns from 0.
                "IT_first": None if alarms[IT] is None else alarms[IT] - 1,
                "SS_first": None if alarms[SS] is None else alarms[SS] - 1,
            }
            expected = {key: test[key] for key in answer}
            yield f"N={case['N']} {name}", expected, answer, tolerance, 0
        for name, fraction in case["fraction_example"].items():
            node, given = re.match(r"P\((\w+)\|(.*)\)", name).groups()
            answer = {"P": model.probability(given.split(","), node)}
            yield f"N={case['N']} {name}", {"P": float(Fraction(fraction))}, answer, tolerance, 0
    yield from add_one_bigram(content, size)


def add_one_bigram(content: Content, size: int) -> Iterator[Check]:
    model: NGram = fit_ngram(content["train"], order=2, nodes=size)
    for name, value in content["add_one_bigram_as_sdialog"].items():
        before, node = name.split(">")
        history = [] if before == START else [before]
        answer = {"P": model.add_one(history, node, end=False)}
        yield f"add-one {name}", {"P": value}, answer, content["abs_tol"], 0


def task3(content: Content, file: Path) -> Iterator[Check]:
    found = detection(
        [(kind, truth, guess) for kind, truth, guess in content["hall"]],
        [(last, guess) for last, guess in content["conf"]],
    )
    answer = {
        "mae_by_type": dict(found.error_by_type),
        "hall_mae": found.fork_error,
        "hall_cov": found.fork_coverage,
        "conf_mae": found.conformant_error,
        "conf_cov": found.false_alarms,
    }
    yield "figures", content["expected"], answer, 1e-9, 0
    example = content["score_example"]
    score = score_of(answer, example["max_hall"], example["max_conf"])
    yield "score", {"score": example["score"]}, {"score": score}, 1e-9, 0
    for row in content["paper_rows"]:
        score = score_of(row, 12.52, 14.12)
        yield row["name"], {"score": row["score"]}, {"score": score}, 1e-9, 1e-9
        printed = {"score": row["paper_score"]}
        yield f"{row['name']} as printed", printed, {"score": score}, content["paper_abs_tol"], 0


def score_of(row: Mapping[str, Any], most_fork: float, most_conformant: float) -> float:
    return detection_score(
        fork_error=row["hall_mae"],
        fork_coverage=row["hall_cov"],
        conformant_error=row["conf_mae"],
        false_alarms=row["conf_cov"],
        most_fork_error=most_fork,
        most_conformant_error=most_conformant,
    )


METRIC_FILES: dict[str, Callable[[Content, Path], Iterator[Check]]] = {
    "fbd": fbd,
    "prd": precision_recall,
    "kde": kde,
    "flow_reference": flow_reference,
    "flow_candidates": flow_candidates,
    "dialog_distance": dialog_distance,
    "kendall": kendall,
    "ngram": ngram,
    "task3": task3,
}
