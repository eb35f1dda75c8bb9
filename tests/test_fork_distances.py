"""Task 2 as a run: theta per workflow, summaries per workflow, what the encoder cuts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.models import Dialogue, Workflow
from scoring import encoders, fork_distances, runs
from scoring.corpora import dialogue_vectors, fitting_turns
from scoring.dialogue_distances import discounted_alignment, soft_lcs
from scoring.discounted_alignment import theta_of
from tests.small import make_corpus, make_forks

ALIGNED = {"method": "discounted_alignment", "encoder": "lexical"}


def done(corpus, parameters, **how):
    return runs.work_through(runs.start("task2", [corpus], parameters, **how))


def alone(run, score, of):
    """The distance of one stored score, computed for this pair by itself."""
    encoder = encoders.get("lexical")
    source = score.dialogue.forks.get().source_id
    vectors = dialogue_vectors(encoder, fork_distances.turns_of([source, score.dialogue_id]))
    return of(vectors[source], vectors[score.dialogue_id])


def test_theta_is_measured_once_on_the_training_half_and_kept_with_the_run(corpus, forked):
    run = done(forked, ALIGNED, chunk_dialogues=17)
    kept = run.calibrations.get()
    training = fitting_turns(kept.workflow_id)
    assert len(training) == 2
    expected = theta_of(list(dialogue_vectors(encoders.get("lexical"), training).values()))
    assert kept.detail == {"theta": expected.value, "reason": "", **expected.detail}
    assert kept.detail["pairs"] == 4000 and kept.detail["seed"] == 0
    assert {score.detail["theta"] for score in run.scores.all()} == {expected.value}


@pytest.mark.parametrize(
    ("method", "of"), [("discounted_alignment", discounted_alignment), ("soft_lcs", soft_lcs)]
)
def test_a_stored_alignment_is_what_the_pair_gives_by_itself(corpus, forked, method, of):
    run = done(forked, {"method": method, "encoder": "lexical"})
    theta = run.calibrations.get().detail["theta"]
    for score in run.scores.all()[::7]:
        found = alone(run, score, lambda a, b: of(a, b, theta=theta))
        assert score.value == pytest.approx(found.value, abs=1e-12)
        assert "alignment" not in score.detail


def test_a_workflow_without_training_dialogues_takes_the_theta_of_the_others(corpus, forked):
    bare = make_corpus("bare", workflow="bare")
    bare.dialogues.update(split=Dialogue.Split.TEST)
    make_corpus("small", workflow="second")
    forks = make_forks(bare, "bare-forks")
    forked_pks = forks.dialogues.values_list("pk", flat=True)
    Dialogue.objects.filter(pk__in=list(forked_pks)).update(corpus=forked)
    run = done(forked, ALIGNED)
    kept = {row.workflow.name: row.detail for row in run.calibrations.select_related("workflow")}
    assert set(kept) == {"table_book", "bare"}
    assert kept["bare"]["theta"] is None and kept["bare"]["reason"]
    for score in run.scores.filter(dialogue__workflow__name="bare"):
        assert score.value is not None
        assert score.detail["theta"] == kept["table_book"]["theta"]
        assert score.detail["theta_from"] == "other workflows"


def test_without_any_training_dialogue_the_alignment_is_undefined_with_the_reason(corpus, forked):
    corpus.dialogues.update(split=Dialogue.Split.NONE)
    run = done(forked, ALIGNED)
    assert {score.reason for score in run.scores.all()} == {fork_distances.NO_THETA}
    row = run.results.get(group="GR", workflow="")
    assert (row.value, row.skipped) == (None, 4)
    assert row.detail["reasons"] == {fork_distances.NO_THETA: 4}


def test_the_summary_is_repeated_per_workflow_over_its_own_sources(corpus):
    make_corpus("small", n=3, workflow="second")
    forks = make_forks(corpus, "all-forks")
    run = done(forks, {"method": "flow_score", "encoder": "lexical"})
    rows = {(row.workflow, row.group): row for row in run.results.all()}
    assert {workflow for workflow, _ in rows} == {"", "table_book", "second"}
    for group in ("WIC", "SSPC", "GR", "CSC"):
        whole, first, second = (rows[name, group] for name in ("", "table_book", "second"))
        assert (whole.n, first.n, second.n) == (7, 4, 3)
        assert whole.value == pytest.approx((4 * first.value + 3 * second.value) / 7)
        assert first.ci_low <= first.value <= first.ci_high


def test_the_summary_tells_exact_orders_constant_rows_and_all_sixteen_together(corpus, forked):
    run = done(forked, {"method": "turn_difference"})
    detail = run.results.get(group="all", workflow="").detail
    assert (detail["constant_share"], detail["exact_recovery"]) == (1.0, 0.0)
    assert detail["sixteen"] == {"value": 0.0, "reason": "", "n": 4}
    aligned = done(forked, ALIGNED)
    detail = aligned.results.get(group="all", workflow="").detail
    assert detail["constant_share"] == 0.0
    assert detail["exact_recovery"] > 0.9
    assert 0.5 < detail["sixteen"]["value"] <= 1.0


def test_the_whole_dialogue_method_says_how_many_dialogues_the_encoder_cuts(
    corpus, forked, monkeypatch
):
    lengths = [
        len(fork_distances.whole_text(said))
        for said in fork_distances.turns_of(
            list(Dialogue.objects.values_list("pk", flat=True))
        ).values()
    ]
    monkeypatch.setattr(encoders.LexicalEncoder, "max_characters", int(np.median(lengths)))
    run = done(forked, {"method": "full", "encoder": "lexical"})
    expected = sum(length > int(np.median(lengths)) for length in lengths)
    assert run.results.get(group="all", workflow="").detail["cut"] == {
        "share": pytest.approx(expected / 68),
        "cut": expected,
        "n": 68,
        "limit": f"{int(np.median(lengths))} characters",
        "reason": "",
    }
    assert 0 < expected < 68


def test_a_fork_without_a_workflow_is_still_compared(corpus, forked):
    make_corpus("small", workflow="second")
    lost = Workflow.objects.get(name="table_book")
    kept = Dialogue.objects.filter(workflow=lost)
    pks = list(kept.values_list("pk", flat=True))
    Dialogue.objects.filter(pk__in=pks).update(workflow=None)
    run = done(forked, {"method": "flow_score", "encoder": "lexical"})
    assert run.scores.filter(value__isnull=False).count() == 64
    assert set(run.results.values_list("workflow", flat=True)) == {""}
