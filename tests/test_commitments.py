"""What was answered before what was shown can be proved, and no later change goes unseen."""

from __future__ import annotations

import hashlib
import json
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.urls import reverse

from annotation import commitments, judging, withdrawing
from annotation.commitment_chain import Link, canonical, first_break, first_head, out_of_order
from annotation.enrolment import assign_seat
from annotation.models import (
    AuditEntry,
    Commitment,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Skip,
    SliderRating,
    Study,
    Withdrawal,
)
from annotation.rehearsal import simulate_study
from benchmark import releasing
from benchmark.formats.release import MANIFEST
from benchmark.formats.release import READABLE_FORMATS as FORMATS
from tests.studies import assistant_turns, item_at, make_study


@pytest.fixture
def seat(annotator):
    return assign_seat(make_study(), annotator)


@pytest.fixture
def answered(seat):
    """A late fork with all three answers, and a skipped conversation."""
    late = item_at(seat, k=3)
    turn = assistant_turns(late.item.dialogue)[2]
    judging.record_slider(late, 80)
    judging.reveal(late)
    judging.record_confirmation(late, "yes", onset=turn)
    judging.record_prefix(late, "mostly")
    judging.record_skip(item_at(seat), "other", "my secret note")
    return late


def said(seat) -> list[dict]:
    texts = seat.commitments.order_by("ordinal").values_list("payload", flat=True)
    return [json.loads(text) for text in texts]


def finding(seat):
    (one,) = [one for one in commitments.verify(seat.study) if one.pseudonym == seat.pseudonym]
    return one


def run(capsys, *arguments) -> tuple[int, str]:
    try:
        call_command("verify_commitments", *arguments)
        code = 0
    except SystemExit as stop:
        code = stop.code
    return code, capsys.readouterr().out


def test_every_answer_and_the_reveal_is_a_link_in_order(seat, answered):
    links = said(seat)
    assert [link["kind"] for link in links] == [
        "rated",
        "revealed",
        "confirmed",
        "prefix",
        "skipped",
    ]
    assert links[0]["answer"] == {"rating": 80}
    assert links[2]["answer"]["appears"] == "yes"
    assert {link["protocol"] for link in links} == {1}
    assert all(link["at"].endswith("Z") for link in links)
    assert finding(seat).ok
    assert "secret note" not in json.dumps(links)


def test_a_chain_can_be_redone_with_nothing_but_sha256(seat, answered):
    head = hashlib.sha256(f"DialFork chain 1 {seat.pseudonym}".encode()).hexdigest()
    for link in seat.commitments.order_by("ordinal"):
        leaf = hashlib.sha256((link.salt + link.payload).encode()).hexdigest()
        head = hashlib.sha256((head + leaf).encode()).hexdigest()
        assert (link.leaf, link.head) == (leaf, head)
    assert commitments.head(seat) == head
    assert commitments.heads(seat.study)[seat.pseudonym] == (5, head)


def test_no_token_and_no_condition_is_in_the_clear_in_a_link(seat, answered):
    text = " ".join(seat.commitments.values_list("payload", flat=True))
    assert answered.token not in text
    assert answered.item.instruction not in text


def test_the_reveal_is_in_the_chain_before_step_two_is_served(client, annotator, seat):
    client.force_login(annotator)
    late = item_at(seat, k=3)
    client.post(reverse("annotation:rate", args=[late.token]), {"rating": 40})
    assert commitments.kinds_of(late) == ["rated"]
    for _ in range(2):
        client.get(reverse("annotation:instruction", args=[late.token]))
        assert commitments.kinds_of(late) == ["rated", "revealed"]


def test_a_refused_answer_to_step_two_reveals_and_says_so(client, annotator, seat):
    client.force_login(annotator)
    late = item_at(seat, k=3)
    client.post(reverse("annotation:rate", args=[late.token]), {"rating": 40})
    response = client.post(reverse("annotation:instruction", args=[late.token]), {})
    assert response.status_code == 400
    assert commitments.kinds_of(late) == ["rated", "revealed"]


def test_nothing_is_revealed_without_a_rating(seat):
    with pytest.raises(judging.StepLocked):
        judging.reveal(item_at(seat, k=3))
    assert not Commitment.objects.exists()


def test_an_answer_that_is_refused_leaves_no_link(seat, answered):
    before = commitments.head(seat)
    with pytest.raises(judging.AnsweredBefore):
        judging.record_slider(answered, 20)
    with pytest.raises(judging.AnsweredBefore):
        judging.record_confirmation(answered, "no")
    judging.record_slider(answered, 80)
    assert commitments.head(seat) == before


def test_the_first_head_hangs_on_the_seat_alone(seat):
    assert commitments.head(seat) == first_head(seat.pseudonym)
    assert finding(seat).ok
    assert finding(seat).links == 0


def changed_rating(seat, late):
    SliderRating.objects.update(value=20)


def changed_payload(seat, late):
    link = seat.commitments.get(ordinal=1)
    link.payload = link.payload.replace("80", "20")
    link.save()
    SliderRating.objects.update(value=20)


def rehashed_payload(seat, late):
    """Somebody who redoes leaf and head of the link, but not those that follow."""
    link = seat.commitments.get(ordinal=1)
    link.payload = link.payload.replace("80", "20")
    link.leaf = hashlib.sha256((link.salt + link.payload).encode()).hexdigest()
    link.head = hashlib.sha256((first_head(seat.pseudonym) + link.leaf).encode()).hexdigest()
    link.save()
    SliderRating.objects.update(value=20)


def deleted_link(seat, late):
    seat.commitments.get(ordinal=2).delete()


def emptied_link(seat, late):
    seat.commitments.filter(ordinal=2).update(salt="", payload="")


def deleted_answer(seat, late):
    PrefixJudgement.objects.all().delete()


def answer_without_a_link(seat, late):
    SliderRating.objects.create(assignment=item_at(seat, k=1), value=3)


def changed_onset(seat, late):
    OnsetMark.objects.update(turn=None)


def changed_confirmation(seat, late):
    InstructionConfirmation.objects.update(answer="partly")


def changed_instruction(seat, late):
    Item.objects.filter(pk=late.item_id).update(instruction="Something else.")


def changed_reason(seat, late):
    Skip.objects.update(reason="known")


@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        (changed_rating, 'rated is stored as {"rating":20}, but link 1 says {"rating":80}'),
        (changed_payload, "what link 1 says was changed"),
        (rehashed_payload, "link 2 does not follow"),
        (deleted_link, "link 2 is missing"),
        (emptied_link, "link 2 is empty, and nobody asked for that"),
        (deleted_answer, "link 4 says prefix"),
        (answer_without_a_link, 'rated is stored as {"rating":3} and is in no link'),
        (changed_onset, "but link 3 says"),
        (changed_confirmation, "confirmed is stored as"),
        (changed_instruction, "is not what it was when link 1 was written"),
        (changed_reason, "skipped is stored as"),
    ],
)
def test_tampering_is_found_and_named(capsys, seat, answered, tamper, sentence):
    tamper(seat, answered)
    one = finding(seat)
    assert not one.ok
    assert sentence in one.sentence
    code, printed = run(capsys, "winter")
    assert code == 1
    assert "BREAK" in printed
    assert sentence in printed
    assert "1 with a break" in printed


def test_the_command_says_ok_and_ends_with_zero(capsys, seat, answered):
    code, printed = run(capsys, "winter")
    assert code == 0
    assert f"{seat.pseudonym}  ok  5 links  head {commitments.head(seat)}" in printed
    assert "3 seats, 0 with a break." in printed
    code, printed = run(capsys, "winter", "--json")
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row["ok"] for row in rows] == [True] * 3


def release(folder, heads):
    """A manifest that publishes `heads`."""
    study = {"study": "winter", "title": "", "seed": 7, "protocol_version": 1, "design": {}}
    parts = {"format": FORMATS[-1], "corpus": "c", "files": {}, "corpora": []}
    content = parts | {"studies": [study | {"commitments": heads}]}
    (folder / MANIFEST).write_text(json.dumps(content))
    return str(folder)


def test_a_chain_may_grow_after_its_head_was_published(capsys, tmp_path, seat, answered):
    folder = release(tmp_path, {seat.pseudonym: commitments.head(seat)})
    judging.record_slider(item_at(seat, k=1), 12)
    assert run(capsys, "winter", "--release", folder)[0] == 0


def test_a_chain_that_was_written_anew_does_not_hold_the_published_head(
    capsys, tmp_path, seat, answered
):
    folder = release(tmp_path, {seat.pseudonym: {"links": 5, "head": commitments.head(seat)}})
    links = list(seat.commitments.select_related("assignment").order_by("ordinal"))
    payloads = [json.loads(link.payload) for link in links]
    seat.commitments.all().delete()
    SliderRating.objects.update(value=20)
    payloads[0]["answer"]["rating"] = 20
    for link, payload in zip(links, payloads, strict=True):
        commitments.commit(seat, link.assignment, payload["kind"], payload["answer"])
    assert finding(seat).ok
    code, printed = run(capsys, "winter", "--release", folder)
    assert code == 1
    assert "the published head" in printed


def test_a_release_without_heads_and_an_unknown_study_are_named(tmp_path, seat):
    release(tmp_path, {})
    with pytest.raises(CommandError, match="publishes no heads of the study 'winter'"):
        call_command("verify_commitments", "winter", "--release", str(tmp_path))
    with pytest.raises(CommandError, match="no release that can be read"):
        call_command("verify_commitments", "winter", "--release", str(tmp_path / "none"))
    with pytest.raises(CommandError, match="no study 'summer'"):
        call_command("verify_commitments", "summer")


def test_erasing_a_person_deletes_what_the_links_say_and_the_heads_still_verify(seat, answered):
    before = commitments.head(seat)
    PrefixJudgement.objects.all().delete()
    OnsetMark.objects.all().delete()
    InstructionConfirmation.objects.all().delete()
    SliderRating.objects.all().delete()
    Skip.objects.all().delete()
    Withdrawal.objects.create(seat=seat, mode="erase", receipt="r")
    assert commitments.erase(seat) == 5
    assert not seat.commitments.exclude(salt="", payload="").exists()
    assert commitments.head(seat) == before
    assert finding(seat).ok


@pytest.mark.parametrize("mode", ["keep", "erase"])
def test_a_withdrawal_leaves_a_chain_that_verifies_and_a_tombstone(seat, answered, annotator, mode):
    """The log says that the seat withdrew, and neither who it was nor what they answered."""
    before = commitments.head(seat)
    withdrawing.withdraw(seat, mode)
    assert commitments.head(seat) == before
    assert finding(seat).ok
    assert seat.commitments.exclude(payload="").exists() == (mode == "keep")
    stones = AuditEntry.objects.filter(seat=seat)
    (stone,) = stones.filter(action="seat.withdrawn")
    assert (stone.actor, stone.detail) == (None, {"mode": mode})
    assert "ann" not in [word for one in stones for word in str(one.detail).split("'")]


def test_the_heads_of_a_published_release_are_on_the_chains(capsys, tmp_path, seat, answered):
    study = seat.study
    Study.objects.filter(pk=study.pk).update(state="closed")
    releasing.publish(answered.item.dialogue.corpus, "1.0", tmp_path / "release", reveal=True)
    folder = str(tmp_path / "release")
    assert run(capsys, "winter", "--release", folder)[0] == 0
    last = seat.commitments.order_by("-ordinal").first()
    last.delete()
    Skip.objects.all().delete()
    code, printed = run(capsys, "winter", "--release", folder)
    assert code == 1
    assert f"the published head {last.head} is gone" in printed


def test_simulated_seats_keep_no_chain(db):
    study = make_study(n_simulated=1)
    simulate_study(study)
    assert not Commitment.objects.exists()
    assert len(commitments.verify(study)) == 2


def test_the_check_costs_three_queries_whatever_the_size(
    seat, answered, other_annotator, django_assert_num_queries
):
    other = assign_seat(seat.study, other_annotator)
    judging.record_slider(item_at(other, k=2), 9)
    study = Study.objects.get(pk=seat.study_id)
    with django_assert_num_queries(3):
        assert all(one.ok for one in commitments.verify(study))


@pytest.mark.django_db(transaction=True)
def test_answers_at_once_take_places_that_never_clash(annotator):
    seat = assign_seat(make_study(), annotator)
    assignments = list(seat.assignments.select_related("item__dialogue", "seat__study"))
    failures: list[Exception] = []

    def submit(assignment):
        try:
            judging.record_slider(assignment, 50)
            judging.reveal(assignment)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=submit, args=(one,)) for one in assignments * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    places = list(seat.commitments.order_by("ordinal").values_list("ordinal", flat=True))
    assert places == list(range(1, 2 * len(assignments) + 1))
    assert finding(seat).ok


def test_a_rating_after_the_reveal_is_out_of_order():
    assert out_of_order(["revealed", "rated", "confirmed"]) == "revealed comes before rated"
    assert out_of_order(["rated", "confirmed"]) == "confirmed is there without revealed"
    assert out_of_order(["rated", "rated"]) == "rated is there twice"
    assert out_of_order(["rated", "revealed", "skipped"]) is None


def test_an_empty_chain_holds_and_a_number_that_is_none_has_no_text():
    assert first_break("A-00000000", []) is None
    assert first_break("A-00000000", [Link(2, "", "", "x", "y")]) == (1, "link 1 is missing")
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical({"rating": float("nan")})
