"""Several people on one run: one answer by a rule, or each review for itself; and where they go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation import label_several_tables
from annotation.label_disagreements import differing, disagreements
from annotation.label_pairs import question_of
from annotation.people_labels import ANY, EACH, MAJORITY, PEOPLE, combined, one_answer
from annotation.review_rows import AWAY, NEITHER, SAME, TOWARDS, ReviewRow, runs_of
from annotation.run_summary import MOST_RATERS, among_section, coverage_figure, study_sections
from benchmark.label_records import PERSON, TYPES, LabelRecord, PlaceRecord
from tests.labelled import JUDGE, Run, said

subsets = st.lists(st.sampled_from(TYPES), unique=True)


def person(name, types, *steps):
    return said(name, types, [PlaceRecord(step, "thought") for step in steps], kind=PERSON)


def test_more_than_half_must_say_yes_and_a_tie_is_no_answer():
    a, b, c = person("a", ["factual"]), person("b", None), person("c", ["factual", "scope"])
    assert one_answer([a, b], MAJORITY) is None
    assert one_answer([], ANY) is None
    answer = one_answer([a, b, c], MAJORITY)
    assert answer.present and answer.types == ("factual",) and answer.rater == PEOPLE
    assert not one_answer([a, b, person("d", None)], MAJORITY).present
    assert one_answer([a, b, person("d", None)], ANY).types == ("factual",)


def test_types_are_asked_of_those_who_say_which():
    untyped, typed = person("a", []), person("b", ["logical"])
    assert one_answer([untyped, typed], MAJORITY).types == ("logical",)
    assert not one_answer([untyped], MAJORITY).types


def test_places_need_more_than_half_and_keep_what_is_shared():
    def at(step, type_, evidence=None):
        return PlaceRecord(step, "thought", type_, "", evidence)

    one = said("a", ["factual"], [at(3, "factual", 1), at(4, "factual")])
    other = said("b", ["factual", "logical"], [at(3, "logical", 2)])
    assert one_answer([one, other], MAJORITY).places == (PlaceRecord(3, "thought"),)
    assert [p.step for p in one_answer([one, other], ANY).places] == [3, 4]
    final = said("c", ["factual"], [PlaceRecord(None, "response")])
    assert one_answer([final], MAJORITY).places == (PlaceRecord(None, "response"),)


@given(st.lists(st.none() | subsets, max_size=5), st.sampled_from([MAJORITY, ANY]), st.randoms())
def test_the_order_of_people_does_not_matter(answers, rule, random):
    labels = [
        person(f"p{n}", types, 1) if types else person(f"p{n}", types)
        for n, types in enumerate(answers)
    ]
    shuffled = list(labels)
    random.shuffle(shuffled)
    assert one_answer(labels, rule) == one_answer(shuffled, rule)


@given(st.none() | subsets, st.sampled_from([MAJORITY, ANY]))
def test_one_person_is_taken_at_their_word(types, rule):
    label = person("a", types)
    answer = one_answer([label], rule)
    assert (answer.present, set(answer.types)) == (label.present, set(label.types))


def test_each_review_is_a_run_that_stays_with_its_question():
    runs = [
        Run(7, {"a": person("a", None), "b": person("b", None), JUDGE: said(JUDGE, None)}, "r7"),
        Run(9, {JUDGE: said(JUDGE, None)}, "r9"),
    ]
    found = combined(runs, {"a", "b"}, EACH)
    assert [run.pk for run in found.runs] == [0, 1, 2] and found.keys == {0: 7, 1: 7, 2: 9}
    assert found.pools == {0: "a", 1: "b"} and found.tied == 0
    assert question_of(found.runs[0]) == question_of(found.runs[1]) != question_of(found.runs[2])
    assert set(found.runs[0].labels) == {PEOPLE, JUDGE} and set(found.runs[2].labels) == {JUDGE}
    with pytest.raises(ValueError, match="must be one of majority, any, each"):
        combined(runs, {"a"}, "most")


def test_ties_are_counted_once_per_run():
    run = Run(1, {"a": person("a", None), "b": person("b", [])})
    found = combined([run, Run(2, {})], {"a", "b"}, MAJORITY)
    assert found.tied == 1 and all(PEOPLE not in each.labels for each in found.runs)


def row(key, label, judge, revised=None, **more):
    given = {"group": "people", "person": "A-00000001", "rank": key, "item": key, "run": key}
    given |= {"external_id": f"r{key}", "corpus": "plant", "model": "m", "question": f"q{key}"}
    more = {"status": "finished", "agreement": "disagree", "differs_on": (), **more}
    said_ = {"label": label, "judge": judge, "revised": revised, "changed": revised is not None}
    return ReviewRow(key=key, n_steps=4, **given | said_ | more)


@pytest.mark.parametrize(
    ("first", "judge", "second", "moved"),
    [
        (None, ["factual"], ["factual"], TOWARDS),
        (None, ["factual"], ["logical"], TOWARDS),
        (["logical"], ["factual"], None, AWAY),
        (["factual"], None, ["factual", "scope"], NEITHER),
        (["factual", "scope"], ["factual"], ["factual"], TOWARDS),
        (["factual"], ["factual"], ["factual", "scope"], AWAY),
        (["factual"], ["logical"], ["scope"], NEITHER),
        (["factual"], ["logical"], ["factual"], SAME),
    ],
)
def test_a_second_answer_goes_towards_the_judge_or_away(first, judge, second, moved):
    found = row(1, said("a", first), said(JUDGE, judge), said("a", second))
    assert found.moved == moved


def test_without_a_judge_or_a_second_answer_nothing_has_moved():
    assert row(1, said("a", None), None, said("a", [])).moved == ""
    assert row(1, said("a", None), said(JUDGE, None)).moved == ""


def test_second_answers_and_uncounted_rows_are_in_no_agreement():
    label, judge, again = said("A-00000001", None), said(JUDGE, []), said("A-00000001", ["scope"])
    rows = [
        row(1, label, judge, again),
        row(2, label, judge, status="withdrawn"),
        row(3, label, judge, post_reveal=True),
        row(4, None, judge, agreement=None),
    ]
    (run,) = runs_of(rows, {})
    assert run.pk == 1 and not run.labels["A-00000001"].present
    sections = {section.name: section for section in study_sections(rows, {}, seed=1)}
    assert sections["judge"].named()["judge-table"].n == 1
    assert sections["work"].named()["work-comparison"].n == 1


def test_differences_are_presence_then_types_then_the_first_step():
    assert differing(person("a", None), person("b", ["scope"], 1)) == ("presence",)
    assert differing(person("a", ["scope"], 2), person("b", ["logical"], 1)) == ("types", "step")
    assert differing(person("a", [], 2), person("b", ["logical"], 2)) == ()
    runs = [
        Run(1, {"a": person("a", ["scope"], 2), "b": person("b", ["scope"], 3)}, "r1"),
        Run(2, {"a": person("a", None), "b": person("b", ["scope"], 3)}, "r2"),
        Run(3, {"a": person("a", None)}, "r3"),
    ]
    found = disagreements(runs, "a", "b")
    assert [(each.run, each.on, each.step) for each in found] == [
        (2, ("presence",), 3),
        (1, ("step",), 2),
    ]


def test_many_people_are_not_compared_two_by_two(monkeypatch):
    people = [f"A-{n:08d}" for n in range(MOST_RATERS + 1)]
    runs = [Run(1, {name: person(name, None) for name in people}, "r1")]
    monkeypatch.setattr(label_several_tables, "combinations", lambda *_: pytest.fail("compared"))
    section = among_section(runs, people, seed=1)
    assert [figure.name for figure in section.figures] == ["raters"]
    assert f"{len(people)} people" in section.note


def test_coverage_counts_what_could_not_be_read_too():
    figure = coverage_figure([Run(1, {"a": LabelRecord("a", False)}), Run(2, {})], {"mute": 2})
    rows = {each["rater"]: each for each in figure.rows}
    assert rows["a"]["coverage"] == 0.5 and rows["a"]["rate"].value == 0
    assert rows["mute"]["unread"] == 2 and rows["mute"]["rate"].reason == "no answer could be read"
