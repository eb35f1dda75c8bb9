"""Leases: one winner per part, nothing stored without the lease, nothing lost with a worker."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from scoring import leases
from scoring.models import Chunk, Run, WorkerBeat


@pytest.fixture
def run(corpus):
    run = Run.objects.create(kind="task2", corpus=corpus, parameters={}, digest="a" * 64)
    for ordinal in (1, 2):
        Chunk.objects.create(run=run, ordinal=ordinal, keys=[], size=1)
    return run


@pytest.fixture
def chunk(run):
    return run.chunks.get(ordinal=1)


def lapse(chunk):
    Chunk.objects.filter(pk=chunk.pk).update(lease_until=timezone.now() - timedelta(seconds=5))


def test_a_claim_takes_the_part_and_starts_the_run(chunk, run):
    lease = leases.claim(chunk.pk)
    chunk.refresh_from_db()
    run.refresh_from_db()
    assert (chunk.state, chunk.token, chunk.attempts) == ("running", lease.token, 1)
    assert lease.token.startswith(f"{leases.BOOT}:")
    assert timedelta(seconds=60) < chunk.lease_until - timezone.now() < timedelta(seconds=180)
    assert run.state == Run.State.RUNNING


def test_a_part_that_is_taken_or_done_cannot_be_claimed(chunk):
    lease = leases.claim(chunk.pk)
    assert leases.claim(chunk.pk) is None
    with leases.finishing(lease):
        pass
    assert leases.claim(chunk.pk) is None


def test_no_part_of_a_failed_run_can_be_claimed(chunk, run):
    Run.objects.filter(pk=run.pk).update(state=Run.State.FAILED)
    assert leases.claim(chunk.pk) is None


@pytest.mark.django_db(transaction=True)
def test_of_twenty_racing_claims_one_wins(corpus):
    run = Run.objects.create(kind="task2", corpus=corpus, parameters={}, digest="b" * 64)
    chunks = [Chunk.objects.create(run=run, ordinal=i, keys=[], size=1) for i in range(3)]

    def race(chunk):
        try:
            return leases.claim(chunk.pk)
        finally:
            connection.close()

    for chunk in chunks:
        with ThreadPoolExecutor(20) as pool:
            won = [lease for lease in pool.map(race, [chunk] * 20) if lease]
        assert len(won) == 1
        chunk.refresh_from_db()
        assert (chunk.token, chunk.attempts) == (won[0].token, 1)


def test_effects_and_completion_happen_together(chunk):
    lease = leases.claim(chunk.pk)
    with leases.finishing(lease):
        leases.beat("effect")
    chunk.refresh_from_db()
    assert (chunk.state, chunk.token, chunk.lease_until) == ("done", "", None)
    assert WorkerBeat.objects.filter(worker="effect").exists()


def test_a_lost_lease_takes_its_effects_with_it(chunk):
    lost = leases.claim(chunk.pk)
    lapse(chunk)
    assert leases.sweep() == 1
    taken = leases.claim(chunk.pk)
    with pytest.raises(leases.LostLease), leases.finishing(lost):
        leases.beat("effect")

    assert not WorkerBeat.objects.exists()
    assert leases.renew(lost) is False
    with leases.finishing(taken):
        pass
    chunk.refresh_from_db()
    assert (chunk.state, chunk.attempts) == ("done", 2)


def test_renewing_keeps_the_lease_from_lapsing(chunk):
    lease = leases.claim(chunk.pk)
    lapse(chunk)
    assert leases.renew(lease) is True
    assert leases.sweep() == 0


def test_the_sweep_leaves_living_leases_alone(chunk):
    leases.claim(chunk.pk)
    assert leases.sweep() == 0
    assert leases.sweep(boot=leases.BOOT) == 0
    chunk.refresh_from_db()
    assert chunk.state == "running"


def test_a_fresh_start_frees_the_parts_of_earlier_processes_at_once(chunk):
    leases.claim(chunk.pk)
    assert leases.sweep(boot="another.1.start") == 1
    chunk.refresh_from_db()
    assert (chunk.state, chunk.token, chunk.sent_at) == ("queued", "", None)


def test_the_part_of_a_process_that_ended_on_this_host_is_freed_at_once(chunk):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    leases.claim(chunk.pk)
    host = socket.gethostname()[:30]
    Chunk.objects.filter(pk=chunk.pk).update(token=f"{host}.{ended.pid}.0123abcd:ff")
    assert leases.sweep() == (1 if os.name == "posix" else 0)


def test_the_part_of_another_host_waits_for_its_lease(chunk):
    leases.claim(chunk.pk)
    Chunk.objects.filter(pk=chunk.pk).update(token="some.other.host.1.0123abcd:ff")
    assert leases.sweep() == 0
    lapse(chunk)
    assert leases.sweep() == 1


def test_a_part_that_ends_every_worker_fails_with_its_run(chunk, run):
    for _ in range(leases.MAX_ATTEMPTS):
        assert leases.claim(chunk.pk) is not None
        lapse(chunk)
        assert leases.sweep() == 1
    chunk.refresh_from_db()
    run.refresh_from_db()
    assert (chunk.state, run.state) == ("failed", "failed")
    assert "Given up after 6 tries" in run.failure == chunk.failure


def test_failing_names_the_reason_and_closes_the_run(chunk, run):
    leases.fail(leases.claim(chunk.pk), "no such encoder")
    run.refresh_from_db()
    assert (run.state, run.failure) == (Run.State.FAILED, "no such encoder")
    assert run.finished_at is not None


def test_a_released_part_can_be_claimed_again(chunk):
    leases.release(leases.claim(chunk.pk))
    assert leases.claim(chunk.pk) is not None


def test_a_beat_is_one_row_per_worker(db):
    leases.beat("worker-1")
    first = WorkerBeat.objects.get().seen_at
    leases.beat("worker-1")
    assert WorkerBeat.objects.get().seen_at >= first
