"""The demo's runs: what is planted is what the labels say, and the judge errs as judges do."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from benchmark import demo
from benchmark.demo.scripted_runs import MODELS, scripted_runs
from benchmark.label_records import SIGNALS, TYPES
from benchmark.records import BadRecord


@pytest.fixture(scope="module")
def runs():
    return list(scripted_runs(demo.SEED))


def test_the_same_seed_gives_the_same_runs_and_another_one_does_not(runs):
    assert [r.digest for r in scripted_runs(demo.SEED)] == [r.digest for r in runs]
    assert [r.digest for r in scripted_runs(7)] != [r.digest for r in runs]


def test_every_model_answers_every_question(runs):
    by_question = defaultdict(set)
    for run in runs:
        by_question[run.question].add(run.model)
    assert len(by_question) == 20
    assert set(map(frozenset, by_question.values())) == {frozenset(MODELS)}
    assert len({run.external_id for run in runs}) == len(runs) == 60


def test_every_type_is_planted_and_sound_runs_are_there(runs):
    labels = [run.labels[0] for run in runs]
    types = Counter(name for label in labels for name in label.types)
    assert set(types) == set(TYPES)
    assert min(types.values()) >= 3
    assert 10 <= sum(not label.present for label in labels) <= 30
    assert any(len(label.types) == 2 for label in labels)


def test_no_blank_is_left_open(runs):
    for run in runs:
        texts = [run.task, run.expected, run.response]
        for step in run.steps:
            texts += [step.thought, step.action, step.observation]
        assert not any("{" in text or "}" in text for text in texts)


def test_a_planted_place_holds_text_and_differs_from_the_sound_run(runs):
    places = 0
    for run in runs:
        for place in run.labels[0].places:
            step = run.steps[place.step - 1] if place.step else None
            text = getattr(step, place.component) if step else run.response
            assert text
            places += 1
    assert places > 40


def test_signals_tell_of_faults_without_giving_them_away(runs):
    table = Counter()
    for run in runs:
        assert {signal.name for signal in run.signals} == set(SIGNALS)
        clear = next(s.value for s in run.signals if s.name == "clarity_and_justification")
        table[run.labels[0].present, clear] += 1
    assert table[True, False] > 3 * table[True, True]
    assert table[False, True] > 3 * table[False, False]


def test_the_judge_misses_and_invents_and_sometimes_cannot_be_read(runs):
    truth = {run.external_id: run.labels[0].present for run in runs}
    cells, unreadable = Counter(), 0
    for name, text in demo.judge_answers(runs, demo.SEED):
        try:
            said = json.loads(text.strip("`").removeprefix("json"))
        except ValueError:
            unreadable += 1
            continue
        cells[truth[name], said["hallucinations"]] += 1
    assert min(cells[cell] for cell in ((True, True), (True, False), (False, True))) >= 2
    assert 1 <= unreadable <= 6


def test_a_script_that_lacks_a_value_is_named(tmp_path):
    path = tmp_path / "scripts.toml"
    path.write_text('[mandates]\n[[script]]\nname = "x"\ntask = "{who}"\nvalues = [{a = 1}]\n')
    with pytest.raises(BadRecord, match=r"scripts.toml: lacks the field or value"):
        list(scripted_runs(1, path))
    path.write_text("[[")
    with pytest.raises(BadRecord, match=r"scripts.toml: is not TOML"):
        list(scripted_runs(1, path))
