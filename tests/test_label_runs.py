"""Detectors of agent runs as scoring runs: planned by fold, resumed, summed up, refused."""

from __future__ import annotations

import pytest

from benchmark.label_records import (
    JUDGE,
    PERSON,
    PUBLISHED,
    LabelRecord,
    PlaceRecord,
    SignalRecord,
)
from benchmark.labelling import store_labels, store_signals
from benchmark.models import Corpus, LabelSet, Trajectory, TrajectoryStep
from scoring import encoders, label_runs, leases, runs, seen_runs
from scoring.models import Chunk, Run, RunResult, TrajectoryScore
from scoring.roc_areas import ONE_CLASS
from scoring.run_kinds import planned
from scoring.trajectory_methods import LABEL_METHODS

TRUTH = "published-truth"
STEPS = {"method": "step_classifier", "encoder": "lexical", "truth": TRUTH}
ODD = "Invented: the moon reactor exploded yesterday."


def make_runs(slug="agent-runs", n=24, *, questions=8, labelled=None, odd=ODD):
    """`n` runs of two models over `questions`; every second one has an odd second step."""
    corpus = Corpus.objects.create(slug=slug, title=slug)
    rows = Trajectory.objects.bulk_create(
        Trajectory(
            corpus=corpus,
            format="messages",
            external_id=f"run-{number}",
            digest=f"{number:064d}",
            task=f"How is pump {number % questions}?",
            model=f"model-{number // questions % 2}",
            question=f"Q{number % questions}",
            n_steps=3,
        )
        for number in range(n)
    )
    TrajectoryStep.objects.bulk_create(
        TrajectoryStep(
            trajectory=run,
            position=position,
            number=position,
            agent="A",
            thought=odd if number % 2 and position == 2 else f"Look at table {position}.",
        )
        for number, run in enumerate(rows)
        for position in (1, 2, 3)
    )
    kept = range(n) if labelled is None else labelled
    store_labels([(rows[number].pk, truth_of(number)) for number in kept])
    return corpus, rows


def truth_of(number, rater=TRUTH, **fields):
    if number % 2:
        places = (PlaceRecord(2, "thought", "referential"),)
        return LabelRecord(rater, True, types=("referential",), places=places, **fields)
    return LabelRecord(rater, False, **fields)


def done(corpus, **parameters):
    corpora = [corpus] if isinstance(corpus, Corpus) else corpus
    return runs.work_through(runs.start("labels", corpora, STEPS | parameters))


def figures(run):
    return {(row.statistic, row.group): row for row in run.results.all()}


def rows_of(run):
    scores = run.trajectory_scores.order_by("trajectory_id")
    return (
        list(scores.values_list("trajectory_id", "value", "reason", "detail", "steps")),
        list(run.results.order_by("statistic", "group").values_list("statistic", "group", "value")),
    )


def test_every_run_gets_a_score_and_the_run_its_figures(db):
    corpus, rows = make_runs()
    run = done(corpus)
    assert run.state == Run.State.DONE
    assert run.trajectory_scores.count() == len(rows)
    found = figures(run)
    assert found["auc", "all"].value == 1.0 and found["auc", "all"].n == 24
    assert found["auc", "all"].detail["questions"] == 8
    assert found["auc_by_type", "referential"].value == 1.0
    assert {group for name, group in found if name == "auc_by_model"} == {"model-0", "model-1"}
    assert found["step_auc", "all"].n == 72
    assert found["hit_at_1", "detector"].value == 1.0
    assert found["hit_at_1", "random step"].value == pytest.approx(1 / 3)
    assert found["mrr", "first step"].value == 0.5
    one = run.trajectory_scores.first()
    assert [position for position, _ in one.steps] == [1, 2, 3]


def test_each_part_is_a_fold_of_whole_questions(db):
    corpus, rows = make_runs()
    parts = [keys for keys, _ in planned("labels", [corpus], 5, label_runs.parameters(STEPS))]
    assert len(parts) == 5
    assert sorted(pk for keys in parts for pk in keys) == sorted(row.pk for row in rows)
    question = {row.pk: row.question for row in rows}
    homes = {}
    for place, keys in enumerate(parts):
        for pk in keys:
            assert homes.setdefault(question[pk], place) == place


def test_a_run_without_a_label_is_scored_and_counts_in_no_figure(db):
    corpus, _rows = make_runs(labelled=range(16))
    run = done(corpus)
    assert run.trajectory_scores.filter(value__isnull=False).count() == 24
    assert figures(run)["auc", "all"].n == 16


def test_a_killed_worker_doubles_nothing_and_the_run_ends_the_same(db):
    corpus, _ = make_runs()
    whole = rows_of(done(corpus))
    Run.objects.all().delete()
    run = runs.start("labels", [corpus], STEPS)
    first, second, *_ = run.chunks.order_by("ordinal")
    assert runs.score_chunk(first.pk)
    assert leases.claim(second.pk) is not None
    # The worker that held it is gone: another one frees the part and goes on.
    assert leases.sweep(boot="somewhere.1.else") == 1
    assert rows_of(runs.work_through(run)) == whole
    runs.finish(run)
    assert rows_of(run) == whole


def test_the_same_parameters_give_the_run_there_is_and_other_labels_another(db):
    corpus, rows = make_runs(labelled=range(20))
    run = done(corpus)
    assert runs.start("labels", [corpus], STEPS) == run
    assert runs.start("labels", [corpus], {**STEPS, "seed": 1}) != run
    store_labels([(rows[20].pk, truth_of(20))])
    assert runs.start("labels", [corpus], STEPS) != run


def test_labels_that_change_under_a_run_fail_it_with_the_reason(db):
    corpus, rows = make_runs(labelled=range(20))
    run = runs.start("labels", [corpus], STEPS)
    store_labels([(rows[20].pk, truth_of(20))])
    with pytest.raises(runs.RunFailed, match="runs or their labels changed"):
        runs.work_through(run)


def test_labels_of_raters_that_are_not_asked_change_nothing(db):
    corpus, rows = make_runs()
    before = seen_runs.scope_of([corpus], {"truth": TRUTH})
    store_labels([(rows[0].pk, LabelRecord("another", True, kind=JUDGE))])
    assert seen_runs.scope_of([corpus], {"truth": TRUTH}) == before


def test_one_class_has_no_area_but_a_ranking_of_steps(db):
    corpus, _rows = make_runs(labelled=[n for n in range(24) if n % 2])
    found = figures(done(corpus))
    area = found["auc", "all"]
    assert (area.value, area.reason, area.n) == (None, ONE_CLASS, 12)
    assert found["hit_at_1", "detector"].value == 1.0


def test_a_corpus_of_its_own_is_named_where_there_are_several(db):
    one, _ = make_runs("one", 12, questions=6)
    two, _ = make_runs("two", 12, questions=6)
    found = figures(done([one, two]))
    assert {group for name, group in found if name == "auc_by_corpus"} == {"one", "two"}
    hits = {group for name, group in found if name == "hit_at_1_by_corpus"}
    assert {"one: detector", "two: first step", "two: random step"} <= hits
    # The tasks have the same words, so both corpora have the same six questions.
    assert found["auc", "all"].detail["questions"] == 6


def test_a_judge_beside_the_text_is_read_and_its_signals_too(db):
    corpus, rows = make_runs()
    store_labels([(r.pk, truth_of(n, "umpire", kind=JUDGE)) for n, r in enumerate(rows)])
    store_signals([(rows[0].pk, SignalRecord("task_completion", True, "elsewhere"))])
    store_signals([(rows[1].pk, SignalRecord("task_completion", True, TRUTH))])
    seen = {run.key: run for run in seen_runs.seen_runs([corpus], truth=TRUTH, judge="umpire")}
    assert seen[rows[0].pk].signals == {"task_completion": True}
    assert seen[rows[1].pk].signals is None, "signals by the rater of the truth predict themselves"
    assert seen[rows[1].pk].judge.present
    run = done(corpus, method="judge_label", encoder=None, judge="umpire")
    assert figures(run)["auc", "all"].value == 1.0
    hybrid = done(corpus, method="judge_hybrid", judge="umpire", with_text=False)
    assert figures(hybrid)["auc", "all"].value == 1.0


def test_the_truth_may_be_what_most_people_say(db):
    corpus, rows = make_runs(labelled=[])
    pairs = [
        (row.pk, truth_of(number + (who == "c"), who, kind=PERSON))
        for number, row in enumerate(rows)
        for who in "abc"
    ]
    store_labels(pairs)
    assert seen_runs.truths([corpus]) == [
        (seen_runs.PEOPLE, 24), ("a", 24), ("b", 24), ("c", 24),
    ]  # fmt: skip
    seen = seen_runs.seen_runs([corpus], truth=seen_runs.PEOPLE)
    assert [run.present for run in sorted(seen, key=lambda run: run.key)] == [False, True] * 12
    assert figures(done(corpus, truth=seen_runs.PEOPLE))["auc", "all"].value == 1.0


def test_of_raters_with_as_many_labels_a_judge_comes_last(db):
    corpus, rows = make_runs(labelled=[])
    kinds = (("arbiter", JUDGE), ("printed", PUBLISHED), ("zoe", PERSON))
    pairs = [
        (row.pk, truth_of(number, who, kind=kind))
        for number, row in enumerate(rows)
        for who, kind in kinds
    ]
    store_labels(pairs)
    assert [name for name, _ in seen_runs.truths([corpus])] == ["printed", "zoe", "arbiter"]


def test_a_tie_of_people_is_no_truth():
    yes, no = LabelRecord("a", True, places=(PlaceRecord(2),)), LabelRecord("b", False)
    assert seen_runs.majority([yes, no]) is None and seen_runs.majority([]) is None
    three = [yes, LabelRecord("c", True, places=(PlaceRecord(2, "action"),)), no]
    assert [place.step for place in seen_runs.majority(three).places] == [2, 2]


def test_answers_after_the_reveal_are_no_truth(db):
    corpus, rows = make_runs()
    LabelSet.objects.filter(trajectory=rows[0]).update(post_reveal=True)
    seen = {run.key: run for run in seen_runs.seen_runs([corpus], truth=TRUTH)}
    assert seen[rows[0].pk].truth is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "oracle"}, "method is 'oracle'"),
        ({"truth": ""}, "truth is ''"),
        ({"truth": "nobody"}, "no rater of that name"),
        ({"truth": 3}, "truth is 3"),
        ({"judge": TRUTH}, "reads no judge"),
        ({"method": "judge_hybrid", "judge": TRUTH}, "would predict itself"),
        ({"method": "judge_label", "encoder": None}, "judge is ''"),
        ({"aggregator": "min"}, "aggregator is 'min'"),
        ({"folds": 1}, "folds is 1"),
        ({"window": 10}, "no setting 'window'"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_sentence(db, change, words):
    corpus, _ = make_runs(n=4, questions=2)
    given = {name: value for name, value in (STEPS | change).items() if value is not None}
    with pytest.raises(ValueError, match=words):
        runs.start("labels", [corpus], given)
    assert not Run.objects.exists()


def test_a_corpus_without_labels_or_with_one_question_is_refused(db):
    corpus, _rows = make_runs(n=4, questions=2, labelled=[])
    store_labels([(make_runs("other", 2, questions=1)[1][0].pk, truth_of(0))])
    with pytest.raises(ValueError, match="No run in agent-runs has a label by published-truth"):
        runs.start("labels", [corpus], STEPS)
    with pytest.raises(ValueError, match="only 1 question"):
        runs.start("labels", [Corpus.objects.get(slug="other")], STEPS)
    assert not Run.objects.exists()


def test_a_transformer_without_weights_says_what_to_do(db, monkeypatch, tmp_path):
    corpus, _ = make_runs(n=4, questions=2)
    from scoring import sentence_encoders

    monkeypatch.setattr(sentence_encoders, "_hub_cache", lambda: tmp_path)
    for method in ("bert", "nli_cross_encoder", "longformer"):
        with pytest.raises(encoders.EncoderUnavailable, match=r"pull_encoder|EXTRAS=encoders"):
            runs.start("labels", [corpus], {"method": method, "truth": TRUTH})


def test_every_method_ends_with_a_score_or_a_reason_for_each_run(db):
    corpus, rows = make_runs(n=12, questions=6)
    store_labels([(rows[0].pk, LabelRecord("umpire", True, kind=JUDGE))])
    for name, method in LABEL_METHODS.items():
        if name in label_runs.TUNED:
            continue
        given = {"method": name, "truth": TRUTH}
        given |= {"encoder": "lexical"} if method.encoder else {}
        given |= {"judge": "umpire"} if name in label_runs.JUDGED else {}
        run = runs.work_through(runs.start("labels", [corpus], given))
        assert run.trajectory_scores.count() == 12, name
        assert run.results.filter(statistic="auc", group="all").exists(), name
    reasons = TrajectoryScore.objects.filter(value__isnull=True).values_list("reason", flat=True)
    assert set(reasons) == {"the judge has no label of the run"}


def test_reading_and_storing_take_the_same_queries_whatever_the_number(
    db, django_assert_num_queries
):
    small, _ = make_runs("few", 8, questions=4)
    large, _ = make_runs("many", 48, questions=16)
    for corpus in (small, large):
        with django_assert_num_queries(8):
            seen_runs.seen_runs([corpus], truth=TRUTH)


def test_a_long_name_of_a_model_is_a_group_of_its_own(db):
    corpus, rows = make_runs()
    for number, row in enumerate(rows):
        Trajectory.objects.filter(pk=row.pk).update(model="m" * 150 + str(number % 2))
    run = done(corpus)
    groups = RunResult.objects.filter(run=run, statistic="auc_by_model").values_list(
        "group", flat=True
    )
    assert len(set(groups)) == 2 and max(map(len, groups)) <= 80


def test_a_part_that_fails_fails_its_run_with_the_reason(db, monkeypatch):
    corpus, _ = make_runs(n=8, questions=4)
    run = runs.start("labels", [corpus], STEPS)
    monkeypatch.setattr(label_runs.trajectory_detectors, "out_of_fold", lambda *a: 1 / 0)
    with pytest.raises(runs.RunFailed, match="division by zero"):
        runs.work_through(run)
    assert not TrajectoryScore.objects.exists()
    assert Chunk.objects.filter(run=run, state=Chunk.State.FAILED).count() == 1
