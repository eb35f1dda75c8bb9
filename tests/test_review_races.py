"""Many at once on an agent run: the same submit five times, two different ones, one label."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation import commitments
from annotation.models import Commitment, JudgeComparison, Review, RevisedReview, StepTime
from benchmark.models import LabelPlace, LabelSet, Rater
from tests.run_rows import first_item, make_run_study
from tests.test_item_races import at_once, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

ANSWERS = {
    "review": {
        "present": "yes",
        "types": ["factual"],
        "places": ["2.thought", "final"],
        "rationale": "No repair in March is in the data.",
    },
    "compare": {"agreement": "disagree", "on": ["step"], "changed": "yes"},
    "revise": {"present": "no"},
}


@pytest.fixture
def item(annotator):
    return first_item(make_run_study(user=annotator))


def test_five_equal_submits_at_once_store_one_answer_and_get_equal_replies(annotator, item):
    clients = [signed_in(annotator) for _ in range(5)]
    for step, data in ANSWERS.items():
        url = reverse(f"annotation:{step}", args=[item.token])

        def submit(client, url=url, data=data):
            answer = client.post(url, data)
            return answer.status_code, answer.headers.get("Location", "")

        replies = at_once([lambda client=client: submit(client) for client in clients])
        assert len(set(replies)) == 1, replies
        assert replies[0][0] == 302
    for table in (Review, JudgeComparison, RevisedReview):
        assert table.objects.count() == 1
    assert LabelSet.objects.filter(rater__kind="person").count() == 2
    assert LabelPlace.objects.filter(labels__rater__kind="person").count() == 2
    assert Rater.objects.filter(kind="person").count() == 1
    assert Commitment.objects.count() == 4
    assert StepTime.objects.count() == 3
    assert all(one.ok for one in commitments.verify(item.seat.study))


def test_of_two_answers_at_once_one_stands_and_the_other_is_told(annotator, item):
    url = reverse("annotation:review", args=[item.token])
    answers = [ANSWERS["review"], ANSWERS["revise"]] * 2
    clients = [signed_in(annotator) for _ in answers]
    replies = at_once(
        [
            lambda client=client, data=data: client.post(url, data).status_code
            for client, data in zip(clients, answers, strict=True)
        ]
    )
    assert sorted(replies) == [302, 302, 409, 409]
    assert Review.objects.count() == 1
    assert LabelSet.objects.filter(rater__kind="person").count() == 1
