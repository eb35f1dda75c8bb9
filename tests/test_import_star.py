"""STAR as it is: every oddity kept and counted under its own name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmark.formats import star, star_workflows
from benchmark.importing import import_records
from benchmark.models import Corpus, Dialogue, Turn, Workflow
from benchmark.records import BadRecord, DialogueRecord, WorkflowRecord

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1 << 20


def event(agent, action, **more):
    return {"Agent": agent, "Action": action, "UnixTime": 1} | more


def talk(**changes):
    return {
        "AnonymizedUserWorkerID": "worker-1",
        "AnonymizedWizardWorkerID": "worker-2",
        "BatchID": "b",
        "CompletionLevel": "Complete",
        "DialogueID": 7,
        "FORMAT-VERSION": 7,
        "IntroducesConflicts": False,
        "Events": [
            event("UserGuide", "instruct", Text="Ask for tea."),
            event("User", "utter", Text=" tea please"),
            event("Wizard", "request_suggestions", Text="which"),
            event(
                "Wizard",
                "pick_suggestion",
                Text="Which tea?",
                ActionLabel="ask_tea",
                ActionLabelOptions=["ask_tea", "bye"],
                PostAnnotation=[{"Annotator": "Somebody", "BadTurn": "True"}],
                PrimaryItem={"big": "screen"},
            ),
            event("User", "utter", Text="green"),
            event("Wizard", "query", APIName="tea", Constraints=[{"Kind": '"green"'}]),
            event("KnowledgeBase", "return_item", Item={"Kind": "green"}, TotalItems=-1),
            event("Wizard", "utter", Text="Here."),
            event("User", "complete"),
        ],
        "Scenario": {
            "Domains": ["tea"],
            "Happy": True,
            "MultiTask": False,
            "UserTask": "Order tea",
            "WizardTask": "Serve",
            "WizardCapabilities": [{"Task": "tea_order", "Domain": "tea", "SchemaImage": "x"}],
        },
        "UserQuestionnaire": [{"Question": "Good?", "Answer": True}],
        "WizardQuestionnaire": [{"Question": "Good?", "Answer": False}],
    } | changes


def of(value, replies=frozenset({"ask_tea"})) -> DialogueRecord:
    return star.dialogue_of(value, "x:1", lambda tasks: replies)


def test_turns_are_what_one_side_sent_and_drafts_are_none():
    record = of(talk())
    assert [(t.role, t.text, t.label) for t in record.turns] == [
        ("user", " tea please", ""),
        ("assistant", "Which tea?", "ask_tea"),
        ("user", "green", ""),
        ("assistant", "Here.", ""),
    ]
    assert [(e["follows"], e["action"]) for e in record.meta["events"]] == [
        (0, "instruct"),
        (1, "request_suggestions"),
        (3, "query"),
        (3, "return_item"),
        (4, "complete"),
    ]
    assert record.meta["events"][2]["constraints"] == [{"Kind": '"green"'}]


def test_nobody_is_named():
    told = json.dumps([of(talk()).meta, [t.meta for t in of(talk()).turns]])
    assert not any(word in told for word in ("worker", "Somebody", "screen"))
    assert of(talk()).turns[1].meta["notes"] == [{"BadTurn": "True"}]


def scenario(**changes):
    return talk()["Scenario"] | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"CompletionLevel": "EarlyDisconnectDuringDialogue"},
        {"Events": []},
        {"Scenario": scenario(Happy=False)},
        {"Scenario": scenario(MultiTask=True)},
    ],
)
def test_only_happy_complete_single_tasks_with_a_turn_are_conformant(changes):
    assert of(talk()).conformant is True
    assert of(talk(**changes)).conformant is None


def test_several_tasks_name_no_workflow():
    caps = [{"Task": t, "Domain": "tea"} for t in ("tea_order", "tea_cancel")]
    record = of(talk(Scenario=scenario(MultiTask=True, WizardCapabilities=caps)))
    assert record.workflow == ""
    assert [t["task"] for t in record.meta["tasks"]] == ["tea_order", "tea_cancel"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"Events": None}, "Events: must be a list; it is missing"),
        ({"Events": [3]}, r"Events\[1\]: must be an object"),
        ({"Events": [event("User", "utter", Text=5)]}, r"Events\[1\].Text: must be text"),
        ({"Scenario": []}, "Scenario: must be an object"),
        (
            {"Events": [event("Wizard", "request_suggestions", ActionLabel={})]},
            r"Events\[1\].ActionLabel: must be text",
        ),
        (
            {"Events": [event("Wizard", "pick_suggestion", ActionLabelOptions=5)]},
            r"Events\[1\].ActionLabelOptions: must be a list",
        ),
        ({"Scenario": scenario(Domains="tea")}, "Scenario.Domains: must be a list"),
        (
            {"Scenario": scenario(WizardCapabilities=[{"Task": "t", "Domain": "d" * 121}])},
            "domain: has more than 120 characters",
        ),
        ({"DialogueID": None}, "id: must be text or a whole number"),
    ],
)
def test_another_shape_is_refused_with_the_field(changes, sentence):
    with pytest.raises(BadRecord, match=sentence):
        of(talk(**changes))


def test_an_unheard_of_level_is_counted_under_a_name_that_can_be_stored():
    found = of(talk(CompletionLevel="half\x00 \ud800done")).warnings
    assert found["CompletionLevel half\ufffd \ufffddone"] == 1
    assert {"NUL character replaced", "lone surrogate replaced"} <= set(found)


def test_a_workflow_comes_before_its_first_dialogue_and_takes_its_domain(tmp_path):
    folder = tmp_path / "workflows" / "tea_order"
    folder.mkdir(parents=True)
    graph = {"hello": "ask_tea", "ask_tea": "query", "query": "serve"}
    replies = {"hello": "Hello {n:d}", "ask_tea": "Which?", "serve": "Here", "query": "Query"}
    replies["bye"] = "Bye"
    data = {"task": "order_tea", "graph": graph, "replies": replies}
    (folder / "tea_order.json").write_text(json.dumps(data))
    (folder / "responses.json").write_text(json.dumps({"hello": "Hi"}))
    (tmp_path / "workflows" / "other.json").write_text(json.dumps(data | {"task": "other"}))
    lines = [talk(Scenario=scenario(WizardCapabilities=[{"Task": "gone", "Domain": None}]))]
    lines.append(talk(DialogueID=8))
    path = tmp_path / "talks.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    first, flow, second, other = star.read(path)
    assert isinstance(flow, WorkflowRecord)
    assert (first.external_id, second.external_id, second.workflow) == ("7", "8", "tea_order")
    assert (flow.name, flow.domain, flow.start, flow.terminals) == (
        "tea_order",
        "tea",
        "hello",
        ("serve",),
    )
    assert [(s.key, s.kind) for s in flow.steps] == [
        ("hello", "action"),
        ("ask_tea", "action"),
        ("query", "state"),
        ("serve", "action"),
        ("bye", "reply"),
    ]
    assert flow.warnings["task name differs from the folder name"] == 1
    assert "{n:d}" in flow.system_instruction
    assert (other.name, other.domain) == ("other", "other")


def test_a_task_file_that_cannot_be_read_is_named_and_the_rest_goes_on(tmp_path):
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "bad.json").write_text('{"graph": []}')
    (tmp_path / "dialogues").mkdir()
    (tmp_path / "dialogues" / "7.json").write_text(json.dumps(talk()))
    bad, record = star.read(tmp_path)
    assert str(bad) == "bad.json, graph: must be an object; it is []"
    assert record.external_id == "7"


@pytest.mark.parametrize("name", ["gone", "empty"])
def test_what_is_no_star_set_is_a_sentence(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadRecord, match=r"no such file|holds no dialogue files"):
        list(star.read(tmp_path / name))


def test_the_samples_show_every_quirk(shared, db):
    corpus = Corpus.objects.create(slug="star")
    records = list(star.read(shared / "data/star/dialogues-sample"))
    report = import_records(corpus, "star", records)
    assert (report.new, report.rejected, Workflow.objects.count()) == (64, [], 24)
    quirks = json.loads((shared / "data/star/quirks.json").read_text())["quirks"]
    assert {q["name"] for q in quirks} == set(report.warnings)
    assert import_records(corpus, "star", records).unchanged == 64
    for quirk in quirks:
        held = Dialogue.objects.get(external_id=Path(quirk["sample_file"]).stem)
        assert quirk["name"] in held.warnings


def test_texts_are_stored_as_they_are(shared, db):
    corpus = Corpus.objects.create(slug="star")
    folder = shared / "data/star/dialogues-sample"
    import_records(corpus, "star", star.read(folder))
    for name in ("5729", "715", "5156", "1703"):
        events = json.loads((folder / f"{name}.json").read_text())["Events"]
        said = [e["Text"] for e in events if e["Action"] in ("utter", "pick_suggestion")]
        turns = Turn.objects.filter(dialogue__external_id=name).order_by("number")
        assert list(turns.values_list("text", flat=True)) == said


def test_oddities_of_the_task_files_are_counted(shared):
    folder = shared / "data/star/workflows"
    found: Counter[str] = Counter()
    for name, path in star_workflows.task_files(folder).items():
        flow = star_workflows.workflow_of(star_workflows.load(name, path), None)
        found.update(dict.fromkeys(flow.warnings, 1))
        assert flow.domain == name.split("_")[0]
    assert found["task name differs from the folder name"] == 8
    assert found["node not reachable from the start"] == 21
    assert found["reply outside the graph"] == 24
    assert found["response absent from the replies"] == 4
    assert found["response with another text than the reply"] == 6
    assert found["node without a reply"] == 0


# The whole set, once, as a person would import it

# A child's peak counts what its parent held when it was made, so a small process in between starts
# the import and reads its peak (kilobytes, on macOS bytes).
METER = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(child.pid, 0)
unit = 1 if sys.platform == "darwin" else 1024
open(sys.argv[1], "w").write(str(usage.ru_maxrss * unit))
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.fixture(scope="module")
def whole(shared, tmp_path_factory):
    """(peak memory in bytes, report of the first import, of the second)."""
    folder = tmp_path_factory.mktemp("star")
    env = os.environ | {"DATABASE_URL": f"sqlite:///{folder / 'star.sqlite3'}"}
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, env=env, check=True)
    path = str(shared / "data/star/dialogues.jsonl.gz")
    reports = []
    peak = 0
    for _ in range(2):
        command = [*manage, "import_corpus", "star", path, "--corpus", "star", "--json"]
        metered = [sys.executable, "-S", "-c", METER, str(folder / "peak"), *command]
        done = subprocess.run(metered, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE)
        reports.append(json.loads(done.stdout.splitlines()[-1]))
        peak = max(peak, int((folder / "peak").read_text()))
    return peak, *reports


@pytest.mark.slow
def test_the_whole_set_is_stored(whole):
    _, first, _ = whole
    assert (first["new"], first["rejected"], first["turns"]) == (5655, [], 92_093)
    assert first["workflows"] == {"new": 24}
    assert first["warnings"]["no utterance at all"] == 369
    assert sum(first["split"].values()) == 2284


@pytest.mark.slow
def test_dialogues_per_warning_are_those_of_the_published_table(whole, shared):
    _, first, _ = whole
    quirks = json.loads((shared / "data/star/quirks.json").read_text())["quirks"]
    assert first["warnings"] == {q["name"]: q["open_dialogues"] for q in quirks}


@pytest.mark.slow
def test_a_second_import_of_the_whole_set_changes_nothing(whole):
    _, first, second = whole
    assert (second["new"], second["updated"], second["unchanged"]) == (0, 0, 5655)
    assert (second["warnings"], second["turns"]) == (first["warnings"], first["turns"])


@pytest.mark.slow
def test_the_whole_set_fits_200_megabytes(whole):
    assert whole[0] < 200 * MEGABYTE
