"""The direction of imports: pure files know no Django, models know no services, and so on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
APPS = {"benchmark", "annotation", "scoring", "dialfork_site"}
FRAMEWORKS = {"django", "rest_framework", "celery", "kombu", "psycopg", "drf_spectacular"}

SERVICES = {
    "benchmark/importing.py",
    "benchmark/generating.py",
    "benchmark/releasing.py",
    "benchmark/release_rows.py",
    "annotation/restoring.py",
    "benchmark/splitting.py",
    "benchmark/storing.py",
    "benchmark/labelling.py",
    "benchmark/run_filters.py",
    "benchmark/run_pages.py",
    "benchmark/judge_raters.py",
    "benchmark/prompt_variant_rows.py",
    "benchmark/judge_answer_imports.py",
    "benchmark/storing_trajectories.py",
    "benchmark/release_run_rows.py",
    "benchmark/restoring_labels.py",
    "annotation/release_reviews.py",
    "annotation/restoring_reviews.py",
    "benchmark/storing_dialogues.py",
    "annotation/enrolment.py",
    "annotation/answering.py",
    "annotation/judging.py",
    "annotation/review_answers.py",
    "annotation/review_drafts.py",
    "annotation/review_links.py",
    "annotation/reviewing.py",
    "annotation/run_words.py",
    "annotation/reports.py",
    "annotation/rehearsal.py",
    "annotation/study_pools.py",
    "annotation/study_drawing.py",
    "annotation/study_checks.py",
    "annotation/run_drawing.py",
    "annotation/run_studies.py",
    "annotation/run_disputes.py",
    "annotation/export_kinds.py",
    "annotation/run_export_rows.py",
    "annotation/run_rehearsal.py",
    "annotation/run_planning.py",
    "annotation/study_counts.py",
    "annotation/adjudicating.py",
    "annotation/announcing.py",
    "annotation/auditing.py",
    "annotation/commitment_checks.py",
    "annotation/commitments.py",
    "annotation/people.py",
    "annotation/seat_acts.py",
    "annotation/reopening.py",
    "annotation/crowd.py",
    "annotation/drafts.py",
    "annotation/export_items.py",
    "annotation/export_rows.py",
    "annotation/exporting.py",
    "annotation/invitations.py",
    "annotation/launching.py",
    "annotation/pay.py",
    "annotation/phases.py",
    "annotation/notices.py",
    "annotation/problems.py",
    "annotation/reaching.py",
    "annotation/planning.py",
    "annotation/practice.py",
    "annotation/practice_items.py",
    "annotation/questionnaires.py",
    "annotation/release_judgements.py",
    "annotation/report_rows.py",
    "annotation/seating.py",
    "annotation/step_times.py",
    "annotation/study_import_rows.py",
    "annotation/study_imports.py",
    "annotation/study_reports.py",
    "annotation/run_reports.py",
    "annotation/webhook_sending.py",
    "annotation/withdrawing.py",
    "scoring/embeddings.py",
    "scoring/encoding_claims.py",
    "scoring/stored_encoders.py",
    "scoring/vector_exchange.py",
    "scoring/runs.py",
    "scoring/run_signals.py",
    "scoring/seen_runs.py",
    "scoring/label_runs.py",
    "scoring/detector_boards.py",
    "scoring/run_kinds.py",
    "scoring/leases.py",
    "scoring/graph_layouts.py",
    "scoring/corpora.py",
    "scoring/comparisons.py",
    "scoring/compositions.py",
    "scoring/leaderboards.py",
    "scoring/fork_distances.py",
    "scoring/fork_sets.py",
    "scoring/onset_fits.py",
    "scoring/onsets.py",
    "scoring/workflow_knowledge.py",
    "scoring/turn_surprisals.py",
    "scoring/reproducing_inputs.py",
}
ENTRY_NAMES = {
    "tasks.py",
    "urls.py",
    "api.py",
    "admin.py",
    "apps.py",
    "forms.py",
    "review_forms.py",
    "serializers.py",
    "__init__.py",
}


def layer(path: str) -> int:
    """0 pure, 1 models, 2 services, 3 entry points."""
    parts = path.split("/")
    if parts[0] == "dialfork_site" or "views" in parts or "management" in parts:
        return 3
    if parts[1] == "models.py" or parts[1] == "models":
        return 1
    if path in SERVICES:
        return 2
    if parts[-1] in ENTRY_NAMES and "formats" not in parts and len(parts) == 2:
        return 3
    if "templatetags" in parts:
        return 3
    return 0


def modules() -> list[str]:
    found = []
    for app in ("benchmark", "annotation", "scoring"):
        for path in sorted((ROOT / app).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if "/migrations/" not in name and path.read_text().strip():
                found.append(name)
    return found


def imported(path: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def file_of(name: str) -> str | None:
    stem = name.replace(".", "/")
    for candidate in (f"{stem}.py", f"{stem}/__init__.py"):
        if (ROOT / candidate).is_file():
            return candidate
    return None


@pytest.mark.parametrize("path", modules())
def test_no_import_points_up(path):
    own = layer(path)
    for name in imported(path):
        top = name.split(".")[0]
        if own == 0:
            assert top not in FRAMEWORKS, f"{path} is pure but imports {name}"
        if top in APPS and (target := file_of(name)):
            assert layer(target) <= own or target.endswith("__init__.py"), (
                f"{path} (layer {own}) imports {target} (layer {layer(target)})"
            )


@pytest.mark.parametrize("path", modules())
def test_benchmark_knows_neither_scoring_nor_annotation(path):
    if not path.startswith("benchmark/") or layer(path) == 3:
        return
    if path in {"benchmark/releasing.py", "benchmark/importing.py"}:
        return
    pure_ok = {name for name in modules() if layer(name) == 0}
    for name in imported(path):
        if name.split(".")[0] in {"scoring", "annotation"} and (target := file_of(name)):
            if name in {"scoring", "annotation"}:
                continue  # the package itself, of `from scoring import a_pure_file`
            assert layer(path) in {0, 2} and target in pure_ok, f"{path} imports {target}"


@pytest.mark.parametrize("path", modules())
def test_scoring_and_annotation_meet_only_in_entry_points(path):
    if layer(path) not in {1, 2}:
        return
    other = {"scoring": "annotation", "annotation": "scoring"}.get(path.split("/")[0])
    for name in imported(path):
        if name.split(".")[0] == other and (target := file_of(name)):
            assert layer(target) == 0, f"{path} imports {target}"
