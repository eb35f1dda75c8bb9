"""A third look at items whose judges differ. It is a row of its own and edits nothing of theirs."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet

from annotation import auditing
from annotation.disagreements import ONSET_TURNS, THRESHOLD, Answer, disputed
from annotation.models import (
    Adjudication,
    Assignment,
    InstructionConfirmation,
    Item,
    PrefixJudgement,
    Study,
)
from benchmark.models import Fork, Turn

NO = InstructionConfirmation.Answer.NO
WORDS = {
    "rating": "the rating",
    "appears": "whether the instruction appears",
    "onset": "where it starts",
    "prefix": "what came before the fork",
}


class AdjudicationRefused(ValueError):
    """A third look that is not allowed; `field` names the field at fault, "" the whole."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Settled:
    """What an adjudicator says; None for a question that is left as it is.

    `onset` is a turn number over all turns.
    """

    rating: int | None = None
    appears: str | None = None
    onset: int | None = None
    prefix: str | None = None
    note: str = ""


def judgements(prefix: str = "", *, simulated: bool = False) -> Q:
    """Finished blind judgements, of people unless `simulated`; `prefix` leads to the assignment."""
    conditions = {
        "finished_at__isnull": False,
        "ended": "",
        "post_reveal": False,
        "slider__isnull": False,
        "skip__isnull": True,
    }
    if not simulated:
        conditions["seat__simulated"] = False
    return Q(**{f"{prefix}{name}": value for name, value in conditions.items()})


def disputes(
    study: Study, threshold: int = THRESHOLD, *, simulated: bool = False
) -> QuerySet[Item]:
    """Main items whose judges differ, each with `n_judges` and `settled`; in order of ids.

    `simulated` counts simulated seats as judges too.
    """
    answer = "assignments__slider"
    onset = f"{answer}__confirmation__onset"
    return (
        Item.objects.filter(study=study, kind=Item.Kind.MAIN)
        .filter(judgements("assignments__", simulated=simulated))
        .annotate(
            n_judges=Count("assignments"),
            spread=Max(f"{answer}__value") - Min(f"{answer}__value"),
            n_appears=Count(f"{answer}__confirmation__answer", distinct=True),
            onsets=Max(f"{onset}__turn__assistant_number")
            - Min(f"{onset}__turn__assistant_number"),
            n_prefix=Count(f"{onset}__prefix__answer", distinct=True),
            settled=Exists(Adjudication.objects.filter(item=OuterRef("pk")).order_by()),
        )
        .filter(n_judges__gte=2)
        .filter(
            Q(spread__gt=threshold)
            | Q(n_appears__gt=1)
            | Q(onsets__gt=ONSET_TURNS)
            | Q(n_prefix__gt=1)
        )
        .order_by("pk")
    )


def waiting_for(items: QuerySet[Item], user: Any) -> QuerySet[Item]:
    """Those of `items` that nobody has settled and that `user` may settle."""
    own = Assignment.objects.filter(item=OuterRef("pk"), seat__user=user).order_by()
    return items.filter(~Exists(own), settled=False)


def judged_by(item: Item, user: Any) -> bool:
    """Whether the item was given to `user` as a judge: then they cannot settle it."""
    return Assignment.objects.filter(item=item, seat__user=user).exists()


def side_by_side(item: Item, *, simulated: bool = False) -> list[dict[str, Any]]:
    """The judgements of an item under letters in a drawn order, which tells nothing of seats."""
    onset = "slider__confirmation__onset"
    rows = list(
        Assignment.objects.filter(judgements(simulated=simulated), item=item)
        .order_by("pk")
        .values(
            "slider__value",
            "slider__confirmation__answer",
            f"{onset}__turn__number",
            f"{onset}__turn__assistant_number",
            f"{onset}__prefix__answer",
        )
    )
    random.Random(f"{item.study.seed} sides {item.pk}").shuffle(rows)
    names = ("rating", "appears", "onset_turn", "onset", "prefix")
    return [
        {"letter": _letter(place), **dict(zip(names, row.values(), strict=True))}
        for place, row in enumerate(rows)
    ]


def _letter(place: int) -> str:
    """A to Z, then A2 to Z2, and so on."""
    round_, letter = divmod(place, 26)
    return string.ascii_uppercase[letter] + (str(round_ + 1) if round_ else "")


def questions_in_dispute(sides: list[dict[str, Any]], threshold: int = THRESHOLD) -> list[str]:
    """The questions on which the judgements of `side_by_side` differ."""
    names = ("rating", "appears", "onset", "prefix")
    return disputed([Answer(*(side[name] for name in names)) for side in sides], threshold)


def turns_of(item: Item) -> list[dict[str, Any]]:
    """Number, role and text of the turns as the judges saw them."""
    shown = (Turn.Role.USER, Turn.Role.ASSISTANT, Turn.Role.ACTION, Turn.Role.OBSERVATION)
    rows = Turn.objects.filter(dialogue_id=item.dialogue_id, role__in=shown).order_by("number")
    return [
        {**row, "text": item.altered.get(str(row["number"]), row["text"])}
        for row in rows.values("number", "role", "text")
    ]


def fork_of(item: Item) -> Fork | None:
    """The fork that was judged; None for a whole conversation."""
    return Fork.objects.filter(dialogue_id=item.dialogue_id).order_by("ordinal").first()


def adjudicate(
    item: Item,
    user: Any,
    settled: Settled,
    *,
    threshold: int = THRESHOLD,
    simulated: bool = False,
) -> Adjudication:
    """Add a third look at `item`; the judgements and earlier looks stay as they are.

    Raises AdjudicationRefused if `user` judged the item, the item has no two judgements, an
    answer is out of range or does not apply, or a question in dispute is left open.
    """
    if item.kind != Item.Kind.MAIN:
        raise AdjudicationRefused("", "Only main items are judgements.")
    if judged_by(item, user):
        raise AdjudicationRefused("", "You judged this item yourself; somebody else settles it.")
    sides = side_by_side(item, simulated=simulated)
    if len(sides) < 2:
        raise AdjudicationRefused("", "This item has no two finished judgements to compare.")
    _check(settled, fork_of(item))
    turn = _onset(item, settled)
    for name in questions_in_dispute(sides, threshold):
        if getattr(settled, name) is None and not (name == "onset" and settled.appears == NO):
            raise AdjudicationRefused(name, f"The judges differ on {WORDS[name]}; settle it.")
    if settled.rating is None and settled.appears is None and settled.prefix is None:
        raise AdjudicationRefused("", "Settle at least one question.")
    with transaction.atomic():
        row = Adjudication.objects.create(
            item=item,
            adjudicator=user,
            rating=settled.rating,
            appears=settled.appears or "",
            onset=turn,
            prefix=settled.prefix or "",
            note=settled.note.strip(),
        )
        auditing.record("item.adjudicated", actor=user, study=item.study, item=item.pk)
    return row


def _check(settled: Settled, fork: Fork | None) -> None:
    if settled.rating is not None and not 0 <= settled.rating <= 100:
        raise AdjudicationRefused("rating", "Give a whole number from 0 to 100.")
    if settled.appears is not None and settled.appears not in InstructionConfirmation.Answer.values:
        raise AdjudicationRefused("appears", "Choose yes, partly or no.")
    if settled.prefix is None:
        return
    if settled.prefix not in PrefixJudgement.Answer.values:
        raise AdjudicationRefused("prefix", "Choose yes, mostly or no.")
    if fork is None or fork.fork_assistant_turn == 1:
        raise AdjudicationRefused("prefix", "This item has no assistant turn before the fork.")


def _onset(item: Item, settled: Settled) -> Turn | None:
    if settled.appears in (None, NO):
        if settled.onset is not None:
            raise AdjudicationRefused("onset", "A turn goes with yes or partly only.")
        return None
    if settled.onset is None:
        raise AdjudicationRefused("onset", "Choose the first assistant turn that shows it.")
    turn = Turn.objects.filter(
        dialogue_id=item.dialogue_id, number=settled.onset, role=Turn.Role.ASSISTANT
    ).first()
    if turn is None:
        raise AdjudicationRefused(
            "onset", f"Turn {settled.onset} is not an assistant turn of this item."
        )
    return turn
