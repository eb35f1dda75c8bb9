"""The plan of a study of agent runs, as its page shows it."""

from __future__ import annotations

from typing import Any

from annotation import run_plan_tables, run_planning
from annotation.models import Study

# More models than this are no table that anybody reads.
MOST_COLUMNS = 12


def tables(study: Study, drawn: run_planning.RunsPlan) -> dict[str, Any]:
    """Numbers and tables of a drawn plan."""
    rows = drawn.rows
    seats = run_plan_tables.by_seat(rows)
    lines = run_plan_tables.by_model(rows)
    models = run_plan_tables.models_of(rows)
    asked, reached = study.design.get("per_item"), study.design.get("judges_per_run")
    return {
        "judge": study.judge,
        "n_runs": sum(line.runs for line in lines),
        "n_answered": sum(line.answered for line in lines),
        "n_judgements": len(rows),
        "judged": run_plan_tables.judged_times(rows),
        "by_model": lines,
        "models": models,
        "by_question": run_plan_tables.by_question(rows) if len(models) <= MOST_COLUMNS else [],
        "exposure": run_plan_tables.exposure(rows, len(seats)),
        "seats": seats,
        "per_item": asked,
        "fewer_judges": reached if asked and reached and reached < asked else None,
        "left_out": study.design.get("left_out", 0),
        "n_simulated": study.design.get("n_simulated", 0),
    }
