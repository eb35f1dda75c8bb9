"""Simulated seats are filled by a seed, marked for ever, and nobody else's seat is touched."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation import practice
from annotation.models import Assignment, OnsetMark, SliderRating, Study
from annotation.rehearsal import simulate_study
from benchmark.models import Corpus
from tests.small import make_corpus, make_forks
from tests.studies import make_study


def answers(study) -> list[tuple]:
    return list(
        Assignment.objects.filter(seat__study=study)
        .order_by("seat__number", "rank")
        .values_list(
            "slider__value",
            "slider__confirmation__answer",
            "slider__confirmation__onset__turn__number",
            "slider__confirmation__onset__prefix__answer",
        )
    )


def test_only_simulated_seats_are_filled_and_all_of_their_items(db):
    study = make_study(n_seats=3, n_simulated=2)
    assert simulate_study(study) == 10
    done = Assignment.objects.filter(seat__study=study, finished_at__isnull=False)
    assert done.filter(seat__simulated=True).count() == done.count() == 10
    assert SliderRating.objects.filter(assignment__seat__simulated=False).count() == 0


def test_a_second_run_changes_nothing(db):
    study = make_study(n_simulated=3)
    simulate_study(study)
    before = answers(study)
    assert simulate_study(study) == 0
    assert answers(study) == before


def test_a_run_that_stopped_goes_on_to_the_same_answers(db):
    study = make_study(n_simulated=3)
    simulate_study(study)
    whole = answers(study)
    last = Assignment.objects.filter(seat__number=2, rank__gte=3)
    OnsetMark.objects.filter(confirmation__slider__assignment__in=last).update(turn=None)
    for assignment in last:
        slider = SliderRating.objects.get(assignment=assignment)
        onset = slider.confirmation.onset
        if hasattr(onset, "prefix"):
            onset.prefix.delete()
        onset.delete()
        slider.confirmation.delete()
        slider.delete()
    last.update(finished_at=None)
    assert simulate_study(study) == 3
    assert answers(study) == whole


def test_onsets_are_assistant_turns_and_a_no_has_none(db):
    study = make_study(n_seats=6, n_simulated=6)
    simulate_study(study)
    for mark in OnsetMark.objects.select_related("turn", "confirmation"):
        if mark.confirmation.answer == "no":
            assert mark.turn is None
        else:
            assert mark.turn.role == "assistant"


def test_the_commands_draw_and_fill_a_study(annotator):
    forks = make_forks(make_corpus(n=6))
    out = StringIO()
    settings = {"title": "Round", "forks": forks.slug, "seed": 1, "seats": 2, "simulated": 1}
    call_command(
        "create_study",
        "round",
        forks_per_seat=4,
        conformant_per_seat=1,
        annotator=[annotator.username],
        json=True,
        stdout=out,
        **settings,
    )
    assert json.loads(out.getvalue().splitlines()[-1])["study"] == "round"
    assert Study.objects.get().seats.get(user=annotator).simulated is False
    out = StringIO()
    call_command("simulate_study", "round", json=True, stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1])["answered"] == 5


def test_every_part_of_a_study_can_be_set_from_the_command_line(db, tmp_path):
    forks = make_forks(make_corpus(n=9))
    consent = tmp_path / "consent.txt"
    consent.write_text("You may stop at any time. Ä", encoding="utf-8")
    call_command(
        "create_study",
        "round",
        "--title=Round",
        f"--forks={forks.slug}",
        "--seed=1",
        "--draft",
        "--seats=2",
        *("--forks-per-seat=4", "--conformant-per-seat=1", "--foil-share=0", "--overlap=0"),
        *("--type=WIC", "--type=GR", "--position=2", "--position=3"),
        *("--phase=consent", "--phase=practice", f"--consent={consent}"),
        *("--practice=2", "--pass-mark=1", "--attention=1", "--idle-hours=5"),
        *("--rate-per-hour=12.50", "--currency=GBP", "--code=complete=C1A2", "--code=partial=P9X"),
        stdout=StringIO(),
    )
    study = Study.objects.get()
    assert (study.state, study.launched_at) == ("draft", None)
    assert (study.consent[-1], study.phases) == ("Ä", ["consent", "practice"])
    assert (study.pass_mark, study.idle_hours, str(study.rate_per_hour)) == (1, 5, "12.50")
    assert study.codes == {"complete": "C1A2", "partial": "P9X"}
    assert study.design["types"] == ["WIC", "GR"] and study.design["positions"] == [2, 3]
    assert study.items.filter(kind="practice").count() == 2
    forked = study.items.filter(kind="main", dialogue__forks__isnull=False)
    assert not forked.filter(is_foil=True).exists()


def test_simulated_seats_pass_practice_and_attention_and_are_finished(db):
    study = make_study(
        n_seats=2,
        n_simulated=1,
        forks_per_seat=2,
        n_practice=2,
        n_attention=1,
        phases=["consent", "practice", "questionnaire"],
        pass_mark=2,
    )
    assert simulate_study(study) == 6
    seat = study.seats.get(simulated=True)
    assert (seat.state, seat.phase, seat.user) == ("finished", "done", None)
    assert practice.result(seat).n_right == 2
    assert practice.attention(seat) == (1, 1)
    assert not seat.assignments.filter(finished_at=None).exists()


def test_thirty_seats_are_filled_by_a_handful_of_writes(db, django_assert_max_num_queries):
    study = make_study(n_seats=30, n_simulated=30)
    with django_assert_max_num_queries(16):
        assert simulate_study(study) == 150


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (
            ["create_study", "x", "--title=T", "--forks=few", "--seed=1", "--code=AB"],
            "OUTCOME=CODE",
        ),
        (
            ["create_study", "x", "--title=T", "--forks=few", "--seed=1", "--consent=/none.txt"],
            "cannot be read",
        ),
        (["simulate_study", "none"], "no study"),
        (["create_study", "x", "--title=T", "--forks=none", "--seed=1"], "no corpus"),
        (["create_study", "x", "--title=GR", "--forks=few", "--seed=1"], "shown to annotators"),
        (
            ["create_study", "x", "--title=T", "--forks=few", "--seed=1", "--annotator=zed"],
            "no user",
        ),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(db, arguments, word):
    Corpus.objects.create(slug="few")
    with pytest.raises(CommandError, match=word):
        call_command(*arguments)
    assert not Study.objects.exists()


def test_a_study_without_simulated_seats_is_refused(db):
    make_study()
    with pytest.raises(CommandError, match="no simulated seats"):
        call_command("simulate_study", "winter")
