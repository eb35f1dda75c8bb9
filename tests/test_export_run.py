"""`manage.py export_run`: a run as a folder whose script computes every number of it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from scoring import runs
from scoring.models import Run

ROOT = Path(__file__).resolve().parents[1]
# One interpreter runs the scripts of all folders, as `python FOLDER/reproduce.py` would.
RUN_ALL = """
import contextlib, io, json, runpy, sys
found = {}
for folder in sys.argv[1:]:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(f"{folder}/reproduce.py", run_name="__main__")
        except SystemExit as end:
            code = end.code
    found[folder] = [code, said.getvalue()]
print(json.dumps([found, sorted({"django", "celery"} & set(sys.modules))]))
"""
KINDS = {
    "task1": {"method": "flow_kl", "encoder": "lexical"},
    "task1-control": {"method": "turn_count"},
    "surprisal": {"encoder": "lexical"},
    "task2": {"method": "flow_score", "encoder": "lexical"},
    "task2-theta": {"method": "discounted_alignment", "encoder": "lexical"},
    "task2-full": {"method": "full", "encoder": "lexical"},
    "task3": {"method": "ngram_it", "order": 2, "node_confidence": True, "encoder": "lexical"},
    "task3-novelty": {"method": "novelty", "encoder": "lexical"},
    "task3-aware": {"method": "workflow_aware", "other_workflows": True, "encoder": "lexical"},
    "task3-random": {"method": "random_turn", "seed": 5},
}


def reproduced(*folders: Path) -> tuple[dict[str, list], list[str]]:
    """[exit code, output] per folder, and the frameworks that were imported."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, *map(str, folders)],
        env=environment,
        cwd=folders[0],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def finished(forks, kind: str, parameters: dict) -> Run:
    return runs.work_through(runs.start(kind, [forks], parameters))


def exported(run: Run, folder: Path) -> Path:
    call_command("export_run", run.pk, out=folder)
    return folder


@pytest.fixture
def few_resamples(monkeypatch):
    """Resamples are a parameter of a run; the numbers come out again with any number of them."""
    for name in ("fork_sets", "fork_distances", "onsets", "comparisons", "turn_surprisals"):
        monkeypatch.setattr(f"scoring.{name}.RESAMPLES", 40)
    monkeypatch.setattr("scoring.fork_sets.SOURCE_RESAMPLES", 10)


def test_every_number_of_every_kind_comes_out_again_without_a_database(
    forked, few_resamples, tmp_path, capsys
):
    folders, rows = {}, {}
    for name, parameters in KINDS.items():
        run = finished(forked, name.split("-")[0], parameters)
        folders[name] = exported(run, tmp_path / name)
        stored = (run.scores, run.set_distances, run.onset_answers, run.results)
        stored += (run.flow_graphs, run.calibrations)
        rows[name] = sum(each.count() for each in stored)
    for task in ("task1", "task2", "task3"):
        members = Run.objects.filter(kind=task).order_by("pk")[:2].values_list("pk", flat=True)
        given = {"task": task, "reference": members[0], "baselines": [members[1]]}
        run = finished(forked, "comparison", given)
        name = f"comparison-{task}"
        folders[name] = exported(run, tmp_path / name)
        rows[name] = run.results.count()
    assert all(rows.values())
    tampered = exported(Run.objects.get(kind="surprisal"), tmp_path / "tampered")
    lines = (tampered / "numbers.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["fields"]["value"] += 0.001
    (tampered / "numbers.jsonl").write_text("\n".join([json.dumps(first), *lines[2:]]) + "\n")

    found, frameworks = reproduced(*folders.values(), tampered)
    assert frameworks == []
    for name, folder in folders.items():
        code, said = found[str(folder)]
        assert (code, said.startswith(f"OK: {rows[name]} rows")) == (0, True), (name, said)
    code, said = found[str(tampered)]
    assert code == 1
    assert f"{' '.join(first['key'])}, value: " in said and "recomputed, but not stored" in said
    assert "2 differences" in said


def test_the_folder_holds_inputs_parameters_and_numbers(forked, tmp_path, capsys):
    run = finished(forked, "task2", KINDS["task2"])
    call_command("export_run", run.pk, out=tmp_path / "run", json=True)
    counts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert counts["dialogues"] == 68 and counts["numbers"] == 64 + run.results.count()
    assert counts["workflows"] == 1
    vectors = np.load(tmp_path / "run" / "vectors.npy")
    assert vectors.shape == (counts["texts"], 512) and vectors.dtype == np.float32
    described = json.loads((tmp_path / "run" / "run.json").read_text())
    assert described["parameters"] == run.parameters and described["digest"] == run.digest
    script = (tmp_path / "run" / "reproduce.py").read_text()
    assert "django" not in script and len(script.splitlines()) < 150


def test_only_a_finished_run_and_a_new_folder_will_do(forked, tmp_path, capsys):
    run = runs.start("task2", [forked], {"method": "word_difference"})
    with pytest.raises(CommandError, match="Only a run that is done"):
        exported(run, tmp_path / "open")
    runs.work_through(run)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("mine")
    with pytest.raises(CommandError, match="not an empty folder"):
        exported(run, tmp_path / "taken")
    assert (tmp_path / "taken" / "thesis.txt").read_text() == "mine"
    for number in (999_999, 0, 2**80):
        with pytest.raises(CommandError, match="There is no run"):
            call_command("export_run", number, out=tmp_path / "none")
    with pytest.raises(CommandError, match="cannot be written"):
        exported(run, Path("/dev/null/run"))
