"""Golden cases of agreement and study statistics: from a case's input to the product's answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from annotation.agreement import (
    cohen_kappa,
    cohen_kappa_of_table,
    fleiss_kappa,
    gwet_ac,
    gwet_ac_of_counts,
    gwet_ac_of_table,
    krippendorff_alpha,
    ratings_of,
    raw_agreement,
    wilson,
)
from annotation.krippendorff_alpha import alpha_of_counts
from annotation.label_agreement import label_set_agreement, per_label, precision_recall_f1
from annotation.rating_tables import counts_of, counts_of_table, seen_labels
from annotation.study_statistics import (
    onset_agreement,
    superiority_within_groups,
    tau_b_within_groups,
)
from scoring.estimates import Estimate
from scoring.rankings import kendall_tau_b, roc_auc, superiority
from scoring.significance import (
    bootstrap_ci,
    cluster_bootstrap_ci,
    fisher_combined,
    holm,
    kendall_p,
    paired_bootstrap_ci,
    paired_t,
    permutation_p_tau,
    wilcoxon_signed_rank,
)

Input = Mapping[str, Any]
Answer = dict[str, Any]


# -- forms of input ----------------------------------------------------------------------------


class _Formula(ast.NodeVisitor):
    allowed = (
        ast.Expression,
        ast.BinOp,
        ast.UnaryOp,
        ast.IfExp,
        ast.Compare,
        ast.BoolOp,
        ast.Name,
        ast.Constant,
        ast.operator,
        ast.unaryop,
        ast.cmpop,
        ast.boolop,
        ast.expr_context,
    )

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, self.allowed):
            raise ValueError(f"a formula cannot hold {type(node).__name__}")
        super().generic_visit(node)


def evaluated(formula: str, variable: str, count: int) -> list[Any]:
    """The values of an arithmetic formula for variable = 0 to count - 1."""
    tree = ast.parse(re.sub(r"\bmod\b", "%", formula.strip()), mode="eval")
    _Formula().visit(tree)
    code = compile(tree, "formula", "eval")
    return [eval(code, {"__builtins__": {}}, {variable: i}) for i in range(count)]


def number(value: Any) -> Any:
    if isinstance(value, list):
        return [number(item) for item in value]
    if isinstance(value, str):
        return float(value)
    return value


def column(given: Input, params: Input, key: str) -> list[Any]:
    """One list of values: as given, in thirds, or by formula."""
    if f"{key}_in_thirds" in given:
        return [value / 3 for value in given[f"{key}_in_thirds"]]
    if "generator" in given and key not in given:
        count = int(re.search(r"\.\.\s*(\d+)", given["generator"])[1]) + 1
        formula = re.search(
            rf"\b{key}_i\s*=\s*(.*?)(?:,\s*\w+_i\s*=|,\s*i\s*=|$)", given["generator"]
        )
        return evaluated(formula[1], "i", count)
    return number(given[key]) if params.get("coerce") == "number" else list(given[key])


def ratings(given: Input, params: Input) -> list[list[Any]]:
    """Rows raters, columns units."""
    if "generator" in given:
        count = int(re.search(r"(\d+)\s+units", given["generator"])[1])
        formulas = re.findall(r"rater\d+\s*=\s*(.*?)(?=,\s*rater\d+\s*=|$)", given["generator"])
        return [evaluated(formula, "u", count) for formula in formulas]
    if "records" in given:
        rows = ratings_of(tuple(record) for record in given["records"])
    elif "units" in given:
        most = max(len(unit) for unit in given["units"])
        padded = [[*unit, *[None] * (most - len(unit))] for unit in given["units"]]
        rows = [list(row) for row in zip(*padded, strict=True)]
    else:
        rows = [list(row) for row in given["ratings"]]
        if "units" in given.get("orientation", ""):
            rows = [list(row) for row in zip(*rows, strict=True)]
    return number(rows) if params.get("coerce") == "number" else rows


def categories(given: Input, params: Input, rows: list[list[Any]] | None = None) -> list[Any]:
    declared = params.get("categories") or given.get("categories")
    if declared:
        return list(declared)
    return list(range(len(given["table"]))) if "table" in given else seen_labels(rows or [])


# -- agreement ---------------------------------------------------------------------------------


def alpha(given: Input, params: Input) -> Estimate:
    level = params.get("level", "nominal")
    if "table" in given:
        return alpha_of_counts(
            counts_of_table(given["table"]), categories(given, params), level=level
        )
    return krippendorff_alpha(
        ratings(given, params), level=level, categories=params.get("categories")
    )


def cohen(given: Input, params: Input) -> Estimate:
    weights = params.get("weights")
    if "table" in given:
        names = categories(given, params)
        return cohen_kappa_of_table(given["table"], categories=names, weights=weights)
    rows = ratings(given, params)
    return cohen_kappa(*rows, categories=categories(given, params, rows), weights=weights)


def fleiss(given: Input, params: Input) -> Estimate:
    weights = params.get("weights")
    if "counts" in given:
        return fleiss_kappa(given["counts"], categories=params.get("categories"), weights=weights)
    rows = ratings(given, params)
    names = categories(given, params, rows)
    return fleiss_kappa(counts_of(rows, names), categories=names, weights=weights)


def gwet(given: Input, params: Input) -> Estimate:
    settings = {
        "weights": params.get("weights") or "identity",
        "confidence": params.get("confidence", 0.95),
    }
    if "table" in given:
        return gwet_ac_of_table(given["table"], categories=categories(given, params), **settings)
    if "counts" in given:
        cells = given["counts"]
        names = params.get("categories") or list(range(len(cells[0])))
        return gwet_ac_of_counts(np.asarray(cells), categories=names, **settings)
    rows = ratings(given, params)
    return gwet_ac(rows, categories=categories(given, params, rows), **settings)


def raw(given: Input, params: Input) -> Estimate:
    if "table" in given:
        cells = [(i, j) for i, row in enumerate(given["table"]) for j in range(len(row))]
        pairs = [cell for cell in cells for _ in range(given["table"][cell[0]][cell[1]])]
        given = {"ratings": [list(side) for side in zip(*pairs, strict=True)]}
    return raw_agreement(ratings(given, params), pooling=params.get("pooling", "item_mean"))


# -- intervals and tests -----------------------------------------------------------------------


def bootstrap(given: Input, params: Input) -> Estimate:
    settings = {
        "confidence": params.get("confidence", 0.95),
        "resamples": params.get("resamples", 10_000),
    }
    if "clusters" in given:
        return cluster_bootstrap_ci(given["clusters"], **settings)
    statistic = params.get("statistic", "mean")
    return bootstrap_ci(column(given, params, "values"), statistic=statistic, **settings)


def paired_bootstrap(given: Input, params: Input) -> Estimate:
    a, b = (column(given, params, key) for key in ("a", "b"))
    settings = {key: params[key] for key in ("confidence", "resamples") if key in params}
    return paired_bootstrap_ci(a, b, **settings)


def pair_of(given: Input, params: Input) -> tuple[list[Any], list[Any]]:
    keys = ("x", "y") if {"x", "x_in_thirds", "generator"} & set(given) else ("a", "b")
    return column(given, params, keys[0]), column(given, params, keys[1])


def differences_of(given: Input, params: Input) -> list[float]:
    if "d" in given or "d_in_thirds" in given:
        return column(given, params, "d")
    return [a - b for a, b in zip(*pair_of(given, params), strict=True)]


def wilcoxon(given: Input, params: Input) -> Estimate:
    if params.get("zero_method", "wilcox") != "wilcox":
        raise ValueError("zeros are dropped; no other zero method is offered")
    rows = differences_of(given, params)
    method = {"exact_permutation": "exact"}.get(params.get("method"), params.get("method", "auto"))
    return wilcoxon_signed_rank(
        rows,
        alternative=params.get("alternative", "greater"),
        method=method,
        correction=bool(params.get("correction", False)),
    )


def student(given: Input, params: Input) -> Estimate:
    rows = differences_of(given, params)
    return paired_t(rows, [0] * len(rows), alternative=params.get("alternative", "greater"))


def permutation(given: Input, params: Input) -> Estimate:
    draws = None if params.get("exhaustive", True) else params.get("draws", 10_000)
    alternative = params.get("alternative", "greater")
    return permutation_p_tau(*pair_of(given, params), alternative=alternative, draws=draws)


def adjusted(given: Input, params: Input) -> Answer:
    found = holm(given["p"])
    empty = all(p is None for p in given["p"])
    return {"adjusted": found, "value": found, "reason": "no_p_values" if empty else ""}


def tau_p(given: Input, params: Input) -> Estimate:
    alternative = params.get("alternative", "two-sided")
    return kendall_p(*pair_of(given, params), alternative=alternative)


# -- study statistics --------------------------------------------------------------------------


def grouped_rows(given: Input, params: Input) -> list[tuple[str, Any, Any]]:
    coerce = params.get("coerce") == "number"
    return [(g, k, number(rating) if coerce else rating) for g, k, rating in given["rows"]]


def tau_grouped(given: Input, params: Input) -> Estimate:
    return tau_b_within_groups(
        grouped_rows(given, params), aggregate=params.get("aggregate", "mean")
    )


def labels_of(given: Input) -> list[Any]:
    named = [label for side in ("true", "pred") for unit in given[side] for label in unit]
    return list(given.get("labels") or dict.fromkeys(named))


def per_type(given: Input, params: Input) -> Answer:
    found = per_label(given["true"], given["pred"], labels_of(given))
    rows = {str(label): row.as_dict() for label, row in found.items()}
    return {"per_type": rows, "f1_list": [row["f1"] for row in rows.values()]}


def prf(given: Input, params: Input) -> Estimate:
    counts = given["counts"]
    return precision_recall_f1(counts["tp"], counts["fp"], counts["fn"], counts.get("tn"))


def onset(given: Input, params: Input) -> Estimate:
    return onset_agreement(given["annotated"], given["fork"])


Statistic = Callable[[Input, Input], Any]


def _as_answer(function: Statistic) -> Callable[[Input, Input], Answer]:
    def answer(given: Input, params: Input) -> Answer:
        found = function(given, params)
        return found.as_dict() if isinstance(found, Estimate) else found

    return answer


STATISTICS: dict[str, Callable[[Input, Input], Answer]] = {
    name: _as_answer(function)
    for name, function in {
        "krippendorff_alpha": alpha,
        "cohen_kappa": cohen,
        "fleiss_kappa": fleiss,
        "fleiss_kappa_weighted": fleiss,
        "gwet_ac1": gwet,
        "gwet_ac2": gwet,
        "raw_agreement": raw,
        "wilson_ci": lambda g, p: wilson(g["k"], g["n"], confidence=p.get("confidence", 0.95)),
        "bootstrap_ci": bootstrap,
        "paired_bootstrap_ci": paired_bootstrap,
        "wilcoxon_signed_rank": wilcoxon,
        "paired_t": student,
        "permutation_p_tau": permutation,
        "holm": adjusted,
        "fisher_combined": lambda g, p: fisher_combined(g["p"]),
        "kendall_tau_b": lambda g, p: kendall_tau_b(*pair_of(g, p)),
        "kendall_tau_b_p": tau_p,
        "kendall_tau_b_grouped": tau_grouped,
        "prob_superiority": lambda g, p: superiority(*pair_of(g, p)),
        "prob_superiority_grouped": lambda g, p: superiority_within_groups(grouped_rows(g, p)),
        "roc_auc_binary": lambda g, p: roc_auc(g["y_true"], g["signal"]),
        "onset_difference": onset,
        "label_set_agreement": lambda g, p: label_set_agreement(g["true"], g["pred"], labels_of(g)),
        "precision_recall_f1": prf,
        "precision_recall_f1_per_type": per_type,
    }.items()
}


def _interval_if_two(answer: Answer, right: Input) -> Answer:
    return {**answer, "value": answer["ci"]} if isinstance(right.get("value"), list) else answer


BUG_VALUES: dict[str, Callable[[Answer, Input], Answer]] = {
    # A bug case names one `value`; where the answer has several, this says which it means.
    "bootstrap_ci": _interval_if_two,
    "paired_bootstrap_ci": _interval_if_two,
    "wilson_ci": _interval_if_two,
    "label_set_agreement": lambda answer, right: {
        **answer,
        "value": [answer["mean_jaccard"], answer["exact_match"]]
        if isinstance(right.get("value"), list)
        else answer["value"],
    },
    "onset_difference": lambda answer, right: {**answer, "value": answer["within_1"]},
}
