"""What must hold of a study before it is drawn, whatever it shows; refused in sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping

from django.core.exceptions import ValidationError

from annotation.models import Study
from annotation.phases import AFTER, BEFORE
from annotation.refusals import EnrolmentRefused
from annotation.run_shapes import RunShape
from annotation.study_shapes import Shape
from annotation.titles import named_in, revealing_word
from benchmark.models import Rater

PHASES = (*BEFORE, *AFTER)
CODES = ("complete", "screened_out", "no_consent", "partial")


def check(study: Study, shape: Shape | RunShape) -> None:
    """Raise EnrolmentRefused where a word gives the design away or a value is not allowed."""
    for name, text in (("title", study.title), ("slug", study.slug)):
        if word := revealing_word(text):
            raise EnrolmentRefused(
                f"The {name} is shown to annotators and says {word!r}, which tells them about the "
                "design. Choose a neutral one, such as “Winter round”."
            )
    if unknown := [name for name in study.phases if name not in PHASES]:
        raise EnrolmentRefused(f"{unknown[0]!r} is no phase; the phases are {', '.join(PHASES)}.")
    if study.kind == Study.Kind.RUNS:
        _check_runs(study)
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


def _check_runs(study: Study) -> None:
    if "practice" in study.phases:
        raise EnrolmentRefused(
            "Agent runs have no practice items, so the phase “practice” cannot be chosen."
        )
    if study.judge is not None and study.judge.kind != Rater.Kind.JUDGE:
        raise EnrolmentRefused(
            f"{study.judge.name!r} is no judge but of the kind "
            f"“{study.judge.get_kind_display().lower()}”."
        )
    for name, text in (("title", study.title), ("slug", study.slug)):
        if study.judge and (told := named_in(text, (study.judge.name, study.judge.model))):
            raise EnrolmentRefused(
                f"The {name} is shown to annotators and names the judge, {told!r}, whom they are "
                "not to know before their own answer. Choose a neutral one."
            )


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
