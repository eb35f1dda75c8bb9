"""The load check: people save drafts while a large file is imported, and items open as fast in a
large study as in a small one.

    .venv/bin/python deploy/load.py [--sqlite 10] [--postgresql 100] [--seconds 60]

Each annotator changes the slider once a second. Counted are answers of 500 and above, drafts whose
last value the server does not hold in the end, and the time of a save; 0 leaves a server out.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scale_servers import ROOT, _answers, free_port, postgresql, redis, wait_for

SLUG, FORKS, MORE = "load", "load-forks", "load-more"
# 540 dialogues have 8,640 forks, in a file of about 30 MB; the study uses the first of them.
DIALOGUES, STUDY_FORKS = 540, 3_200
# So many pages that each worker has opened some.
WARM = 20


def main() -> None:
    given = arguments()
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        with ExitStack() as stack:
            use(
                stack, "sqlite:///" + str(files / "load.sqlite3"), "memory://", files / "var-sqlite"
            )
            manage("migrate", "--verbosity", "0")
            manage("make_scale_corpus", SLUG, "--dialogues", str(DIALOGUES), "--out", str(files))
            size = (files / "forks.jsonl").stat().st_size
            print(f"The import is a file of {size / 1e6:.0f} MB, over and over.", flush=True)
            if given.sqlite:
                saving(stack, "SQLite", files, given.sqlite, given.seconds, served())
        if given.postgresql:
            with ExitStack() as stack:
                database = stack.enter_context(postgresql())
                use(stack, database, stack.enter_context(redis()), files / "var-postgresql")
                manage("migrate", "--verbosity", "0")
                saving(stack, "PostgreSQL", files, given.postgresql, given.seconds, gunicorn())
                print(in_site("opening").strip(), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sqlite", type=int, default=10, help="annotators; 0: none")
    parser.add_argument("--postgresql", type=int, default=100, help="annotators; 0: none")
    parser.add_argument("--seconds", type=int, default=60)
    return parser.parse_args()


def use(stack: ExitStack, database: str, broker: str, folder: Path) -> None:
    """The settings of the site that is measured."""
    folder.mkdir()
    os.environ.update(
        DATABASE_URL=database,
        BROKER_URL=broker,
        VAR_DIR=str(folder),
        SECRET_KEY=secrets.token_urlsafe(50),
        DEBUG="false",
        DEMO="false",
        LOG_LEVEL="ERROR",
        ALLOWED_HOSTS="127.0.0.1",
        PORT=str(free_port()),
    )
    os.environ["PUBLIC_URL"] = f"http://127.0.0.1:{os.environ['PORT']}"


def manage(*arguments: str) -> str:
    return call("manage.py", *arguments)


def in_site(*arguments: str) -> str:
    return call("deploy/load_site.py", *arguments)


def call(*command: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command[:2])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def served() -> list[str]:
    """As `make demo` serves: one process, the worker in it."""
    return [sys.executable, "manage.py", "serve", "--port", os.environ["PORT"]]


def gunicorn() -> list[str]:
    """As the container serves."""
    options = ["--worker-class", "gthread", "--workers", "2", "--threads", "8"]
    address = f"127.0.0.1:{os.environ['PORT']}"
    command = [sys.executable, "-m", "gunicorn", "dialfork_site.wsgi:application"]
    config = ["--config", "deploy/gunicorn.conf.py"]
    return [*command, *config, "--bind", address, *options, "--no-control-socket"]


@contextmanager
def running(command: list[str]):
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        wait_for(lambda: _answers(int(os.environ["PORT"])), "The server")
        # gunicorn listens before its workers have loaded the site: pages say when they have.
        for _ in range(WARM):
            wait_for(a_page_opens, "The first page")
        yield
    finally:
        process.terminate()
        process.wait(60)


def a_page_opens() -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=60)
    connection.request("GET", "/accounts/login/")
    return connection.getresponse().status == http.HTTPStatus.OK


def saving(
    stack: ExitStack, name: str, files: Path, people: int, seconds: int, command: list[str]
) -> None:
    """`people` save once a second for `seconds` while the file is imported."""
    some = files / f"some-{name}.jsonl"
    with (files / "forks.jsonl").open() as lines:
        some.write_text("".join(line for line, _ in zip(lines, range(STUDY_FORKS), strict=False)))
    manage("import_corpus", "dialfork", str(files / "dialogues.jsonl"), "--corpus", SLUG)
    manage("import_corpus", "dialfork", str(some), "--corpus", FORKS)
    seats = json.loads(in_site("seats", str(people)))
    stack.enter_context(running(command))
    stop = threading.Event()
    importing = threading.Thread(target=importer, args=(files / "forks.jsonl", stop))
    writers = [Writer(seat, seconds) for seat in seats]
    importing.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    importing.join()
    kept = json.loads(in_site("kept"))
    report(name, writers, kept)


def importer(path: Path, stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        manage("import_corpus", "dialfork", str(path), "--corpus", f"{MORE}-{number}")


class Writer(threading.Thread):
    """An annotator with the first item open: the slider moves once a second."""

    def __init__(self, seat: dict, seconds: int) -> None:
        super().__init__()
        self.token, self.session, self.seconds = seat["token"], seat["session"], seconds
        self.took: list[float] = []
        self.statuses: list[int] = []
        self.revision, self.last = 0, 0

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["PORT"]), timeout=60)
        csrf = secrets.token_hex(16)
        headers = {
            "Content-Type": "application/json",
            "Cookie": f"sessionid={self.session}; csrftoken={csrf}",
            "X-CSRFToken": csrf,
        }
        # Spread over a second, as people are.
        begun = time.monotonic() + secrets.randbelow(1000) / 1000
        for tick in range(self.seconds):
            time.sleep(max(0.0, begun + tick - time.monotonic()))
            value = secrets.randbelow(101)
            body = {"values": {"rating": str(value)}, "revision": self.revision, "active_ms": 1000}
            start = time.monotonic()
            connection.request("PUT", f"/items/{self.token}/rate/draft/", json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
            self.took.append(time.monotonic() - start)
            self.statuses.append(answer.status)
            if answer.status == 200:
                self.revision, self.last = json.loads(content)["revision"], value


def report(name: str, writers: list[Writer], kept: dict[str, str]) -> None:
    took = sorted(second for writer in writers for second in writer.took)
    statuses = [status for writer in writers for status in writer.statuses]
    lost = sum(str(kept.get(writer.token)) != str(writer.last) for writer in writers)
    failed = sum(status >= 500 for status in statuses)
    refused = sum(status not in (200, *range(500, 600)) for status in statuses)
    print(
        f"{name}: {len(writers)} annotators, {len(took):,} saves, {failed} failed, "
        f"{refused} refused, {lost} drafts lost, median {1000 * statistics.median(took):.0f} ms, "
        f"p95 {1000 * took[int(0.95 * len(took))]:.0f} ms, longest {1000 * took[-1]:.0f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
