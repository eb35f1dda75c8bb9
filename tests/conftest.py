"""Fixtures shared by all tests: people, a small corpus, the shared data when it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of golden values and real data; users of the project do not have it."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder `shared` beside the checkout (golden values, real data)")
    return SHARED


@pytest.fixture
def researcher(django_user_model, db):
    from django.contrib.auth.models import Group

    from dialfork_site.roles import RESEARCHERS

    user = django_user_model.objects.create_user("rosa", password="a-long-pass-phrase")
    user.groups.add(Group.objects.get_or_create(name=RESEARCHERS)[0])
    return user


@pytest.fixture
def annotator(django_user_model, db):
    return django_user_model.objects.create_user("ann", password="a-long-pass-phrase")


@pytest.fixture
def other_annotator(django_user_model, db):
    return django_user_model.objects.create_user("bo", password="a-long-pass-phrase")


@pytest.fixture
def corpus(db):
    """Four conformant dialogues over one workflow (see tests/small.py)."""
    from tests.small import make_corpus

    return make_corpus()


@pytest.fixture
def forked(corpus):
    """The sixteen forks of each dialogue of `corpus`, in a second corpus."""
    from tests.small import make_forks

    return make_forks(corpus)
