"""Judgements of a release become rows again: closed studies, seats without people."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation import restoring_reviews
from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Seat,
    Skip,
    SliderRating,
    Study,
    Withdrawal,
)
from benchmark.models import Corpus, Dialogue, Rater, Turn
from benchmark.records import BadRecord

IMPORTED = "imported"
# Heads of the chains of a study that came by import: what they attest is not here.
IMPORTED_HEADS = "imported_heads"
# Who judged what in a study made from another tool's files, under a key of this site.
JUDGES_KEPT = "judges"
# Keys of a design that stay on this site.
PRIVATE = (IMPORTED, IMPORTED_HEADS, JUDGES_KEPT)
STEPS = ("rate", "instruction", "prefix")

Row = Mapping[str, Any]


@transaction.atomic
def restore_judgements(
    corpora: Mapping[str, Corpus],
    studies: Iterable[Row],
    rows: Iterable[Row],
    reviews: Iterable[Row] = (),
) -> Counter[str]:
    """Store the judgements and reviews of a release, once; how many were "new" and "unchanged".

    `corpora` gives the corpus for each name in the rows ("" is the released one). A study that was
    not imported itself takes no new seats: its people are not those of the release.

    Raises
    ------
    BadRecord
        If a row names a study, dialogue or turn that is not there, contradicts an answer that is,
        or belongs to a study of the same name that was not imported.
    """
    known = {entry["study"]: entry for entry in studies}
    counts: Counter[str] = Counter()
    for row in rows:
        study = _study(known, row, corpora)
        counts["new" if _store(study, corpora, row) else "unchanged"] += 1
    for row in reviews:
        study = _study(known, row, corpora)
        stored = restoring_reviews.store(study, seat_of(study, row), corpora, row)
        counts["new" if stored else "unchanged"] += 1
    for slug, entry in known.items():
        if entry.get("withdrawn") or entry.get("commitments"):
            where = {"study": slug, "where": f"MANIFEST.json, studies.{slug}"}
            _restore_seats(_study(known, where, corpora), entry, where)
    return counts


def _restore_seats(study: Study, entry: Row, where: Row) -> None:
    """Who withdrew, with and without judgements left, and the heads of the chains."""
    for pseudonym, mode in entry.get("withdrawn", {}).items():
        seat = seat_of(study, {**where, "annotator": pseudonym, "simulated": False})
        if Withdrawal.objects.filter(seat=seat).exists():
            continue
        Withdrawal.objects.create(seat=seat, mode=mode, receipt=secrets.token_hex(16))
        Seat.objects.filter(pk=seat.pk).update(state=Seat.State.WITHDRAWN)
    heads = entry.get("commitments", {})
    if study.design.get(IMPORTED) and study.design.get(IMPORTED_HEADS) != heads and heads:
        study.design[IMPORTED_HEADS] = heads
        study.save(update_fields=["design"])


def _study(known: Mapping[str, Row], row: Row, corpora: Mapping[str, Corpus]) -> Study:
    slug = row["study"]
    if slug not in known:
        raise BadRecord(row["where"], f"the manifest does not tell of the study {slug}")
    entry = known[slug]
    study, new = Study.objects.get_or_create(
        slug=slug,
        defaults={
            "title": entry["title"],
            "seed": entry["seed"],
            "protocol_version": entry["protocol_version"],
            "design": entry["design"] | {IMPORTED: True},
            "state": Study.State.CLOSED,
            "kind": entry.get("kind", Study.Kind.FORKS),
            "judge": Rater.objects.filter(name=entry.get("judge", "")).first(),
        },
    )
    if new:
        study.corpora.set(corpora.values())
    return study


def _store(study: Study, corpora: Mapping[str, Corpus], row: Row) -> bool:
    dialogue = Dialogue.objects.filter(
        corpus=corpora.get(row["corpus"]), format=row["format"], external_id=row["dialogue"]
    ).first()
    if dialogue is None:
        raise BadRecord(row["where"], f"the dialogue {row['dialogue']} is not there")
    seat = seat_of(study, row)
    # A release of the first form knows first attempts only.
    attempt = row.get("attempt", 1)
    assignment = (
        Assignment.objects.main()
        .filter(seat=seat, item__dialogue=dialogue, item__is_foil=row["is_foil"], attempt=attempt)
        .first()
    )
    if assignment is None:
        assignment = Assignment.objects.create(
            seat=seat,
            item=_item(study, dialogue, row),
            rank=row["order"],
            attempt=attempt,
            post_reveal=row.get("post_reveal", False),
            **restoring_reviews.ended(row),
        )
        _answers(assignment, dialogue, row)
        restoring_reviews.restore_times(assignment, row, STEPS)
        return True
    slider = getattr(assignment, "slider", None)
    if (slider.value if slider else None) != row["slider"]:
        raise BadRecord(row["where"], "another answer to this item is here already")
    return False


def _item(study: Study, dialogue: Dialogue, row: Row) -> Item:
    if not study.design.get(IMPORTED):
        raise BadRecord(row["where"], _living(study))
    return Item.objects.get_or_create(
        study=study,
        dialogue=dialogue,
        is_foil=row["is_foil"],
        kind=Item.Kind.MAIN,
        defaults={
            "instruction": row["shown_instruction"],
            "instruction_type": row["shown_type"],
            "instruction_variant": row["shown_variant"],
        },
    )[0]


def _living(study: Study) -> str:
    return (
        f"a study {study.slug} that was not imported is here already; "
        "import the release into an empty database"
    )


def seat_of(study: Study, row: Row) -> Seat:
    """The seat a row is about, made in a study that was imported; raises BadRecord."""
    seat = Seat.objects.filter(pseudonym=row["annotator"]).first()
    if seat is not None and seat.study_id == study.pk:
        return seat
    if seat is not None or not study.design.get(IMPORTED):
        raise BadRecord(row["where"], _living(study))
    return Seat.objects.create(
        study=study,
        number=study.seats.count() + 1,
        pseudonym=row["annotator"],
        simulated=row["simulated"],
    )


def _answers(assignment: Assignment, dialogue: Dialogue, row: Row) -> None:
    if row["skipped"] is not None:
        Skip.objects.create(assignment=assignment, reason=row["skipped"])
    if row["finished"]:
        assignment.finished_at = timezone.now()
        assignment.save(update_fields=["finished_at"])
    if row["slider"] is None:
        return
    slider = SliderRating.objects.create(assignment=assignment, value=row["slider"])
    if row["confirmation"] is not None:
        confirmation = InstructionConfirmation.objects.create(
            slider=slider, answer=row["confirmation"]
        )
        if row["onset_marked"]:
            onset = OnsetMark.objects.create(confirmation=confirmation, turn=_turn(dialogue, row))
            if row["prefix"] is not None:
                PrefixJudgement.objects.create(onset=onset, answer=row["prefix"])


def _turn(dialogue: Dialogue, row: Row) -> Turn | None:
    if row["onset_turn"] is None:
        return None
    turn = dialogue.turns.filter(number=row["onset_turn"]).first()
    if turn is None:
        raise BadRecord(row["where"], f"turn {row['onset_turn']} is not there")
    return turn
