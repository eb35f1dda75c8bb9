"""What the load check asks of the site it measures: seats with sessions, drafts kept, openings.

Run by deploy/load.py, with the settings of that site: seats N | kept | opening.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import django

ROOT = Path(__file__).resolve().parents[1]
SIZES = (500, 50_000)
OPENINGS = 300
PER_SEAT = 20
BATCH = 2000
HERE = {"host": "127.0.0.1"}


def seats(people: int) -> list[dict[str, str]]:
    """A study over `people` seats, all taken: the token of each first item, and a session."""
    from django.contrib.auth import get_user_model

    from annotation import seating
    from annotation.launching import create_study
    from benchmark.models import Corpus

    forks = Corpus.objects.get(slug="load-forks")
    study = create_study(slug="load", title="Load", forks=forks, seed=1, n_seats=people)
    found = []
    for number in range(people):
        user = get_user_model().objects.create_user(f"load{number}")
        seat = seating.take(study, user)
        token = seat.assignments.unfinished().order_by("rank").first().token
        found.append({"token": token, "session": session_of(user)})
    return found


def session_of(user: Any) -> str:
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)


def kept() -> dict[str, str]:
    """The rating in every draft, by token."""
    from annotation.models import Draft

    rows = Draft.objects.values_list("assignment__token", "values")
    return {token: values.get("rating") for token, values in rows}


def opening() -> None:
    """Home and the next item, in turns in a small and in a large study."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    dialogues = make_dialogues(max(SIZES))
    people = {size: make_person(size, dialogues) for size in SIZES}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    counts, took = {}, {size: [] for size in SIZES}
    for size, (client, address) in people.items():
        open_pages(client, address)
        with CaptureQueriesContext(connection) as queries:
            open_pages(client, address)
        counts[size] = len(queries)
    for _ in range(OPENINGS):
        for size, (client, address) in people.items():
            start = time.perf_counter()
            open_pages(client, address)
            took[size].append(1000 * (time.perf_counter() - start))
    for size, times in took.items():
        times.sort()
        print(
            f"Home and next item, study of {size:,} items: {counts[size]} queries, "
            f"median {statistics.median(times):.1f} ms, p95 {times[int(0.95 * len(times))]:.1f} ms"
        )


def make_dialogues(n: int) -> list[Any]:
    from benchmark.models import Corpus, Dialogue, Turn

    corpus = Corpus.objects.create(slug="opening", title="Opening")
    rows = [
        Dialogue(
            corpus=corpus,
            format="dialfork",
            external_id=str(i),
            digest=f"{i:064d}",
            n_turns=4,
            n_assistant_turns=2,
        )
        for i in range(n)
    ]
    dialogues = Dialogue.objects.bulk_create(rows, batch_size=BATCH)
    Turn.objects.bulk_create(
        [
            Turn(
                dialogue=dialogue,
                number=i,
                role=("user", "assistant")[i % 2],
                assistant_number=(i + 1) // 2 if i % 2 else None,
                text="Some words. " * 9,
            )
            for dialogue in dialogues
            for i in range(1, 5)
        ],
        batch_size=BATCH,
    )
    return dialogues


def make_person(size: int, dialogues: list[Any]) -> tuple[Any, str]:
    """Somebody in a study of `size` items, and the address of their first."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    from annotation import seating
    from annotation.models import Assignment, Item, Seat, Study

    study = Study.objects.create(slug=f"of-{size}", title="Open", seed=1, state="open")
    places = Seat.objects.bulk_create(
        [Seat(study=study, number=i + 1) for i in range(size // PER_SEAT)], batch_size=BATCH
    )
    shown = {"instruction": "x", "instruction_type": "GR", "instruction_variant": "x"}
    items = Item.objects.bulk_create(
        [Item(study=study, dialogue=d, is_foil=True, **shown) for d in dialogues[:size]],
        batch_size=BATCH,
    )
    Assignment.objects.bulk_create(
        [
            Assignment(item=item, seat=places[i // PER_SEAT], rank=1 + i % PER_SEAT)
            for i, item in enumerate(items)
        ],
        batch_size=BATCH,
    )
    user = get_user_model().objects.create_user(f"of{size}")
    seat = seating.take(study, user)
    client = Client()
    client.force_login(user)
    return client, seat.assignments.get(rank=1).get_absolute_url()


def open_pages(client: Any, address: str) -> None:
    for page in ("/", address):
        answer = client.get(page, headers=HERE, follow=True)
        if answer.status_code != 200:
            sys.exit(f"{page} answered {answer.status_code}")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dialfork_site.settings")
    sys.path.insert(0, str(ROOT))
    django.setup()
    if sys.argv[1] == "opening":
        opening()
    else:
        print(json.dumps(kept() if sys.argv[1] == "kept" else seats(int(sys.argv[2]))))
