"""Claims on texts that are being encoded, so that two workers do not encode the same ones.

A claim is a row per (encoder revision, text): who inserts it first encodes the text, stores the
vector and deletes the claim. A claim whose worker has ended, or that is older than CLAIM_SECONDS,
is free again: the text is then encoded a second time, which changes nothing but the time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper, Value
from django.db.models.functions import Now

from benchmark.storing import many_parameters
from scoring import leases
from scoring.models import EncodingClaim

CLAIM_SECONDS = 120


@contextmanager
def held(revision: str, digests: Sequence[bytes]) -> Iterator[set[bytes]]:
    """Those of `digests` that nobody else is encoding: this worker's until the block ends."""
    token = f"{leases.BOOT}:{uuid.uuid4().hex[:16]}"
    rows = [EncodingClaim(encoder=revision, text_digest=d, token=token) for d in sorted(digests)]
    with many_parameters():
        EncodingClaim.objects.bulk_create(rows, ignore_conflicts=True)
    own = EncodingClaim.objects.filter(token=token)
    try:
        yield {bytes(digest) for digest in own.values_list("text_digest", flat=True)}
    finally:
        own.delete()


def free_abandoned() -> int:
    """Delete the claims of workers that have ended or take too long; returns how many."""
    before = ExpressionWrapper(
        Now() - Value(timedelta(seconds=CLAIM_SECONDS)), output_field=DateTimeField()
    )
    freed, _ = EncodingClaim.objects.filter(claimed_at__lt=before).delete()
    tokens = EncodingClaim.objects.order_by().values_list("token", flat=True).distinct()
    ended = [token for token in tokens if leases.process_ended(token)]
    return freed + EncodingClaim.objects.filter(token__in=ended).delete()[0]
