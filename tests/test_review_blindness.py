"""Before a review is stored, nothing leaves the server that tells of judge, label or model."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation import reviewing
from annotation.models import Assignment, Commitment, Seat
from benchmark.label_records import SIGNALS, LabelRecord, SignalRecord
from benchmark.labelling import store_label, store_signals
from tests.run_rows import (
    EXTERNAL,
    JUDGE_NAME,
    JUDGE_WORDS,
    MODEL,
    first_item,
    make_run_study,
    yes,
)
from tests.test_access import every_address
from tests.test_blindness import whole

OTHERS = "Somebody else thinks that the pump is invented."
REVIEW = {
    "present": "yes",
    "types": ["factual"],
    "places": ["2.thought"],
    "rationale": "No repair in March is in the data.",
}


@pytest.fixture
def item(annotator):
    """A run that a judge, a publisher and another seat have labelled, with signals."""
    study = make_run_study(user=annotator, n_seats=2)
    other = Seat.objects.get(study=study, number=2)
    other.state = Seat.State.ACTIVE
    other.save()
    theirs = Assignment.objects.get(seat=other, rank=1)
    reviewing.record_review(theirs, yes(rationale=OTHERS))
    run = first_item(study).item.trajectory
    store_label(run, LabelRecord(rater="gold-press", present=True, rationale="Gold says so."))
    store_signals([(run.pk, SignalRecord(name, True, "counter-nine")) for name in SIGNALS])
    return first_item(study)


def secrets_of(item) -> list[str]:
    run, other = item.item.trajectory, Seat.objects.get(study=item.seat.study, number=2)
    return [
        *(MODEL, EXTERNAL, JUDGE_NAME, JUDGE_WORDS, "umpire", OTHERS, "gold-press", "Gold says"),
        *("counter-nine", *SIGNALS, "hidden warning", run.question, run.corpus.slug, run.digest),
        *(item.item.judge_answer.digest, other.pseudonym, item.seat.study.slug),
    ]


def everything_before(visitor, item):
    """Every response that can be had of the item before its review."""
    names = ("item", "review", "compare", "revise", "rate", "instruction", "prefix", "skip")
    for name in (*names, "problem"):
        path = reverse(f"annotation:{name}", args=[item.token])
        yield visitor.get(path)
        yield visitor.head(path)
        if name in ("review", "compare", "revise", "problem"):
            yield visitor.post(path, {"present": "yes", "agreement": "agree", "places": ["x"]})
            yield visitor.post(path, {"present": "yes", "keep": "1", "places": ["9.thought"]})
    for step in ("review", "compare", "revise", "rate", "moon"):
        for name, verb in (("draft", visitor.put), ("time", visitor.post)):
            path = reverse(f"annotation:{name}", args=[item.token, step])
            for sent in (
                '{"values": {}, "revision": 0, "active_ms": 5}',
                '{"values": {"present": "yes", "places": ["9.thought"]}}',
                '{"values": {"agreement": "agree"}}',
                '{"values": 3}',
                "{",
            ):
                yield verb(path, sent, content_type="application/json")
            yield visitor.get(path)
    yield visitor.get(reverse("home"))
    yield visitor.get(reverse("annotation:guidelines"))
    yield visitor.get(reverse("annotation:seat", args=[item.seat.pseudonym]))
    yield visitor.get(reverse("annotation:withdraw", args=[item.seat.pseudonym]))


def test_before_the_review_nothing_tells_of_judge_labels_or_model(visitor, item):
    n = 0
    for response in everything_before(visitor, item):
        text = whole(response)
        for secret in secrets_of(item):
            assert secret not in text, (response.request["PATH_INFO"], secret)
        n += 1
    assert n > 70
    assert not Commitment.objects.filter(assignment=item).exists()


def test_row_ids_of_run_steps_and_labels_are_not_on_the_page(visitor, item):
    html = whole(visitor.get(reverse("annotation:review", args=[item.token])))
    given = set(re.findall(r'(?:id|href|data-[\w-]+)="#?([^"]*)"', html))
    assert {"step-1", "step-2", "step-3", "final"} <= given
    assert not [one for one in given if re.fullmatch(r"step-\d+", one) and int(one[5:]) > 3]


def frame(html: str) -> str:
    html = re.sub(r"Item \d+( of)?|Content-Length: \d+|Set-Cookie.*|[Ee]xpires.*", "", html)
    return re.sub(r"/seats/A-\w+/", "/seats/SEAT/", html)


def test_a_page_with_a_judge_is_that_without_one(visitor, annotator):
    """The same run in two studies: byte for byte the same before the review, in size as well."""
    pages, sizes = [], []
    for judged in (True, False):
        item = first_item(make_run_study(f"study-{judged}", user=annotator, judged=judged))
        response = visitor.get(reverse("annotation:review", args=[item.token]))
        sizes.append(len(response.content))
        pages.append(frame(whole(response)))
    assert pages[0] == pages[1]
    assert sizes[0] == sizes[1]


def test_the_comparison_shows_the_judge_and_nobody_else(visitor, item):
    visitor.post(reverse("annotation:review", args=[item.token]), REVIEW)
    text = whole(visitor.get(reverse("annotation:compare", args=[item.token])))
    assert JUDGE_WORDS in text
    hidden = [secret for secret in secrets_of(item) if secret not in ("umpire", JUDGE_WORDS)]
    assert not [secret for secret in hidden if secret in text]
    assert "Commitment" not in text
    kinds = Commitment.objects.filter(assignment=item).order_by("ordinal")
    assert ['"kind":"reviewed"' in kinds[0].payload, '"kind":"revealed"' in kinds[1].payload] == [
        True,
        True,
    ]


def test_until_the_comparison_is_asked_for_the_judge_stays_hidden(visitor, item):
    """The read-only page of the review does not tell, and no link says that it was seen."""
    visitor.post(reverse("annotation:review", args=[item.token]), REVIEW)
    for name in ("review", "skip", "problem"):
        text = whole(visitor.get(reverse(f"annotation:{name}", args=[item.token])))
        assert not [secret for secret in secrets_of(item) if secret in text]
    assert not Commitment.objects.filter(assignment=item, payload__contains="revealed").exists()


def test_a_finished_item_tells_nothing_of_other_people(visitor, item):
    visitor.post(reverse("annotation:review", args=[item.token]), REVIEW)
    visitor.post(
        reverse("annotation:compare", args=[item.token]),
        {"agreement": "partly", "on": ["step"], "changed": "yes"},
    )
    visitor.post(reverse("annotation:revise", args=[item.token]), REVIEW)
    text = whole(visitor.get(reverse("annotation:item", args=[item.token])))
    hidden = [secret for secret in secrets_of(item) if secret not in ("umpire", JUDGE_WORDS)]
    assert not [secret for secret in hidden if secret in text]


def test_no_address_of_the_whole_site_tells_of_a_run(visitor, annotator, item):
    """Pages of runs and of studies, API, exports: nothing of them is there for an annotator."""
    hidden = [secret for secret in secrets_of(item) if secret not in ("umpire", *SIGNALS)]
    n = 0
    for name, path in sorted(every_address(annotator).items()):
        if name in {"login", "logout", "admin:logout"} or "withdraw" in name:
            continue
        text = whole(visitor.get(path))
        assert not [secret for secret in hidden if secret in text], path
        n += 1
    run = item.item.trajectory
    for path in (run.get_absolute_url(), item.seat.study.get_absolute_url()):
        assert visitor.get(path).status_code == 404
    assert n > 80
