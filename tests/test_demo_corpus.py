"""What the demo corpus promises: variety, and forks that one needs the workflow to see."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmark.demo import records
from benchmark.demo.corpus import dialogues
from benchmark.demo.workflow_files import read_workflow
from benchmark.records import (
    ASSISTANT,
    FORK_TYPES,
    SSPC,
    BadRecord,
    DialogueRecord,
    TrajectoryRecord,
    WorkflowRecord,
)
from benchmark.simulation import ScriptedEngine
from benchmark.witnesses import align, assistant_labels

EVERY = 4


@pytest.fixture(scope="module")
def demo():
    return list(records())


@pytest.fixture(scope="module")
def workflows(demo):
    return {r.name: r for r in demo if isinstance(r, WorkflowRecord)}


@pytest.fixture(scope="module")
def conformant(demo):
    return [r for r in demo if isinstance(r, DialogueRecord)]


@pytest.fixture(scope="module")
def forks(workflows, conformant):
    """(source, fork or refusal) for every fourth source: 90 sources, 16 each."""
    engine = ScriptedEngine(conformant, workflows, seed=7)
    return [(source, made) for source in conformant[::EVERY] for made in engine.forks(source)]


def assistant_texts(dialogue):
    return [turn.text for turn in dialogue.turns if turn.role == ASSISTANT]


def test_nine_workflows_in_five_domains(workflows):
    assert len(workflows) == 9
    assert sorted(Counter(w.domain for w in workflows.values()).values()) == [1, 2, 2, 2, 2]
    for workflow in workflows.values():
        said = [step for step in workflow.steps if step.kind == "action"]
        assert 7 <= len(said) <= 11
        assert all(step.text for step in workflow.steps)
        assert workflow.start
        assert workflow.terminals


def test_forty_conformant_dialogues_each_that_keep_to_the_graph(workflows, conformant):
    assert set(Counter(d.workflow for d in conformant).values()) == {40}
    assert len({d.external_id for d in conformant}) == 360
    for dialogue in conformant:
        assert dialogue.conformant is True
        labels = assistant_labels(dialogue.turns)
        assert 5 <= len(labels) <= 12
        assert align(labels, workflows[dialogue.workflow]).events == ()


def test_no_assistant_text_recurs_in_more_than_two_of_forty_dialogues(conformant):
    heard = defaultdict(Counter)
    for dialogue in conformant:
        heard[dialogue.workflow].update(set(assistant_texts(dialogue)))
    assert max(n for texts in heard.values() for n in texts.values()) <= 2


def test_every_text_is_clean(conformant, forks):
    turns = [t for d in conformant for t in d.turns]
    turns += [t for _, fork in forks for t in fork.turns]
    for turn in turns:
        assert turn.text == turn.text.strip()
        assert not re.search(r"[\[\]{}|#]| [,.?!;:]|  |\.\.(?!\.)|,,|\?\.", turn.text), turn.text
        assert turn.text[0].isupper() or turn.text[0].isdigit(), turn.text
        assert turn.text[-1] in ".?!", turn.text


def test_the_same_seed_gives_the_same_dialogues(workflows, conformant):
    own = [d.digest for d in conformant if d.workflow == "vet_refill"]
    assert [d.digest for d in dialogues(workflows["vet_refill"])] == own
    assert not {d.digest for d in dialogues(workflows["vet_refill"], seed=3)} & set(own)


def test_less_than_three_percent_of_the_forks_are_refused(forks):
    refused = [made for _, made in forks if not isinstance(made, DialogueRecord)]
    assert len(forks) == 90 * 16
    assert len(refused) < 0.03 * len(forks)


def test_a_bag_of_words_from_other_workflows_hardly_finds_sspc_forks(conformant, forks):
    off = [fork for _, fork in forks if fork.forks and fork.forks[0].type == SSPC]
    every = [*conformant, *off]
    said = np.array([" ".join(assistant_texts(dialogue)) for dialogue in every])
    task = np.array([dialogue.workflow for dialogue in every])
    forked = np.array([not dialogue.conformant for dialogue in every])
    areas = {}
    for name in sorted(set(task)):
        seen = task != name
        words = CountVectorizer()
        model = LogisticRegression(solver="liblinear", class_weight="balanced")
        model.fit(words.fit_transform(said[seen]), forked[seen])
        scores = model.decision_function(words.transform(said[~seen]))
        areas[name] = roc_auc_score(forked[~seen], scores)
    assert len(off) >= 350
    assert np.mean(list(areas.values())) <= 0.70, areas


@pytest.mark.parametrize("type_", FORK_TYPES)
def test_how_much_longer_a_fork_is_does_not_tell_where_it_begins(forks, type_):
    longer = defaultdict(dict)
    for source, fork in forks:
        if fork.forks[0].type == type_:
            difference = abs(len(fork.turns) - len(source.turns))
            longer[source.external_id][fork.forks[0].k] = difference
    taus = []
    for found in longer.values():
        values = [found[k] for k in (1, 2, 3, 4)]
        taus.append(0.0 if len(set(values)) == 1 else kendalltau([4, 3, 2, 1], values).statistic)
    assert len(taus) == 90
    assert abs(np.mean(taus)) <= 0.3


def test_no_two_forks_of_a_source_are_alike_and_none_is_the_source(forks):
    by_source = defaultdict(list)
    for source, fork in forks:
        texts = tuple(turn.text for turn in fork.turns)
        assert texts != tuple(turn.text for turn in source.turns)
        by_source[source.external_id].append(texts)
    for texts in by_source.values():
        assert len(set(texts)) == 16


def test_twelve_trajectories_half_of_them_sound(demo):
    runs = [r for r in demo if isinstance(r, TrajectoryRecord)]
    assert len(runs) == 12
    planted = [run.meta["planted"] for run in runs if run.meta["planted"]]
    assert len(planted) == 6
    assert {p["type"] for p in planted} == {
        "factual",
        "referential",
        "logical",
        "procedural",
        "scope",
    }
    for run in runs:
        assert 4 <= len(run.steps) <= 8
        assert len(run.meta["mandates"]) >= 2
        if fault := run.meta["planted"]:
            step = run.steps[fault["step"] - 1]
            assert getattr(step, fault["component"])


def test_too_few_wordings_are_an_error_with_the_workflow_named(workflows, monkeypatch):
    monkeypatch.setattr("benchmark.demo.corpus.TRIES", 30)
    with pytest.raises(BadRecord, match="bike_repair: its wordings suffice for"):
        list(dialogues(workflows["bike_repair"], n=31))


def test_a_workflow_file_that_lacks_a_field_is_named(tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text('name = "odd"\ndomain = "library"\n')
    with pytest.raises(BadRecord, match=r"odd.toml: lacks the field 'steps'|'begins'"):
        read_workflow(path, {"library": {}})
    path.write_text("name = ")
    with pytest.raises(BadRecord, match=r"odd.toml: is not TOML"):
        read_workflow(path, {})


def test_forks_of_stored_dialogues_are_those_of_the_records(db, demo, workflows):
    from benchmark.generating import fork_corpus
    from benchmark.importing import import_records
    from benchmark.models import Corpus, Fork

    source = Corpus.objects.create(slug="demo", title="Demo")
    into = Corpus.objects.create(slug="demo-forks", title="Forks")
    held = [r for r in demo if not isinstance(r, TrajectoryRecord)]
    few = [r for r in held if isinstance(r, WorkflowRecord) or r.external_id.endswith("-01")]
    import_records(source, "scripted", few)
    report = fork_corpus(source, into, "scripted", 7)
    assert (report.sources, report.forks, report.new) == (9, 144, 144)
    engine = ScriptedEngine((), workflows, seed=7)
    first = next(r for r in few if isinstance(r, DialogueRecord))
    for fork in engine.forks(first):
        row = Fork.objects.get(dialogue__external_id=fork.external_id)
        stored = row.dialogue.turns.order_by("number").values_list("text", flat=True)
        assert list(stored) == [turn.text for turn in fork.turns]
        assert row.instruction == fork.forks[0].instruction
