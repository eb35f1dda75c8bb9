"""The demo: made twice it is the same, its accounts stay on this machine, its people have work."""

from __future__ import annotations

import stat
from collections import Counter
from io import StringIO

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.core.management import CommandError, call_command

from annotation import enrolment
from annotation.models import Assignment, Item, JudgeComparison, Review, SliderRating
from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    JudgeAnswer,
    JudgePrompt,
    LabelSet,
    Trajectory,
)
from dialfork_site import demo_accounts
from dialfork_site.roles import DEMO_ACCOUNTS, is_researcher
from scoring.models import DialogueScore, Run, RunResult, TrajectoryScore

COUNTED = (
    *(Corpus, Dialogue, Fork, Run, DialogueScore, RunResult, Item, Assignment, SliderRating),
    *(Trajectory, LabelSet, JudgeAnswer, JudgePrompt, Review, JudgeComparison, TrajectoryScore),
)


@pytest.fixture
def demo_settings(settings, tmp_path):
    settings.DEMO, settings.VAR_DIR = True, tmp_path
    # Needs no weights; the demo's numbers are not looked at here.
    settings.ENCODER = "lexical"
    return settings


def make_demo() -> str:
    out = StringIO()
    call_command("make_demo", limit=24, stdout=out)
    return out.getvalue()


@pytest.mark.slow
def test_made_twice_it_is_the_same(db, demo_settings):
    first = make_demo()
    counts = [model.objects.count() for model in COUNTED]
    again = make_demo()
    assert [model.objects.count() for model in COUNTED] == counts
    # The same accounts with the same passwords are printed each time.
    assert first.split("Sign in at")[1] == again.split("Sign in at")[1]

    assert Corpus.objects.get(slug="demo").dialogues.count() == 9 * 40
    assert Corpus.objects.get(slug="demo").trajectories.count() == 12
    assert Fork.objects.count() > 24 * 16 * 0.9
    assert set(Run.objects.values_list("state", flat=True)) == {Run.State.DONE}
    annotator = get_user_model().objects.get(username="annotator")
    cards = enrolment.overview(annotator)
    assert [(card["phase"], card["done"]) for card in cards] == [("consent", 0)] * 2
    kinds = Counter(Item.objects.values_list("kind", flat=True))
    assert (kinds["practice"], kinds["attention"]) == (4, 2)
    judged = SliderRating.objects.values_list("assignment__seat__simulated", flat=True)
    assert set(judged) == {True}
    assert Corpus.objects.get(slug="demo-runs").trajectories.count() == 60
    assert JudgeAnswer.objects.filter(status="read").count() > 200
    assert JudgeAnswer.objects.filter(status="rejected").exists()
    assert set(Review.objects.values_list("assignment__seat__simulated", flat=True)) == {True}
    assert JudgeComparison.objects.filter(changed=True).exists()


def test_without_demo_it_refuses(db):
    with pytest.raises(CommandError, match="set DEMO=1, or use make demo"):
        make_demo()


def test_the_accounts_have_their_roles_and_drawn_passwords(db, demo_settings):
    accounts = {account.name: account for account in demo_accounts.make_accounts()}
    for account in accounts.values():
        assert authenticate(username=account.name, password=account.password) == account.user
        assert account.user.groups.filter(name=DEMO_ACCOUNTS).exists()
    assert accounts["admin"].user.is_superuser
    assert is_researcher(accounts["researcher"].user)
    assert not is_researcher(accounts["annotator"].user)
    assert len({account.password for account in accounts.values()}) == 3


def test_the_passwords_lie_in_a_file_for_its_owner_only(db, demo_settings):
    accounts = demo_accounts.make_accounts()
    path = demo_accounts.password_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert demo_accounts.read_passwords() == {a.name: a.password for a in accounts}
    assert demo_accounts.make_accounts() == accounts


def test_an_account_of_that_name_made_by_someone_else_is_left_alone(db, demo_settings):
    own = get_user_model().objects.create_user("admin", password="a-long-pass-phrase")
    with pytest.raises(demo_accounts.AccountTaken, match="a database of its own"):
        demo_accounts.make_accounts()
    own.refresh_from_db()
    assert own.check_password("a-long-pass-phrase")
    assert not get_user_model().objects.exclude(pk=own.pk).exists()


def test_drawn_passwords_differ_and_avoid_look_alikes():
    drawn = {demo_accounts.draw_password() for _ in range(50)}
    assert len(drawn) == 50
    assert not set("".join(drawn)) & set("il1o0")
