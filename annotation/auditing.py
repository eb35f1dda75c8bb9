"""The audit log: who did what, added and never changed."""

from __future__ import annotations

from typing import Any

from annotation.models import AuditEntry, Seat, Study


def record(
    action: str,
    *,
    actor: Any = None,
    study: Study | None = None,
    seat: Seat | None = None,
    **detail: Any,
) -> AuditEntry:
    """Add an entry, such as `record("study.launched", actor=user, study=study, seats=30)`.

    `action` is a noun and a past participle. `detail` must be JSON values and must hold nothing
    that names a person: a seat stands for its person. Call it inside the transaction of the act.
    """
    if study is None and seat is not None:
        study = seat.study
    known = actor if getattr(actor, "is_authenticated", False) else None
    return AuditEntry.objects.create(
        action=action, actor=known, study=study, seat=seat, detail=detail
    )
