"""Studies are drawn, launched once, and followed by later versions; nothing is edited in between.

A draft can be drawn again with other numbers. From the launch on its items stand: they are the
question that was asked. Whoever wants another question makes a new version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation import announcing, auditing, run_drawing, study_drawing
from annotation.design import POSITIONS, TYPES
from annotation.models import Study
from annotation.refusals import EnrolmentRefused
from annotation.run_shapes import RunShape, run_shape_of
from annotation.study_checks import check
from annotation.study_shapes import Shape, shape_of
from benchmark.models import Corpus

FIELDS = ("consent", "pass_mark", "idle_hours", "rate_per_hour", "currency", "codes")
KEPT = ("title", "kind", "judge", "seed", "phases")
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
    study = Study(slug=slug, title=title, seed=seed, phases=list(phases), created_by=created_by)
    _set(study, study_fields)
    return begin(study, [forks], shape, state=state)


@transaction.atomic
def begin(study: Study, corpora: Sequence[Corpus], shape: Shape | RunShape, *, state: str) -> Study:
    """Store a new `study` and draw it; launched at once with a `state` other than DRAFT.

    Raises EnrolmentRefused where the slug is taken, a value is not allowed or nothing can be drawn.
    """
    taken = EnrolmentRefused(f"There is a study {study.slug!r} already. Choose another slug.")
    if Study.objects.filter(slug=study.slug).exists():
        raise taken
    check(study, shape)
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError as error:
        raise taken from error
    _fill(study, corpora, shape)
    actor = study.created_by
    n_seats = study.seats.count()
    auditing.record("study.drawn", actor=actor, study=study, seats=n_seats, seed=study.seed)
    if state != Study.State.DRAFT:
        _open(study, actor, state)
    return study


@transaction.atomic
def redraw(
    study: Study,
    *,
    corpora: Sequence[Corpus],
    shape: Shape | RunShape,
    actor: Any = None,
    **fields: Any,
) -> Study:
    """Draw a draft again: other numbers, other words; its items and seats are replaced at once.

    `corpora` is the one of forks, or those of agent runs. `fields` are any of slug, title, seed,
    judge, phases and FIELDS.

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
    check(current, shape)
    current.save()
    if current.kind == Study.Kind.RUNS:
        run_drawing.empty(current)
    study_drawing.empty(current)
    _fill(current, corpora, shape)
    n_seats = current.seats.count()
    auditing.record("study.redrawn", actor=actor, study=current, seats=n_seats, seed=current.seed)
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
    later = Study(
        slug=_free_slug(first.slug, version),
        protocol_version=version,
        version_of=first,
        created_by=actor,
        **{name: getattr(current, name) for name in (*KEPT, *FIELDS)},
    )
    return begin(later, corpora_of(current), shape_in(current), state=Study.State.DRAFT)


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


def shape_in(study: Study) -> Shape | RunShape:
    """The numbers `study` was drawn from."""
    if study.kind == Study.Kind.RUNS:
        return run_shape_of(study.design)
    seats = study.seats.filter(succeeds=None)
    return shape_of(
        study.design,
        n_seats=max(1, seats.count()),
        n_simulated=seats.filter(simulated=True).count(),
    )


def corpora_of(study: Study) -> list[Corpus]:
    """The corpus of forks, or those of runs, that `study` was drawn over.

    Raises EnrolmentRefused where one is gone.
    """
    runs = study.kind == Study.Kind.RUNS
    slugs = study.design.get("corpora", []) if runs else [study.design.get("forks", "")]
    found = {corpus.slug: corpus for corpus in Corpus.objects.filter(slug__in=slugs)}
    for slug in slugs:
        if slug not in found:
            raise EnrolmentRefused(f"The corpus {slug!r} that the study was drawn over is gone.")
    return [found[slug] for slug in slugs]


def changed_since_launch(study: Study) -> bool:
    """Whether what people are asked differs from what was launched; false for a draft."""
    stored = study.design.get("items_sha256")
    return bool(stored) and stored != study_drawing.digest(study)


def _fill(study: Study, corpora: Sequence[Corpus], shape: Shape | RunShape) -> None:
    if isinstance(shape, RunShape):
        run_drawing.fill(study, corpora, shape)
    else:
        study_drawing.fill(study, corpora[0], shape)


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
