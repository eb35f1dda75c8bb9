"""What raters say of runs goes into a release and comes back, and publishing again is the same."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Assignment,
    Item,
    JudgeComparison,
    Review,
    RevisedReview,
    Seat,
    Skip,
    StepTime,
    Study,
)
from benchmark.importing import import_records, import_release
from benchmark.label_records import PERSON, LabelRecord, PlaceRecord, SignalRecord
from benchmark.labelling import store_label
from benchmark.models import Corpus, JudgeAnswer, JudgePrompt, LabelSet, Rater, Release, Trajectory
from benchmark.records import BadRecord, StepRecord, TrajectoryRecord
from benchmark.release_tables import TABLES
from benchmark.releasing import ReleaseRefused, publish

pytestmark = pytest.mark.django_db
DATA = [f"{name}.{end}" for name in TABLES for end in ("jsonl", "parquet")]


def rows(folder, table):
    return [json.loads(line) for line in (folder / f"{table}.jsonl").read_text().splitlines()]


def run_record(name, **changes):
    steps = tuple(StepRecord(n, "sensors", f"thought {n}", f"read({n})", "21") for n in (1, 2, 3))
    values = {"model": "m-1", "question": "7", "expected": "bed 4", "response": "bed 5"}
    signals = (SignalRecord("task_completion", False, "j-1"), SignalRecord("odd", None))
    return TrajectoryRecord(name, "Which bed?", steps, **values | changes, signals=signals)


def answer(run, rater, raw, label=None, trial=1):
    labels = store_label(run, label, rater=rater) if label else None
    return JudgeAnswer.objects.create(
        trajectory=run,
        rater=rater,
        trial=trial,
        raw=raw,
        digest=hashlib.sha256(raw.encode()).hexdigest(),
        status="read" if label else "rejected",
        reason="" if label else "is no JSON",
        labels=labels,
    )


@pytest.fixture
def studied():
    """Three runs: one reviewed, compared and revised, one skipped, one nobody looked at."""
    corpus = Corpus.objects.create(slug="runs", title="Runs", licence="CC BY 4.0")
    published = LabelRecord("published", True, places=(PlaceRecord(2),), rationale="no reading")
    import_records(
        corpus,
        "trajel",
        [run_record("a", labels=(published,)), run_record("b"), run_record("c")],
    )
    a, b, _ = Trajectory.objects.order_by("external_id")
    prompt = JudgePrompt.objects.create(
        name="plain", version=2, text="Judge {task}", digest="d", variant={"specificity": "low"}
    )
    judge = Rater.objects.create(name="j-1", kind="judge", model="m-9", prompt=prompt)
    said = LabelRecord(
        "j-1", True, ("factual",), places=(PlaceRecord(3, "observation"),), kind="judge"
    )
    shown = answer(a, judge, '{"hallucinations": true}', said)
    answer(b, judge, "sorry")
    study = Study.objects.create(
        slug="look", title="Look", seed=5, kind="runs", judge=judge, state="closed"
    )
    study.corpora.add(corpus)
    seat = Seat.objects.create(study=study, number=1, state="finished")
    items = [
        Item.objects.create(study=study, trajectory=a, judge_answer=shown),
        Item.objects.create(study=study, trajectory=b),
    ]
    first, second = (
        Assignment.objects.create(seat=seat, item=item, rank=rank, finished_at=timezone.now())
        for rank, item in enumerate(items, start=1)
    )
    mine = {"rater": seat.pseudonym, "kind": PERSON}
    labels = store_label(a, LabelRecord(present=False, stage="review", **mine))
    review = Review.objects.create(assignment=first, labels=labels)
    comparison = JudgeComparison.objects.create(
        review=review, answer=shown, agreement="disagree", on_presence=True, changed=True
    )
    revised = LabelRecord(
        present=True,
        types=("scope",),
        flags=("target_change",),
        places=(PlaceRecord(3, "thought", "scope", "propagated", evidence=1), PlaceRecord(None)),
        stage="revision",
        post_reveal=True,
        **mine,
    )
    RevisedReview.objects.create(comparison=comparison, labels=store_label(a, revised))
    Skip.objects.create(assignment=second, reason="cut_off")
    opened = timezone.now()
    StepTime.objects.create(
        assignment=first,
        step="review",
        opened_at=opened,
        submitted_at=opened + timedelta(seconds=90),
        active_ms=60_000,
    )
    return corpus


def test_a_release_holds_what_every_rater_says(studied, tmp_path):
    manifest = publish(studied, "1.0", tmp_path / "out")
    counts = manifest["counts"]
    names = ("trajectories", "signals", "prompts", "raters", "labels", "judge_answers", "reviews")
    assert [counts[name] for name in names] == [3, 6, 1, 3, 4, 2, 2]
    pseudonym = Seat.objects.get().pseudonym
    by_stage = {(r["rater"], r["stage"]): r for r in rows(tmp_path / "out", "labels")}
    assert set(by_stage) == {
        *(("published", ""), ("j-1", ""), (pseudonym, "review"), (pseudonym, "revision"))
    }
    assert by_stage[pseudonym, "revision"]["places"][1] == {
        **{"step": 3, "component": "thought", "type": "scope", "cause": "propagated"},
        "evidence": 1,
    }
    reviewed, skipped = rows(tmp_path / "out", "reviews")
    assert (reviewed["judge"], reviewed["agreement"], reviewed["revised"]) == (
        "j-1",
        "disagree",
        True,
    )
    assert (reviewed["review_wall_ms"], reviewed["review_active_ms"]) == (90_000, 60_000)
    assert (skipped["skipped"], skipped["reviewed"], skipped["agreement"]) == (
        "cut_off",
        False,
        None,
    )
    (study,) = manifest["studies"]
    assert (study["kind"], study["judge"], study["annotators"]) == ("runs", "j-1", 1)
    assert "Labels of runs" in (tmp_path / "out" / "README.md").read_text()


def test_it_comes_back_whole_and_is_published_the_same(studied, tmp_path):
    publish(studied, "1.0", tmp_path / "out")
    erase_all()
    again = Corpus.objects.create(slug="elsewhere", title="")
    report = import_release(again, tmp_path / "out")
    assert report.rejected == []
    assert (report.new, report.annotations["new"]) == (3, 2)
    assert report.labels["judge answers: new"] == 2
    assert Study.objects.get().judge.name == "j-1"
    assert Review.objects.get().comparison.revision.labels.stage == "revision"
    assert JudgeAnswer.objects.get(status="rejected").reason == "is no JSON"
    publish(Corpus.objects.get(slug="elsewhere"), "1.0", tmp_path / "again")
    for name in DATA:
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_importing_it_a_second_time_changes_nothing(studied, tmp_path):
    publish(studied, "1.0", tmp_path / "out")
    erase_all()
    corpus = Corpus.objects.create(slug="elsewhere", title="")
    import_release(corpus, tmp_path / "out")
    report = import_release(corpus, tmp_path / "out")
    assert (report.new, report.unchanged, report.rejected) == (0, 3, [])
    assert report.annotations == {"unchanged": 2}
    assert report.labels["judge answers: unchanged"] == 2
    assert (LabelSet.objects.count(), Assignment.objects.count()) == (4, 2)


def test_a_prompt_with_other_words_here_refuses_the_release(studied, tmp_path):
    publish(studied, "1.0", tmp_path / "out")
    erase_all()
    JudgePrompt.objects.create(name="plain", version=2, text="other", digest="x")
    with pytest.raises(BadRecord, match="plain version 2 is here with other words"):
        import_release(Corpus.objects.create(slug="elsewhere", title=""), tmp_path / "out")
    assert not Trajectory.objects.exists()


def test_a_label_of_a_rater_who_is_not_told_of_is_rejected(studied, tmp_path):
    out = tmp_path / "out"
    publish(studied, "1.0", out)
    erase_all()
    reword(out, "raters.jsonl", '"name": "published"', '"name": "nobody"')
    report = import_release(Corpus.objects.create(slug="elsewhere", title=""), out)
    assert any("'published'" in bad.reason for bad in report.rejected)


def test_a_prompt_that_no_page_could_link_is_refused(studied, tmp_path):
    out = tmp_path / "out"
    publish(studied, "1.0", out)
    erase_all()
    reword(out, "prompts.jsonl", '"name": "plain"', '"name": "plain / words"')
    with pytest.raises(BadRecord, match="letters, digits, - and _ only; it is 'plain / words'"):
        import_release(Corpus.objects.create(slug="elsewhere", title=""), out)
    assert not Trajectory.objects.exists() and not JudgePrompt.objects.exists()


def test_an_open_study_of_runs_keeps_its_corpus_unpublished(studied, tmp_path):
    Study.objects.update(state="open")
    with pytest.raises(ReleaseRefused, match="look is open"):
        publish(studied, "1.0", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert publish(studied, "1.0", tmp_path / "out", reveal=True)["counts"]["reviews"] == 2


def test_more_runs_cost_a_release_no_more_queries(studied, tmp_path):
    def queries(name):
        with CaptureQueriesContext(connection) as asked:
            publish(studied, name, tmp_path / name)
        return len(asked)

    before = queries("1.0")
    import_records(studied, "trajel", [run_record(f"more-{n}") for n in range(20)])
    assert queries("1.1") == before


def reword(folder, name, old, new):
    """Change a file of a release, and what its manifest says of it."""
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text := text.replace(old, new))
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    manifest["files"][name]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "MANIFEST.json").write_text(json.dumps(manifest))


def erase_all():
    """An empty database, as far as runs go."""
    for model in (RevisedReview, JudgeComparison, Review, Skip, StepTime, Assignment, Item, Seat):
        model.objects.all().delete()
    Study.objects.all().delete()
    Release.objects.all().delete()
    Corpus.objects.all().delete()
    Rater.objects.all().delete()
    JudgePrompt.objects.all().delete()
