"""Fixtures shared by all tests: people, a small corpus, the shared data when it is there."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import chromium

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

# A busy machine pauses a test for seconds: a time limit per example would fail at random.
settings.register_profile("steady", deadline=None, max_examples=50)
settings.load_profile("steady")

SHARED = Path(__file__).resolve().parents[2] / "shared"
# Services whose absence fails a test instead of skipping it (continuous integration).
REQUIRED = set(os.environ.get("DIALFORK_REQUIRE", "").split())
SERVICE_OF_MARKER = {"browser": "chromium", "redis": "redis", "encoders": "encoders"}
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_configure() -> None:
    from django.conf import settings

    # Hashing that is slow on purpose would take most of the suite's time.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database-only",
        action="store_true",
        help="leave out tests that use no database, and sweeps over layout, on which none bears",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files with a slow test come first, so that no worker is left alone with one at the end."""
    if config.getoption("--database-only"):
        config.hook.pytest_deselected(items=[item for item in items if not tells_of_database(item)])
        items[:] = [item for item in items if tells_of_database(item)]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def tells_of_database(item: pytest.Item) -> bool:
    """Whether a second database can change the outcome: the views are asked elsewhere."""
    return uses_database(item) and item.get_closest_marker("layout") is None


def uses_database(item: pytest.Item) -> bool:
    fixtures = {"db", "transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    return bool(fixtures) or item.get_closest_marker("django_db") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test skipped for want of a required service has failed."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        for marker, service in SERVICE_OF_MARKER.items():
            if service in REQUIRED and item.get_closest_marker(marker):
                report.outcome = "failed"
                report.longrepr = f"{service} is required here, but: {report.longrepr[-1]}"
    return report


@pytest.fixture(autouse=True)
def english():
    """A page asked for in another language leaves it behind in the thread that served it."""
    from django.utils import translation

    translation.deactivate()


@pytest.fixture(scope="session", autouse=True)
def patient_flush():
    """A request of a page that was just closed may still hold a row: the flush waits and tries
    again, and fails when that does not help."""
    from django.core.management import CommandError
    from django.test import TransactionTestCase

    flush = TransactionTestCase._fixture_teardown

    def patient(self) -> None:
        for pause in (0.1, 0.3, 1.0):
            try:
                return flush(self)
            except CommandError:
                time.sleep(pause)
        return flush(self)

    TransactionTestCase._fixture_teardown = patient
    yield
    TransactionTestCase._fixture_teardown = flush


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    path = chromium.find()
    if path is None:
        pytest.skip("needs Chromium (set CHROMIUM to its path)")
    return {**browser_type_launch_args, "executable_path": path, "args": BROWSER_FLAGS}


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory) -> Iterator[str]:
    """A private Redis on a port of its own. Tests that use it are marked `redis`."""
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("needs redis-server")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(10)


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


@pytest.fixture
def seat(annotator):
    """The seat of `annotator` in a small open study."""
    from annotation.enrolment import assign_seat
    from tests.studies import make_study

    return assign_seat(make_study(), annotator)


@pytest.fixture
def late(seat):
    """An item of `seat` with turns before its fork: it has all three steps."""
    from tests.studies import item_at

    return item_at(seat, k=3)


@pytest.fixture
def visitor(client, annotator):
    """A client that is signed in as `annotator`."""
    client.force_login(annotator)
    return client
