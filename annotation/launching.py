"""Studies are drawn, launched once, and followed by later versions; nothing is edited in between.

A draft can be drawn again with other numbers. From the launch on its items stand: they are the
question that was asked. Whoever wants another question makes a new version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation import announcing, auditing, study_drawing
from annotation.design import POSITIONS, TYPES
from annotation.models import Study
from annotation.phases import AFTER, BEFORE
from annotation.refusals import EnrolmentRefused
from annotation.study_shapes import Shape, shape_of
from annotation.titles import revealing_word
from benchmark.models import Corpus

PHASES = (*BEFORE, *AFTER)
CODES = ("complete", "screened_out", "no_consent", "partial")
FIELDS = ("consent", "pass_mark", "idle_hours", "rate_per_hour", "currency", "codes")
OPENING = {"paused": ("open",), "closed": ("open", "paused"), "open": ("paused", "closed")}
VERBS = {"paused": "paused", "closed": "closed", "open": "reopened"}


@transaction.atomic
def create_study(
    *,
    slug: str,
    title: str,
    forks: Corpus,
    seed: int,
    n_seats: int,
    n_simulated: int = 0,
    forks_per_seat: int = 16,
    conformant_per_seat: int = 2,
    overlap: float = 0.2,
    foil_share: float = 0.5,
    types: Sequence[str] = TYPES,
    positions: Sequence[int] = POSITIONS,
    workflows: Iterable[str] = (),
    n_practice: int = 0,
    n_attention: int = 0,
    phases: Sequence[str] = (),
    state: str = Study.State.OPEN,
    created_by: Any = None,
    **study_fields: Any,
) -> Study:
    """Draw a study over the forks of `forks` and the conformant dialogues they come from.

    The last `n_simulated` of the `n_seats` seats are marked as simulated: no person can take them.
    `workflows` restricts the study to workflows of these names. Same corpora and seed, same items,
    same order; only tokens and pseudonyms are drawn anew. `study_fields` are any of FIELDS.

    With `state` other than DRAFT the study is launched at once.

    Raises
    ------
    EnrolmentRefused
        if the slug is taken, a word gives the design away, a value is not allowed, or there is too
        little to judge.
    """
    if unknown := set(study_fields) - {*FIELDS, "protocol_version", "version_of"}:
        raise TypeError(f"a study has no field {sorted(unknown)[0]!r} to set")
    shape = Shape(
        n_seats=n_seats,
        n_simulated=n_simulated,
        forks_per_seat=forks_per_seat,
        conformant_per_seat=conformant_per_seat,
        overlap=overlap,
        foil_share=foil_share,
        types=tuple(types),
        positions=tuple(positions),
        workflows=tuple(sorted(workflows)),
        n_practice=n_practice,
        n_attention=n_attention,
    )
    if Study.objects.filter(slug=slug).exists():
        raise EnrolmentRefused(f"There is a study {slug!r} already. Choose another slug.")
    study = Study(slug=slug, title=title, seed=seed, phases=list(phases), created_by=created_by)
    _set(study, study_fields)
    _check(study, shape)
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError as error:
        raise EnrolmentRefused(
            f"There is a study {slug!r} already. Choose another slug."
        ) from error
    study_drawing.fill(study, forks, shape)
    auditing.record("study.drawn", actor=created_by, study=study, seats=n_seats, seed=seed)
    if state != Study.State.DRAFT:
        _open(study, created_by, state)
    return study


@transaction.atomic
def redraw(
    study: Study,
    *,
    forks: Corpus,
    shape: Shape,
    actor: Any = None,
    **fields: Any,
) -> Study:
    """Draw a draft again: other numbers, other words; its items and seats are replaced at once.

    `fields` are any of slug, title, seed, phases and FIELDS.

    Raises EnrolmentRefused where the study was launched, or as `create_study` does; nothing has
    changed then.
    """
    current = _locked(study)
    if current.state != Study.State.DRAFT:
        raise EnrolmentRefused(
            f"“{current.title}” was launched: what people are asked stands. Make a new version."
        )
    if current.seats.filter(user__isnull=False).exists():
        raise EnrolmentRefused(
            f"People hold seats of “{current.title}” already, so it cannot be drawn again."
        )
    taken = Study.objects.filter(slug=fields.get("slug", current.slug)).exclude(pk=current.pk)
    if taken.exists():
        raise EnrolmentRefused(f"There is a study {fields['slug']!r} already. Choose another slug.")
    _set(current, fields)
    _check(current, shape)
    current.save()
    study_drawing.empty(current)
    study_drawing.fill(current, forks, shape)
    auditing.record(
        "study.redrawn", actor=actor, study=current, seats=shape.n_seats, seed=current.seed
    )
    return current


@transaction.atomic
def launch(study: Study, actor: Any = None) -> Study:
    """Open a draft to people; items, seats and protocol version stand from now on.

    Raises EnrolmentRefused where it is no draft any more.
    """
    current = _locked(study)
    if current.state != Study.State.DRAFT:
        raise EnrolmentRefused(f"“{current.title}” was launched before.")
    _open(current, actor, Study.State.OPEN)
    study.refresh_from_db()
    return study


@transaction.atomic
def new_version(study: Study, actor: Any = None) -> Study:
    """A draft that starts from `study`, with the next protocol version; answers stay as they are.

    It is drawn from the same numbers and the same seed, so that it asks the same until it is drawn
    again. Raises EnrolmentRefused where the corpus is gone or the study is a draft itself.
    """
    current = _locked(study)
    if current.state == Study.State.DRAFT:
        raise EnrolmentRefused(f"“{current.title}” is a draft: change it as it is.")
    first = current.version_of or current
    versions = Study.objects.filter(version_of=first).values_list("protocol_version", flat=True)
    version = max([first.protocol_version, *versions]) + 1
    return create_study(
        slug=_free_slug(first.slug, version),
        title=current.title,
        forks=forks_of(current),
        seed=current.seed,
        phases=current.phases,
        state=Study.State.DRAFT,
        created_by=actor,
        protocol_version=version,
        version_of=first,
        **shape_in(current).as_dict(),
        **{name: getattr(current, name) for name in FIELDS},
    )


@transaction.atomic
def set_state(study: Study, state: str, actor: Any = None) -> Study:
    """Pause, close or reopen a launched study; doing it again changes nothing.

    Raises EnrolmentRefused where that state cannot be reached from the one it has.
    """
    current = _locked(study)
    if current.state == state and state in OPENING:
        return current
    if current.state not in OPENING.get(state, ()):
        raise EnrolmentRefused(
            f"“{current.title}” is {current.get_state_display().lower()} and so cannot be "
            f"{VERBS.get(state, state)}."
        )
    current.state = study.state = state
    current.save(update_fields=["state"])
    auditing.record(f"study.{VERBS[state]}", actor=actor, study=current)
    return current


def shape_in(study: Study) -> Shape:
    """The numbers `study` was drawn from."""
    seats = study.seats.filter(succeeds=None)
    return shape_of(
        study.design,
        n_seats=max(1, seats.count()),
        n_simulated=seats.filter(simulated=True).count(),
    )


def forks_of(study: Study) -> Corpus:
    """The corpus of forks `study` was drawn over; EnrolmentRefused where it is gone."""
    slug = study.design.get("forks", "")
    corpus = Corpus.objects.filter(slug=slug).first()
    if corpus is None:
        raise EnrolmentRefused(f"The corpus {slug!r} that the study was drawn over is gone.")
    return corpus


def changed_since_launch(study: Study) -> bool:
    """Whether what people are asked differs from what was launched; false for a draft."""
    stored = study.design.get("items_sha256")
    return bool(stored) and stored != study_drawing.digest(study)


def _open(study: Study, actor: Any, state: str) -> None:
    study.state = state
    study.launched_at = timezone.now()
    study.design["items_sha256"] = study_drawing.digest(study)
    study.save(update_fields=["state", "launched_at", "design"])
    detail = {
        "protocol_version": study.protocol_version,
        "items_sha256": study.design["items_sha256"],
    }
    auditing.record("study.launched", actor=actor, study=study, **detail)
    announcing.announce("study.launched", {"study": study.slug, **detail})


def _locked(study: Study) -> Study:
    return Study.objects.select_for_update().get(pk=study.pk)


def _set(study: Study, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(study, name, value)


def _free_slug(stem: str, version: int) -> str:
    ending = f"-v{version}"
    slug = wanted = stem[: 80 - len(ending)] + ending
    number = 1
    while Study.objects.filter(slug=slug).exists():
        number += 1
        slug = f"{wanted[:74]}-{number}"
    return slug


def _check(study: Study, shape: Shape) -> None:
    for name, text in (("title", study.title), ("slug", study.slug)):
        if word := revealing_word(text):
            raise EnrolmentRefused(
                f"The {name} is shown to annotators and says {word!r}, which tells them about the "
                "design. Choose a neutral one, such as “Winter round”."
            )
    if unknown := [name for name in study.phases if name not in PHASES]:
        raise EnrolmentRefused(f"{unknown[0]!r} is no phase; the phases are {', '.join(PHASES)}.")
    if ("practice" in study.phases) != (shape.n_practice > 0):
        raise EnrolmentRefused(
            "The phase “practice” and practice items go together: choose both or neither."
        )
    if not 0 <= int(study.pass_mark) <= shape.n_practice:
        raise EnrolmentRefused(
            f"The pass mark is {study.pass_mark}; it must lie between 0 and the number of "
            f"practice items, {shape.n_practice}."
        )
    if not 0 <= int(study.idle_hours) <= 8760:
        raise EnrolmentRefused(
            f"The idle hours are {study.idle_hours}; they must lie between 0 (never) and 8760."
        )
    _check_codes(study.codes)
    try:
        study.full_clean(exclude=["created_by", "version_of"])
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        raise EnrolmentRefused(f"The field {name} is not allowed: {messages[0]}") from error


def _check_codes(codes: Mapping[str, str]) -> None:
    if unknown := set(codes) - set(CODES):
        raise EnrolmentRefused(
            f"{sorted(unknown)[0]!r} is no completion code; the codes are {', '.join(CODES)}."
        )
    given = [code for code in codes.values() if code]
    if wrong := [code for code in given if not re.fullmatch(r"[A-Za-z0-9_-]{3,40}", str(code))]:
        raise EnrolmentRefused(
            f"The completion code {wrong[0]!r} must have 3 to 40 letters, digits, - or _."
        )
    if len(set(given)) < len(given):
        raise EnrolmentRefused("Two completion codes are the same: they tell outcomes apart.")
