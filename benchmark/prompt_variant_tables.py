"""The stress test of prompt variants as tables: rates, types, differences, effects of axes."""

from __future__ import annotations

from typing import Any

from annotation.figure_tables import Column, Drawn, Figure
from annotation.label_intervals import share
from benchmark.label_records import TYPES
from benchmark.prompt_variants import Table, differences, mcnemar, turned
from scoring.estimates import undefined
from scoring.significance import holm

NO_ANSWER = "no answer could be read"
NO_POSITIVE = "no answer names a type"
SEVERAL_PAIRS = "several pairs of prompts share the runs, so the interval stands alone"
ONE_JUDGE = "a comparison needs two judges of one model"
AXIS_COLUMNS = (
    Column("axis", "Axis"),
    Column("change", "Change"),
    Column("model", "Model"),
)


def figures(table: Table) -> list[Figure]:
    """Rates, type mix, differences to the base, and what each axis changes."""
    return [
        rates_figure(table),
        types_figure(table),
        differences_figure(table),
        axes_figure(table),
        axis_types_figure(table),
    ]


def _prompt_columns(table: Table) -> list[Column]:
    return [
        Column("judge", "Judge"),
        Column("model", "Model"),
        Column("prompt", "Prompt"),
        *(Column(f"axis_{axis}", axis.replace("_", " ").capitalize()) for axis in table.axes),
    ]


def _prompt_cells(table: Table, place: int) -> dict[str, Any]:
    judge = table.judges[place]
    levels = {f"axis_{axis}": judge.variant.get(axis, "–") for axis in table.axes}
    about = {"judge": judge.name, "model": judge.model or "–", "prompt": judge.prompt}
    return about | {key: level.replace("_", " ") for key, level in levels.items()}


def rates_figure(table: Table) -> Figure:
    """How often each judge finds a hallucination, and how many answers could not be read."""
    rows = []
    for place, judge in enumerate(table.judges):
        n, yes = int(table.answered[place].sum()), int(table.present[place].sum())
        rows.append(
            _prompt_cells(table, place)
            | {
                "base": "base" if table.bases[table.model(place)] == place else "–",
                "answered": n,
                "rejected": judge.rejected,
                "positive": yes,
                "rate": share(yes, n, NO_ANSWER),
            }
        )
    return Figure(
        "rates",
        "How often a hallucination is found",
        [
            *_prompt_columns(table),
            Column("base", "Base"),
            Column("answered", "Answers read", "count"),
            Column("rejected", "Not readable", "count"),
            Column("positive", "Yes", "count"),
            Column("rate", "Rate", "estimate", percent=True),
        ],
        rows,
        len(table.runs),
        note="Each rate is over the judge's own answers, with Wilson's interval.",
        reason="" if rows else NO_ANSWER,
        drawn=Drawn("points", "judge", "rate"),
    )


def types_figure(table: Table) -> Figure:
    """The share of each type among the answers that name types."""
    rows = []
    for place in range(len(table.judges)):
        naming = table.types[place].any(axis=1)
        n = int(naming.sum())
        for number, name in enumerate(TYPES):
            times = int(table.types[place, :, number].sum())
            about = _prompt_cells(table, place) | {"type": name, "times": times}
            rows.append(about | {"share": share(times, n, NO_POSITIVE)})
    return Figure(
        "types",
        "Which types are named",
        [
            *_prompt_columns(table),
            Column("type", "Type"),
            Column("times", "Times", "count"),
            Column("share", "Share of answers that name types", "estimate", percent=True),
        ],
        rows,
        len(table.runs),
        note="An answer can name several types, so the shares of a judge can add up to over 100 %.",
        reason="" if rows else NO_POSITIVE,
        drawn=Drawn("heat", "type", "share", "judge"),
    )


def differences_figure(table: Table) -> Figure:
    """Each judge against the base of its model, on the runs both have answered."""
    rows = []
    for place in range(len(table.judges)):
        base = table.bases[table.model(place)]
        if base == place:
            continue
        only_this, only_base = turned(table, [(base, place)])
        about = _prompt_cells(table, place) | {
            "changed": ", ".join(table.differing(base, place)).replace("_", " ") or "–",
            "only_base": only_base,
            "only_this": only_this,
        }
        (found,) = differences(table, [(base, place)], table.present[..., None], table.answered)
        rows.append(about | {"difference": found, "p": mcnemar(only_base, only_this)})
    for row, p in zip(rows, holm([row["p"].value for row in rows]), strict=True):
        row["holm"] = p
    return Figure(
        "differences",
        "What changes against the base",
        [
            *_prompt_columns(table),
            Column("changed", "Differs on"),
            Column("only_base", "Yes of the base only", "count"),
            Column("only_this", "Yes of this only", "count"),
            Column("difference", "Difference of rates", "estimate"),
            Column("p", "p (McNemar, exact)", "estimate"),
            Column("holm", "p (Holm)", "number"),
        ],
        rows,
        len(table.runs),
        note="This minus the base, on the runs both have answered; intervals from whole questions "
        f"drawn {table.resamples:,} times. Holm's p counts all rows.",
        reason="" if rows else ONE_JUDGE,
        drawn=Drawn("points", "judge", "difference"),
    )


def axes_figure(table: Table) -> Figure:
    """What an axis changes, over all pairs of prompts that differ on it alone."""
    rows = []
    for axis in table.axes:
        for (model, level, to), pairs in table.pairs(axis).items():
            (found,) = differences(table, pairs, table.present[..., None], table.answered)
            up, down = turned(table, pairs)
            p = mcnemar(down, up) if len(pairs) == 1 else undefined(SEVERAL_PAIRS, n=down + up)
            rows.append(
                _axis_cells(table, axis, model, level, to)
                | {"pairs": len(pairs), "up": up, "down": down, "difference": found, "p": p}
            )
    return Figure(
        "axes",
        "What each axis changes",
        [
            *AXIS_COLUMNS,
            Column("pairs", "Pairs of prompts", "count"),
            Column("down", "Yes before the change only", "count"),
            Column("up", "Yes after it only", "count"),
            Column("difference", "Difference of rates", "estimate"),
            Column("p", "p (McNemar, exact)", "estimate"),
        ],
        rows,
        len(table.runs),
        note="All pairs of prompts that differ on this axis alone, on the runs both have answered.",
        reason="" if rows else ONE_JUDGE,
        drawn=Drawn("points", "change", "difference", "model" if len(table.bases) > 1 else ""),
    )


def _axis_cells(table: Table, axis: str, model: str, level: str, to: str) -> dict[str, Any]:
    """Of several models the axis is named with its model: a chart tells its marks apart by it."""
    name = axis.replace("_", " ")
    return {
        "axis": f"{model}: {name}" if len(table.bases) > 1 else name,
        "change": f"{name}: {level or '–'} to {to or '–'}".replace("_", " "),
        "model": model,
    }


def axis_types_figure(table: Table) -> Figure:
    """How an axis changes the share of runs that each type is named of."""
    rows = []
    for axis in table.axes:
        for (model, level, to), pairs in table.pairs(axis).items():
            found = differences(table, pairs, table.types, table.typed)
            rows += [
                _axis_cells(table, axis, model, level, to)
                | {"type": name, "difference": difference}
                for name, difference in zip(TYPES, found, strict=True)
            ]
    return Figure(
        "axis-types",
        "Which types an axis brings or takes away",
        [
            *AXIS_COLUMNS,
            Column("type", "Type"),
            Column("difference", "Difference in the share of runs", "estimate"),
        ],
        rows,
        len(table.runs),
        note="Answers that find something and name no type are left out here.",
        reason="" if rows else ONE_JUDGE,
        drawn=Drawn("points", "type", "difference", "axis"),
    )
