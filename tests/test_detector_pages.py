"""Detectors of agent runs on pages, in the API and by command."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from benchmark.label_records import JUDGE, PERSON, LabelRecord
from benchmark.labelling import store_labels
from benchmark.models import Trajectory
from scoring import runs
from scoring.label_summaries import STATISTICS
from scoring.models import Run
from scoring.trajectory_methods import COMMON, LABEL_METHODS
from tests.test_export_run import exported, reproduced
from tests.test_label_runs import STEPS, TRUTH, done, make_runs, truth_of

FORM = {
    "corpora": ["agent-runs"],
    "kind": "labels",
    "labels-methods": ["step_classifier", "run_length"],
    "labels-step_classifier-aggregator": "mean",
    "encoders": ["lexical"],
    "bootstrap_seed": "7",
    "truth": TRUTH,
}


@pytest.fixture
def inside(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def labelled(db):
    return make_runs()


def body(page, status: int = 200) -> str:
    assert page.status_code == status, page.content[:2000]
    return page.content.decode()


# -- starting ----------------------------------------------------------------------------------


def test_the_page_offers_detectors_and_whose_labels_are_the_truth(inside, labelled):
    page = body(inside.get(f"/runs/new/?corpus=agent-runs&kind=labels&truth={TRUTH}"))
    assert 'name="corpora" value="agent-runs" checked' in page and "24 agent runs" in page
    assert 'name="kind" value="labels" checked' in page
    assert f'<option value="{TRUTH}" selected>{TRUTH} (24 runs)</option>' in page
    assert "no forks" not in page


def test_the_work_is_counted_before_anything_starts(inside, labelled):
    page = body(inside.post("/runs/new/", FORM | {"look": "yes"}))
    assert "2 runs, each over <b>24</b> agent runs; 24 agent runs with 72 steps are read" in page
    # Three texts of sound steps and an odd one.
    assert "<b>lexical</b>: <b>4</b> texts have no vector yet" in page
    assert not Run.objects.exists()


def test_detectors_are_started_with_the_chosen_settings(inside, labelled):
    page = inside.post("/runs/new/", FORM | {"start": "yes"}, follow=True)
    assert "2 runs started." in body(page)
    steps, length = Run.objects.order_by("pk")
    assert steps.kind == "labels" and steps.parameters["truth"] == TRUTH
    assert steps.parameters["settings"]["aggregator"] == "mean"
    assert "encoder" not in length.parameters


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"truth": ""}, "Choose whose labels are the truth."),
        ({"truth": "nobody"}, "Choose a rater of the list."),
        ({"labels-methods": ["judge_label"]}, "judge is &#x27;&#x27;"),
        ({"labels-methods": ["judge_hybrid"], "judge": TRUTH}, "would predict itself"),
    ],
)
def test_a_choice_that_cannot_be_run_is_refused_on_the_page(inside, labelled, change, words):
    assert words in body(inside.post("/runs/new/", FORM | change | {"start": "yes"}), 400)
    assert not Run.objects.exists()


def test_all_methods_are_those_that_can_run_here(inside, labelled):
    inside.post("/runs/new/", FORM | {"labels-all": "on", "start": "yes"})
    started = set(Run.objects.values_list("parameters__method", flat=True))
    assert {"step_classifier", "long_context", "majority"} <= started
    assert "judge_label" not in started, "without a judge there is nothing to read"


# -- one run -----------------------------------------------------------------------------------


def test_the_page_of_a_run_shows_areas_and_runs_most_suspicious_first(inside, labelled):
    run = done(labelled[0])
    page = body(inside.get(run.get_absolute_url()))
    assert "<b>ROC-AUC over runs, each scored by a detector that never saw its question</b>" in page
    assert f"truth <b>{TRUTH}</b>" in page and 'href="/corpora/agent-runs/detectors/"' in page
    first = page[page.index('id="h-scores"') :]
    assert first.index("hallucination</td>") < first.index("none</td>")
    assert "#step-2" in first
    assert f"export_run {run.pk}" in page


def test_a_run_page_takes_the_same_queries_whatever_the_number(
    inside, db, django_assert_max_num_queries
):
    for slug, n in (("few", 8), ("many", 40)):
        run = done(make_runs(slug, n, questions=4)[0])
        with django_assert_max_num_queries(22):
            inside.get(run.get_absolute_url())


def test_a_run_without_a_score_stands_last_with_its_reason(inside, labelled):
    corpus, rows = labelled
    store_labels([(rows[1].pk, LabelRecord("umpire", True, kind=JUDGE))])
    given = {"method": "judge_label", "truth": TRUTH, "judge": "umpire"}
    run = runs.work_through(runs.start("labels", [corpus], given))
    page = body(inside.get(run.get_absolute_url()))
    shown = page[page.index('id="h-scores"') :]
    assert shown.index("run-1<") < shown.index("the judge has no label of the run")


# -- all detectors -----------------------------------------------------------------------------


def test_detectors_stand_beside_their_controls(inside, labelled):
    corpus, _ = labelled
    for change in ({}, {"method": "long_context"}, {"method": "run_length", "encoder": None}):
        given = {name: value for name, value in (STEPS | change).items() if value}
        runs.work_through(runs.start("labels", [corpus], given))
    page = body(inside.get("/corpora/agent-runs/detectors/"))
    controls = page.index("Controls:")
    assert page.index("Step classifier") < controls < page.index("Run length")
    assert controls < page.index("First step") < page.index("Random step")
    assert "Which type each detector finds" in page and "How each detector does per model" in page
    assert '<a href="/corpora/agent-runs/detectors/">' in body(inside.get("/leaderboards/"))


def test_the_file_holds_every_figure(inside, labelled):
    run = done(labelled[0])
    answer = inside.get("/corpora/agent-runs/detectors/?format=csv")
    lines = body(answer).splitlines()
    assert len(lines) == 1 + run.results.count()
    assert lines[1].startswith(f"{run.pk},step_classifier,paper,lexical,")


def test_a_run_over_earlier_labels_is_counted_but_not_shown(inside, db):
    corpus, rows = make_runs(labelled=range(20))
    old = done(corpus)
    store_labels([(rows[20].pk, truth_of(20))])
    new = done(corpus)
    page = body(inside.get("/corpora/agent-runs/detectors/"))
    assert f'href="/runs/{new.pk}/"' in page and f'href="/runs/{old.pk}/"' not in page
    assert "1 run over an earlier state of the runs or labels is not shown." in page


def test_a_truth_is_chosen_and_another_word_refused(inside, labelled):
    corpus, rows = labelled
    pairs = [(row.pk, truth_of(n, "ann", kind=PERSON)) for n, row in enumerate(rows)]
    store_labels(pairs)
    done(corpus)
    done(corpus, truth="ann")
    page = body(inside.get(f"/corpora/agent-runs/detectors/?truth={TRUTH}"))
    assert f"<option selected>{TRUTH}</option>" in page
    assert inside.get("/corpora/agent-runs/detectors/?truth=nobody").status_code == 400
    assert inside.get("/corpora/agent-runs/detectors/?format=xls").status_code == 400


def test_without_a_detector_the_page_says_what_to_do(inside, labelled):
    assert "No detector has run over agent-runs alone" in body(
        inside.get("/corpora/agent-runs/detectors/")
    )
    assert inside.get("/corpora/nothing/detectors/").status_code == 404


def test_the_board_takes_the_same_queries_whatever_the_number(
    inside, labelled, django_assert_num_queries
):
    for seed in range(3):
        done(labelled[0], seed=seed)
        with django_assert_num_queries(6):
            inside.get("/corpora/agent-runs/detectors/")


def test_people_who_annotate_see_none_of_it(client, annotator, labelled):
    run = done(labelled[0])
    client.force_login(annotator)
    for address in (
        "/corpora/agent-runs/detectors/",
        run.get_absolute_url(),
        f"/api/runs/{run.pk}/trajectories/",
    ):
        assert client.get(address).status_code in (403, 404), address


# -- API and command ---------------------------------------------------------------------------


def test_the_api_starts_a_detector_and_gives_its_scores(inside, labelled):
    wanted = {"kind": "labels", "corpora": ["agent-runs"], "parameters": STEPS}
    answer = inside.post("/api/runs", json.dumps(wanted), content_type="application/json")
    assert answer.status_code == 201, answer.content
    run = runs.work_through(Run.objects.get(pk=answer.json()["id"]))
    rows = inside.get(f"/api/runs/{run.pk}/trajectories/").json()["results"]
    assert len(rows) == 24 and len(rows[0]["steps"]) == 3
    wrong = wanted | {"parameters": STEPS | {"truth": "nobody"}}
    answer = inside.post("/api/runs", json.dumps(wrong), content_type="application/json")
    assert answer.status_code == 400 and "no rater of that name" in str(answer.json())


def test_the_command_scores_agent_runs_and_prints_the_figures(labelled):
    out = StringIO()
    call_command(
        "score_corpus", "agent-runs", task="runs", truth=TRUTH, encoder=["lexical"], json=True,
        set=["aggregator=mean"], stdout=out,
    )  # fmt: skip
    found = json.loads(out.getvalue().splitlines()[-1])
    assert (found["task"], found["method"]) == ("runs", "step_classifier")
    rows = {(row["statistic"], row["type"]): row for row in found["rows"]}
    assert rows["auc", "all"]["value"] == 1.0


def test_the_command_runs_every_detector_that_can_run(labelled):
    out = StringIO()
    call_command(
        "score_corpus", "agent-runs", task="runs", truth=TRUTH, encoder=["lexical"], all=True,
        stdout=out,
    )  # fmt: skip
    assert "Run" in out.getvalue()
    assert not Run.objects.exclude(state=Run.State.DONE).exists()
    assert Run.objects.filter(kind="labels").count() >= 7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "runs"}, "needs --truth"),
        ({"task": "2", "truth": TRUTH}, "go with --task runs"),
        ({"task": "runs", "truth": TRUTH, "method": ["oracle"]}, "method is 'oracle'"),
        ({"task": "runs", "truth": TRUTH, "set": ["alpha=3"]}, "none of the chosen methods"),
    ],
)
def test_the_command_says_what_is_wrong(labelled, options, words):
    with pytest.raises(CommandError, match=words):
        call_command("score_corpus", "agent-runs", encoder=["lexical"], **options)


def test_every_number_of_a_detector_is_computed_again_from_a_folder(labelled, tmp_path):
    corpus, rows = labelled
    store_labels([(r.pk, truth_of(n, "umpire", kind=JUDGE)) for n, r in enumerate(rows[:20])])
    folders = []
    for place, change in enumerate(
        (
            {"aggregator": "noisy_or"},
            {"method": "step_entailment"},
            {"method": "judge_hybrid", "judge": "umpire"},
            {"method": "judge_label", "judge": "umpire", "encoder": None},
        )
    ):
        given = {name: value for name, value in (STEPS | change).items() if value}
        run = runs.work_through(runs.start("labels", [corpus], given))
        folders.append(exported(run, tmp_path / str(place)))
    found, frameworks = reproduced(*folders)
    assert [code for code, _ in found.values()] == [0] * 4, found
    assert frameworks == []


def test_a_run_that_trained_a_transformer_is_not_written_and_says_why(labelled, tmp_path):
    run = done(labelled[0])
    Run.objects.update(parameters=run.parameters | {"weights": "a/model@123"})
    with pytest.raises(CommandError, match="trained a transformer from a/model@123"):
        call_command("export_run", run.pk, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_deleted_takes_its_scores_along(labelled):
    run = done(labelled[0])
    Trajectory.objects.filter(pk=labelled[1][0].pk).delete()
    assert run.trajectory_scores.count() == 23


def test_the_documentation_lists_every_detector_with_its_settings():
    page = (Path(__file__).resolve().parents[1] / "docs" / "detectors_of_runs.md").read_text()
    for name, method in LABEL_METHODS.items():
        line = next(row for row in page.splitlines() if row.startswith(f"| `{name}` |"))
        assert method.summary.rstrip(".") in line, name
        assert ("no encoder" in line) is not method.encoder, name
        for setting in method.settings:
            if setting not in COMMON:
                default = str(setting.default).lower()
                assert f"`{setting.name}` ({default})" in line, (name, setting.name)
    assert all(f"`{name}`" in page for name in STATISTICS)


def test_each_figure_has_a_file_and_runs_of_one_method_have_names_of_their_own(inside, labelled):
    for change in ({}, {"aggregator": "mean"}, {"seed": 3}, {"bootstrap_seed": 5}):
        done(labelled[0], **change)
    page = body(inside.get("/corpora/agent-runs/detectors/"))
    for name in ("areas", "named-step", "by-type", "by-model"):
        assert f'id="{name}"' in page
        lines = body(
            inside.get(f"/corpora/agent-runs/detectors/?format=csv&of={name}")
        ).splitlines()
        assert len(lines) >= 5, name
    lines = body(inside.get("/corpora/agent-runs/detectors/?format=csv&of=areas")).splitlines()
    assert len({line.split(",1.0,")[0] for line in lines[1:]}) == 4
    assert inside.get("/corpora/agent-runs/detectors/?format=csv&of=else").status_code == 400
