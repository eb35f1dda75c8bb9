"""Pages and command of signals and rules: mistakes are said on the form, figures have a file."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from benchmark import demo
from benchmark.importing import import_records
from benchmark.label_records import LabelRecord
from benchmark.labelling import store_label
from benchmark.models import Corpus, Trajectory, TrajectorySignal

pytestmark = pytest.mark.django_db
STOP = "not clarity_and_justification and not generalized_result_verification"


@pytest.fixture
def runs():
    corpus = Corpus.objects.create(slug="runs", title="Runs")
    import_records(corpus, "scripted", demo.scripted_runs(demo.SEED))
    return corpus


@pytest.fixture
def visit(client, researcher):
    client.force_login(researcher)

    def get(name, **query):
        return client.get(reverse(f"scoring:{name}", args=["runs"]), query)

    return get


def test_signals_are_held_against_labels(visit, runs):
    answer = visit("signals")
    assert answer.status_code == 200
    assert "Signals against script" in answer.text
    assert "clarity_and_justification" in answer.text
    (figure, *_), _ = answer.context["figures"][0], None
    best = figure.rows[0]
    assert best["signal"] == "clarity_and_justification"
    assert best["predicts"] == "absent"
    assert best["auc"].value > 0.8


def test_a_rule_is_watched_and_its_alarms_lead_to_the_runs(visit, runs):
    answer = visit("signals", rule=STOP)
    alarm = answer.context["alarms"][0]
    assert reverse("benchmark:trajectory", args=[alarm.run.key]) in answer.text
    assert answer.context["n_alarms"] == len(
        [
            run
            for run in Trajectory.objects.all()
            if [
                s.value
                for s in run.signals.filter(name__in=STOP.replace("not ", "").split(" and "))
            ]
            == [False, False]
        ]
    )


def test_an_alarm_over_a_beginning_names_its_step(visit, runs):
    answer = visit("signals", rule="empty_observation")
    assert answer.context["alarms"][0].step
    assert "Asked after every step." in answer.text


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("not", "Character 4: the name of a signal is expected, not the end."),
        ("nonsense", "there is no signal &#x27;nonsense&#x27;; there are: task_completion"),
        ("<script>", "the name of a signal is expected, not &#x27;&lt;script&gt;&#x27;"),
    ],
)
def test_a_rule_that_cannot_be_read_is_said_beside_its_field(visit, runs, rule, said):
    answer = visit("signals", rule=rule)
    assert answer.status_code == 400
    assert said in answer.text
    assert 'aria-invalid="true"' in answer.text


def test_an_unknown_rater_or_source_is_a_sentence(visit, runs):
    for name in ("rater", "source"):
        answer = visit("signals", **{name: "nobody"})
        assert answer.status_code == 400
        assert f"{name} is" in answer.text
        assert "there are:" in answer.text


def test_every_table_has_its_file_and_says_the_same(visit, runs):
    page_rows = visit("signals").context["figures"][0][0].rows
    answer = visit("signals", format="csv", of="signals")
    rows = list(csv.DictReader(StringIO(answer.content.decode())))
    assert [row["signal"] for row in rows] == [row["signal"] for row in page_rows]
    assert float(rows[0]["auc"]) == pytest.approx(page_rows[0]["auc"].value)
    assert visit("signals", format="csv", of="other").status_code == 400


def test_a_corpus_without_runs_signals_or_labels_says_so(visit, runs):
    TrajectorySignal.objects.all().delete()
    assert "No run of this corpus carries signals" in visit("signals").text
    Trajectory.objects.all().delete()
    assert "No agent runs here" in visit("signals").text


def test_a_judge_whose_signals_are_its_own_labels_is_pointed_out(visit, runs):
    TrajectorySignal.objects.update(source="judge-1")
    TrajectorySignal.objects.filter(name="task_completion").update(name="hallucinations")
    for run in Trajectory.objects.all():
        store_label(run, LabelRecord("judge-1", bool(run.pk % 2), kind="judge"))
    answer = visit("signals", rater="judge-1", source="judge-1")
    assert "come from the same judge" in answer.text
    assert "hallucinations" not in answer.context["held"].names
    assert "hallucinations" in visit("signals", rater="script").context["held"].names


def test_a_page_costs_the_same_however_many_runs(visit, runs, django_assert_num_queries):
    visit("signals")
    with django_assert_num_queries(13):
        visit("signals", rule=STOP)
    more = Corpus.objects.create(slug="more", title="")
    import_records(more, "scripted", demo.scripted_runs(7))
    Trajectory.objects.filter(corpus=more).update(corpus=runs, format="other")
    with django_assert_num_queries(13):
        visit("signals", rule=STOP)


def test_a_rule_of_order_names_runs_steps_and_models(visit, runs):
    answer = visit("rules", order="not:watering, sensors when watering")
    assert answer.status_code == 200
    broken = answer.context["broken"]
    assert {row.run.name.rsplit("_", 1)[1][:9] for row in broken} == {"water-bed"}
    assert all(row.found.step == 2 for row in broken)
    assert "watering occurs before sensors" in answer.text
    assert "procedural labels of script" in answer.text


def test_a_rule_over_actions_takes_their_names(visit, runs):
    answer = visit("rules", order="not:open_valve, read_moisture when open_valve", over="actions")
    assert (
        answer.context["n_broken"]
        == visit("rules", order="not:watering, sensors when watering").context["n_broken"]
    )


def test_a_rule_of_order_that_cannot_be_read_is_said_beside_its_field(visit, runs):
    answer = visit("rules", order="a, not:b")
    assert answer.status_code == 400
    assert "not:b stands last" in answer.text
    assert visit("rules", over="thoughts").status_code == 400


def test_annotators_find_neither_page(client, annotator, runs):
    client.force_login(annotator)
    for name in ("signals", "rules"):
        assert client.get(reverse(f"scoring:{name}", args=["runs"])).status_code == 404


# -- the command --------------------------------------------------------------------------------


def check(*args, **options):
    out = StringIO()
    try:
        call_command("check_runs", *args, stdout=out, **options)
        code = 0
    except SystemExit as left:
        code = left.code
    return code, out.getvalue()


def test_the_command_lists_alarms_and_ends_with_one(runs):
    code, out = check("runs", rule=STOP, json=True)
    result = json.loads(out.splitlines()[-1])
    assert code == 1
    assert result["runs"] == 60
    assert result["precision"]["value"] > 0.9
    assert "precision against script" in out


def test_the_command_ends_with_nought_where_nothing_alarms(runs):
    code, out = check("runs", rule="many_steps")
    assert (code, out.splitlines()[0]) == (0, "0 of 60 runs alarm.")


def test_the_command_asks_a_file_without_a_database_of_runs(tmp_path):
    path = tmp_path / "run.json"
    steps = [
        {"agent": "TSFM", "thought": "t", "action": "forecast()", "observation": "error: no data"},
        {"agent": "IoT", "thought": "u", "action": "read()", "observation": "21"},
    ]
    path.write_text(json.dumps({"uid": "Model_1_Q_2", "task": "x", "trajectory": steps}))
    code, out = check(file=path, order="not:TSFM, IoT when TSFM", json=True)
    assert code == 1
    assert json.loads(out.splitlines()[-1])["alarms"] == [
        {"run": "Model_1_Q_2", "step": 1, "why": "TSFM occurs before IoT"}
    ]
    assert check(file=path, rule="tool_error")[1].splitlines()[0] == "Model_1_Q_2: step 1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rule": "not"}, "name of a signal"),
        ({"order": "a, not:b"}, "stands last"),
        ({"rule": "tool_error", "rater": "nobody"}, "there are:"),
    ],
)
def test_what_cannot_be_asked_ends_with_two_and_a_sentence(runs, options, said):
    with pytest.raises(CommandError, match=said) as refused:
        call_command("check_runs", "runs", **options)
    assert refused.value.returncode == 2


def test_a_corpus_or_a_file_is_wanted_and_not_both(runs, tmp_path):
    with pytest.raises(CommandError, match="one of them"):
        call_command("check_runs", rule="tool_error")
    with pytest.raises(CommandError, match="one of them"):
        call_command("check_runs", "runs", file=tmp_path, rule="tool_error")
