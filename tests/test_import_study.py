"""Answers of other tools: each has its place or a line that says why not; twice changes nothing."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from annotation import exporting
from annotation.export_rows import Filter
from annotation.foreign_answers import label_studio
from annotation.models import (
    Assignment,
    InstructionConfirmation,
    OnsetMark,
    PrefixJudgement,
    Seat,
    Skip,
    SliderRating,
    StepTime,
    Study,
)
from benchmark.models import Corpus, Dialogue
from tests.judgements import judge, make_seats

CHAT = [
    {"role": "user", "content": "A table, please."},
    {"role": "assistant", "content": "For how many?"},
]


def number(name, value):
    return {"from_name": name, "to_name": "c", "type": "number", "value": {"number": value}}


def choice(name, *labels):
    return {"from_name": name, "to_name": "c", "type": "choices", "value": {"choices": [*labels]}}


def task(ident, *annotations, **data):
    made = [
        {"id": 10 * ident + n, "completed_by": by, "result": [*result], "lead_time": 12.5, **more}
        for n, (by, result, more) in enumerate(annotations)
    ]
    return {"id": ident, "data": {"messages": CHAT} | data, "annotations": made}


def by(judge, *result, **more):
    return judge, result, more


def put(tmp_path, *tasks, name="tasks.json"):
    path = tmp_path / name
    path.write_text(json.dumps(tasks, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def run(path, *args, format="label-studio", code=0, capsys=None):
    """What the command said, as JSON; `code` is how it should end."""
    arguments = [format, str(path), "--study", "old", "--corpus", "old-items", "--json", *args]
    if code:
        with pytest.raises(SystemExit) as ended:
            call_command("import_study", *arguments)
        assert ended.value.code == code
    else:
        call_command("import_study", *arguments)
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture
def path(tmp_path):
    return put(
        tmp_path,
        task(
            1,
            by(7, number("rating", 80), choice("seen", "No")),
            by({"id": 9, "email": "ann@example.org"}, number("rating", 20), choice("seen", "Yes")),
        ),
        task(2, by(7, was_cancelled=True)),
    )


@pytest.mark.django_db
def test_answers_become_a_closed_study_with_drawn_pseudonyms(path, capsys):
    said = run(path, "--appears", "seen", capsys=capsys)
    assert (said["new"], said["items"], said["seats"], said["rejected"]) == (3, 2, 2, [])
    study = Study.objects.get(slug="old")
    assert study.state == "closed"
    assert set(study.seats.values_list("user", "simulated")) == {(None, False)}
    assert sorted(SliderRating.objects.values_list("value", flat=True)) == [20, 80]
    assert sorted(InstructionConfirmation.objects.values_list("answer", flat=True)) == ["no", "yes"]
    assert Skip.objects.get().assignment.item.dialogue.external_id == "2"
    first = Dialogue.objects.get(external_id="1")
    assert list(first.turns.values_list("role", "text")) == [
        ("user", "A table, please."),
        ("assistant", "For how many?"),
    ]
    time = StepTime.objects.first()
    assert (time.submitted_at - time.opened_at).total_seconds() == 12.5
    assert "ann@example.org" not in json.dumps(study.design)


@pytest.mark.django_db
def test_importing_the_same_answers_twice_changes_nothing(path, capsys):
    run(path, "--appears", "seen", capsys=capsys)
    before = list(Assignment.objects.order_by("pk").values())
    seats = list(Seat.objects.order_by("pk").values())
    said = run(path, "--appears", "seen", capsys=capsys)
    assert (said["new"], said["unchanged"], said["rejected"]) == (0, 3, [])
    assert list(Assignment.objects.order_by("pk").values()) == before
    assert list(Seat.objects.order_by("pk").values()) == seats


@pytest.mark.django_db
def test_a_label_without_a_place_is_listed_with_its_line_and_the_rest_is_kept(tmp_path, capsys):
    path = put(
        tmp_path,
        task(1, by(1, number("rating", 50), choice("seen", "Maybe"))),
        task(2, by(1, number("rating", 60), choice("seen", "Yes"))),
    )
    line = 1 + path.read_text().splitlines().index('  "id": 1,')
    said = run(path, "--appears", "seen", code=3, capsys=capsys)
    assert said["new"] == 1
    (bad,) = said["rejected"]
    assert bad["where"] == f"tasks.json:{line - 1}, annotations[1], seen"
    assert "the label 'Maybe' has no place" in bad["reason"]
    said = run(path, "--appears", "seen", "--map", "Maybe=partly", capsys=capsys)
    assert (said["new"], said["unchanged"]) == (1, 1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("result", "args", "sentence"),
    [
        ([], (), "is not answered; a judgement starts with a rating"),
        ([number("rating", 101)], (), "it must lie from 0 to 100"),
        ([number("rating", 4.5)], (), "without --scale it must be a whole number"),
        ([number("rating", 9)], ("--scale", "1:5"), "it must lie from 1 to 5"),
        ([number("rating", 3), number("rating", 4)], (), "rating is answered twice"),
        ([choice("rating", "good")], (), "must be a number"),
        ([number("rating", 1), choice("a", "x", "y")], ("--appears", "a"), "several labels"),
        (
            [number("rating", 1), choice("a", "yes"), number("o", 1)],
            ("--appears", "a", "--onset", "o"),
            "turn 1 is no turn of the assistant",
        ),
        (
            [number("rating", 1), choice("p", "yes")],
            ("--prefix", "p"),
            "has no place without an answer to step 2",
        ),
    ],
)
def test_an_answer_that_cannot_be_is_a_sentence(tmp_path, capsys, result, args, sentence):
    path = put(tmp_path, task(1, by(1, *result)), task(2, by(1, number("rating", 5))))
    said = run(path, *args, code=3, capsys=capsys)
    assert said["new"] == 1
    assert sentence in said["rejected"][0]["reason"]


@pytest.mark.django_db
def test_a_rating_is_scaled_only_when_the_scale_is_declared(tmp_path, capsys):
    path = put(tmp_path, *(task(n, by(1, number("rating", n))) for n in (1, 2, 3, 4, 5)))
    run(path, "--scale", "1:5", capsys=capsys)
    values = SliderRating.objects.order_by("pk").values_list("value", flat=True)
    assert list(values) == [0, 25, 50, 75, 100]


@pytest.mark.django_db
def test_a_text_that_changed_under_its_answers_is_refused(path, tmp_path, capsys):
    run(path, "--appears", "seen", capsys=capsys)
    other = put(tmp_path, task(1, by(8, number("rating", 3)), messages=CHAT[::-1]))
    said = run(other, code=1, capsys=capsys)
    assert [bad["where"].split(",")[0] for bad in said["rejected"]] == ["tasks.json:2"] * 2
    assert SliderRating.objects.count() == 2
    assert Dialogue.objects.get(external_id="1").turns.get(number=1).role == "user"


@pytest.mark.django_db
def test_another_answer_of_the_same_person_does_not_replace_the_first(path, tmp_path, capsys):
    run(path, "--appears", "seen", capsys=capsys)
    other = put(tmp_path, task(1, by(7, number("rating", 3)), by(11, number("rating", 4))))
    said = run(other, "--appears", "seen", code=3, capsys=capsys)
    assert (said["new"], said["seats"]) == (1, 3)
    assert "another answer of this person is here" in said["rejected"][0]["reason"]


@pytest.mark.django_db
def test_what_has_no_place_is_counted_by_name(tmp_path, capsys):
    region = {"from_name": "span", "type": "labels", "value": {"start": 1, "end": 2}}
    path = put(tmp_path, task(1, by(1, number("rating", 5), number("mood", 3), region)))
    assert run(path, capsys=capsys)["ignored"] == {"mood": 1, "span": 1}


@pytest.mark.django_db
def test_our_own_export_in_this_shape_comes_back_with_every_answer(
    forked, tmp_path, capsys, settings
):
    settings.VAR_DIR = tmp_path
    study = make_seats(forked, n_items=6)
    said = ("yes", "partly", "no")
    for place, assignment in enumerate(Assignment.objects.order_by("pk")):
        judge(assignment, 7 * place, said[place % 3])
    out = tmp_path / "out"
    exporting.write_folder(study, "label-studio", Filter(), out)
    args = ("--appears", "appears", "--onset", "onset", "--prefix", "prefix")
    report = run(out / "tasks.json", *args, capsys=capsys)
    assert (report["new"], report["seats"], report["rejected"]) == (12, 2, [])
    for model, path in (
        (SliderRating, "assignment"),
        (InstructionConfirmation, "slider__assignment"),
        (OnsetMark, "confirmation__slider__assignment"),
        (PrefixJudgement, "onset__confirmation__slider__assignment"),
    ):
        counts = [
            model.objects.filter(**{f"{path}__seat__study__slug": slug}).count()
            for slug in ("s1", "old")
        ]
        assert counts[0] == counts[1] > 0, model
    ratings = [
        sorted(SliderRating.objects.filter(assignment__seat__study__slug=s).values_list("value"))
        for s in ("s1", "old")
    ]
    assert ratings[0] == ratings[1]


def potato_line(item, user, **labels):
    return json.dumps(
        {
            "user_id": user,
            "instance_id": item,
            "displayed_text": "User: A table, please.\nAssistant: For how many?",
            "label_annotations": labels,
            "span_annotations": [],
        }
    )


@pytest.mark.django_db
def test_potato_answers_come_with_sliders_scales_and_choices(tmp_path, capsys):
    path = tmp_path / "annotated_instances.jsonl"
    path.write_text(
        "\n".join(
            (
                potato_line("a", "u1", rating={"slider": "37"}, seen={"yes": True, "no": False}),
                potato_line("a", "u2", rating={"scale_3": "3"}, seen={"labels": {"no": "1"}}),
                potato_line("b", "u2", rating={"4": "4"}, seen={"select": "partly"}),
            )
        )
    )
    said = run(path, "--appears", "seen", format="potato", capsys=capsys)
    assert (said["new"], said["items"], said["seats"]) == (3, 2, 2)
    rows = SliderRating.objects.order_by("pk").values_list("value", "confirmation__answer")
    assert list(rows) == [(37, "yes"), (3, "no"), (4, "partly")]
    roles = Dialogue.objects.get(external_id="a").turns.order_by("number")
    assert list(roles.values_list("role", flat=True)) == ["user", "assistant"]


@pytest.mark.django_db
def test_potato_states_need_the_file_with_the_texts(tmp_path, capsys):
    folder = tmp_path / "out" / "u1"
    folder.mkdir(parents=True)
    pairs = [[{"schema": "rating", "name": "slider"}, "12"]]
    state = {"user_id": "u1", "instance_id_to_label_to_value": {"a": pairs}}
    (folder / "user_state.json").write_text(json.dumps(state))
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps({"id": "a", "text": "Just a text."}))
    said = run(tmp_path / "out", format="potato", code=1, capsys=capsys)
    assert "the text of item a is not there" in said["rejected"][0]["reason"]
    assert not Study.objects.exists() and not Corpus.objects.exists()
    run(tmp_path / "out", "--items", str(items), format="potato", capsys=capsys)
    assert SliderRating.objects.get().value == 12
    assert Dialogue.objects.get().turns.get().role == "assistant"


def test_every_element_of_a_document_has_its_line(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('\n[ {"id": 1,\n "data": {}},\n\n{"id": 2, "data": {}} , 3\n]')
    assert [found.where for found in label_studio(path)] == [
        "t.json:2",
        "t.json:5",
        "t.json:5, task",
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--scale", "5:1"], "write LOW:HIGH"),
        (["--scale", "nan:1"], "write LOW:HIGH"),
        (["--map", "Maybe=perhaps"], "write LABEL=WORD"),
        (["--title", "A study of forks"], "says 'forks'"),
        (["--items", "gone.jsonl"], "no such file"),
        (["--study", "a b"], "--study a b"),
    ],
)
def test_an_option_that_is_wrong_is_a_sentence(path, args, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command(
            "import_study", "label-studio", str(path), "--study", "old", "--corpus", "c", *args
        )
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_a_study_that_was_made_here_takes_no_foreign_answers(path):
    Study.objects.create(slug="old", title="Mine", seed=1)
    with pytest.raises(CommandError, match="already that was not imported"):
        call_command("import_study", "label-studio", str(path), "--study", "old", "--corpus", "c")
    assert not Seat.objects.exists() and not Corpus.objects.exists()


@pytest.mark.django_db
def test_a_file_that_is_no_export_stores_nothing(tmp_path, capsys):
    path = tmp_path / "x.json"
    path.write_text("{")
    said = run(path, code=1, capsys=capsys)
    assert "not valid JSON" in said["rejected"][0]["reason"]
    assert not Corpus.objects.exists()


@pytest.mark.django_db
def test_five_hundred_items_imported_twice_are_five_hundred(
    tmp_path, capsys, django_assert_max_num_queries
):
    lines = (json.dumps(task(n, by(n % 3, number("rating", n % 101)))) for n in range(1, 501))
    path = tmp_path / "tasks.jsonl"
    path.write_text("\n".join(lines))
    with django_assert_max_num_queries(70):
        said = run(path, capsys=capsys)
    assert (said["new"], said["items"], said["seats"]) == (500, 500, 3)
    said = run(path, capsys=capsys)
    assert (said["new"], said["unchanged"], said["items"]) == (0, 500, 500)
    ranks = (
        Assignment.objects.filter(seat__number=1).order_by("rank").values_list("rank", flat=True)
    )
    assert list(ranks) == list(range(1, 168))


@pytest.mark.django_db
def test_an_imported_study_has_its_pages(path, capsys, client, researcher):
    run(path, "--appears", "seen", capsys=capsys)
    client.force_login(researcher)
    for page in ("report", "exports", "adjudication"):
        assert client.get(f"/studies/old/{page}/").status_code == 200, page
    queue = client.get("/studies/old/adjudication/").content.decode()
    item = Study.objects.get().items.get(dialogue__external_id="1")
    assert f"/studies/old/adjudication/{item.pk}/" in queue
    assert client.get(f"/studies/old/adjudication/{item.pk}/").status_code == 200
