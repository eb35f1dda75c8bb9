"""Pages of judges, their answers and prompts: for researchers, complete, whatever a judge wrote."""

from __future__ import annotations

import csv
import io
import json

import pytest

from benchmark.judge_answer_files import AnswerRow
from benchmark.judge_answer_imports import Import, import_answers
from benchmark.judge_prompts import load
from benchmark.judge_raters import judge_rater, stored_prompt
from benchmark.label_records import JUDGE, LabelRecord
from benchmark.labelling import store_label
from benchmark.models import JudgeAnswer, JudgePrompt, Rater
from tests.judge_texts import judge_text, judge_texts
from tests.run_studies import make_runs

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(client, researcher):
    client.force_login(researcher)
    return client


@pytest.fixture
def runs():
    return make_runs("plant", models=2, questions=3)


def answered(corpus, texts, version=1, model="large"):
    """The judge that wrote `texts` on the runs of `corpus`, in their order."""
    prompt = load("whole-run", version)
    judge = judge_rater(f"{model} / {prompt}", model=model, prompt=prompt)
    names = corpus.trajectories.order_by("pk").values_list("external_id", flat=True)
    rows = [AnswerRow("a", raw, run=name) for name, raw in zip(names, texts, strict=False)]
    import_answers(Import(corpus, judge), rows)
    return judge


def page(client, address, **query) -> str:
    response = client.get(address, query)
    assert response.status_code == 200
    return response.content.decode()


def test_the_list_names_judges_prompts_and_counts(reader, runs):
    judge = answered(runs, [judge_text(), judge_text(False), "No."])
    text = page(reader, "/judges/")
    assert judge.name in text and "/prompts/whole-run/1/" in text and "50.0 % [9.5, 90.5]" in text
    for row in reader.get("/judges/").context["rows"]:
        assert (row["read"], row["rejected"], row["yes"], row["runs"]) == (2, 1, 1, 2)


def test_rates_count_a_run_once_however_often_it_was_asked_about(reader, runs):
    judge = answered(runs, [judge_text(), judge_text(False)])
    run = runs.trajectories.order_by("pk").first().external_id
    import_answers(Import(runs, judge, trial=2), [AnswerRow("b", judge_text(), run=run)])
    (row,) = reader.get("/judges/").context["rows"]
    assert (row["read"], row["runs"], row["yes"]) == (3, 2, 1)
    assert row["rate"] == "50.0 % [9.5, 90.5]"
    text = page(reader, f"/judges/{judge.pk}/")
    assert "of 2 runs, first trial" in text and "50.0 % [9.5, 90.5]" in text


def test_the_list_costs_the_same_for_any_number_of_judges(reader, runs, django_assert_num_queries):
    reader.get("/judges/")
    for version in (1, 2, 3, 4):
        answered(runs, judge_texts(6, seed=version), version)
    with django_assert_num_queries(7):
        reader.get("/judges/")


def test_the_list_leads_to_variants_where_two_can_be_compared(reader, runs):
    address = "/corpora/plant/prompt-variants/?set=whole-run"
    judge = answered(runs, [judge_text()], 1)
    assert address not in page(reader, "/judges/")
    answered(runs, [judge_text()], 2)
    assert address in page(reader, "/judges/")
    assert address in page(reader, f"/judges/{judge.pk}/")


def test_without_judges_the_list_says_how_they_come(reader):
    assert "import_judge_answers" in page(reader, "/judges/")


def test_a_judge_shows_each_answer_as_read_and_word_for_word(reader, runs):
    judge = answered(runs, [judge_text(location="Step 2, Action; Final response"), "No idea."])
    text = page(reader, f"/judges/{judge.pk}/")
    run = runs.trajectories.order_by("pk").first()
    assert f"/trajectories/{run.pk}/?step=2#step-2" in text
    assert "final response" in text and "The order was never placed." in text
    assert "holds no JSON object" in text and "No idea." in text
    assert "&quot;hallucinations&quot;: true" in text


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ({"status": "rejected"}, 1),
        ({"status": "read"}, 4),
        ({"says": "no"}, 1),
        ({"says": "yes", "type": "scope"}, 1),
        ({"type": "unnamed"}, 1),
        ({"type": "logical"}, 0),
        ({"reason": "holds no JSON object"}, 1),
        ({"q": "m1-q0"}, 1),
        ({"corpus": "plant"}, 5),
    ],
)
def test_answers_are_filtered(reader, runs, query, n):
    texts = [judge_text(), judge_text(types=["scope"]), judge_text(types=[]), judge_text(False)]
    judge = answered(runs, [*texts, "?"])
    response = reader.get(f"/judges/{judge.pk}/", query)
    assert response.context["n"] == len(response.context["rows"]) == n


def test_a_word_no_filter_knows_is_refused_in_a_sentence(reader, runs):
    judge = answered(runs, [judge_text()])
    for query, words in (
        ({"status": "lost"}, "must be one of read, rejected"),
        ({"type": "wild"}, "must be one of factual"),
        ({"corpus": "none"}, "must be one of plant"),
        ({"after": "x"}, "must be a whole number"),
    ):
        response = reader.get(f"/judges/{judge.pk}/", query)
        assert response.status_code == 400 and words in response.content.decode()


def test_a_page_of_answers_costs_the_same_at_any_length(reader, django_assert_num_queries):
    corpus = make_runs("many", models=2, questions=40)
    judge = answered(corpus, judge_texts(80, seed=4, unreadable=0.1))
    reader.get(f"/judges/{judge.pk}/")
    for query, shown in (({}, 50), ({"q": "m0-q1"}, 11)):
        with django_assert_num_queries(13):
            response = reader.get(f"/judges/{judge.pk}/", query)
        assert len(response.context["rows"]) == shown


def test_hostile_words_of_a_judge_are_text(reader, runs):
    words = "<script>alert(1)</script>\u202eabc"
    judge = answered(runs, [judge_text(rationale=words), f"</pre>{words}", "x" * 5_000])
    text = page(reader, f"/judges/{judge.pk}/")
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
    assert "All 5,000 characters" in text and "x" * 2_001 not in text
    answer = JudgeAnswer.objects.get(raw="x" * 5_000)
    whole = reader.get(f"/judge-answers/{answer.pk}/")
    assert whole.content.decode() == answer.raw
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert whole["X-Content-Type-Options"] == "nosniff"


def test_labels_that_came_without_an_answer_are_said(reader, runs):
    judge = Rater.objects.create(name="published judge", kind=JUDGE)
    store_label(runs.trajectories.first(), LabelRecord(judge.name, False, kind=JUDGE), rater=judge)
    assert "came with the data" in page(reader, f"/judges/{judge.pk}/")
    assert reader.get("/judges/999999/").status_code == 404
    person = Rater.objects.create(name="seat", kind="person")
    assert reader.get(f"/judges/{person.pk}/").status_code == 404


def test_every_prompt_is_listed_whether_asked_or_not(reader, runs):
    answered(runs, [judge_text()], version=2)
    JudgePrompt.objects.create(name="brought", version=3, text="Is {run} right?", digest="d")
    text = page(reader, "/prompts/")
    for address in ("/prompts/whole-run/8/", "/prompts/four-fields/1/", "/prompts/brought/3/"):
        assert address in text
    assert text.count("not asked yet") == 8
    assert "verdict first" in text


def test_a_prompt_shows_its_words_fields_judges_and_changes(reader, runs):
    judge = answered(runs, [judge_text()], version=2)
    response = reader.get("/prompts/whole-run/2/")
    text = response.content.decode()
    assert judge.name in text and "{characteristic_answer}" in text
    assert "the whole run: mandates where known" in text
    changes = response.context["changes"]
    assert (
        "removed",
        "A hallucination is something an agent states, assumes or does that the task"
        ", the data or the earlier",
    ) in changes
    assert any(kind == "added" and "made up" in line for kind, line in changes)
    assert "What changed against version 1" in text
    other = reader.get("/prompts/whole-run/2/", {"against": 8})
    assert "What changed against version 8" in other.content.decode()


def test_what_is_no_prompt_or_version_is_refused(reader):
    assert reader.get("/prompts/whole-run/99/").status_code == 404
    assert reader.get("/prompts/none/1/").status_code == 404
    wrong = reader.get("/prompts/whole-run/1/", {"against": 99})
    assert wrong.status_code == 400 and b"must be one of 2, 3" in wrong.content
    first = reader.get("/prompts/whole-run/1/").content.decode()
    assert "Compare with another version" in first
    assert "What changed" not in reader.get("/prompts/four-fields/1/").content.decode()


def test_a_stored_prompt_with_markup_is_text(reader):
    JudgePrompt.objects.create(name="odd", version=1, text="<b>{run}</b>", digest="d")
    JudgePrompt.objects.create(name="odd", version=2, text="<i>{run}</i>", digest="e")
    text = page(reader, "/prompts/odd/2/")
    assert "<i>" not in text and "&lt;b&gt;{run}" in text


def test_a_stored_prompt_with_a_field_nobody_knows_can_be_read(reader):
    JudgePrompt.objects.create(name="odd", version=1, text="Is {this} right?", digest="d")
    text = page(reader, "/prompts/odd/1/")
    assert "Is {this} right?" in text and "a judge cannot be asked with it" in text
    assert "/prompts/odd/1/" in page(reader, "/prompts/")


def test_variants_are_compared_on_a_page_and_in_files(reader, runs):
    answered(runs, [judge_text(True)] * 6, 1)
    answered(runs, [judge_text(True)] * 2 + [judge_text(False)] * 3 + ["?"], 2)
    text = page(reader, "/corpora/plant/prompt-variants/")
    assert "What changes against the base" in text and "-0.600" in text
    response = reader.get(
        "/corpora/plant/prompt-variants/", {"format": "csv", "figure": "differences"}
    )
    (row,) = csv.DictReader(io.StringIO(response.content.decode()))
    assert (float(row["difference"]), row["difference_n"]) == (pytest.approx(-0.6), "5")
    assert (row["only_base"], row["p"]) == ("3", "0.25")
    assert "plant-whole-run-differences.csv" in response["Content-Disposition"]


def test_variants_refuse_what_they_do_not_know(reader, runs):
    answered(runs, [judge_text(True)] * 6, 1)
    for query, words in (
        ({"set": "none"}, "must be one of whole-run"),
        ({"format": "csv"}, "figure must be one of rates"),
        ({"format": "csv", "figure": "x"}, "must be one of rates"),
        ({"format": "pdf"}, "must be one of html, csv"),
    ):
        response = reader.get("/corpora/plant/prompt-variants/", query)
        assert response.status_code == 400 and words in response.content.decode()
    assert reader.get("/corpora/nowhere/prompt-variants/").status_code == 404


def test_without_variants_the_page_says_how_they_come(reader, runs):
    text = page(reader, "/corpora/plant/prompt-variants/")
    assert "import_judge_answers PATH --corpus plant" in text
    answered(runs, [judge_text(True)] * 6, 1)
    one = page(reader, "/corpora/plant/prompt-variants/")
    assert "a comparison needs two judges of one model" in one


def test_the_variants_page_costs_the_same_for_two_and_eight(
    reader, runs, django_assert_num_queries
):
    reader.get("/corpora/plant/prompt-variants/")
    for versions in ((1, 2), (3, 4, 5, 6, 7, 8)):
        for version in versions:
            answered(runs, judge_texts(6, seed=version), version)
        with django_assert_num_queries(9):
            reader.get("/corpora/plant/prompt-variants/")


def test_annotators_find_none_of_it(client, annotator, runs):
    judge = answered(runs, [judge_text()])
    stored_prompt(load("whole-run", 1))
    client.force_login(annotator)
    for address in (
        "/judges/",
        f"/judges/{judge.pk}/",
        f"/judge-answers/{judge.answers.get().pk}/",
        "/prompts/",
        "/prompts/whole-run/1/",
        "/corpora/plant/prompt-variants/",
    ):
        assert client.get(address).status_code == 404, address
    assert json.loads(judge.answers.get().raw)["hallucinations"] is True
