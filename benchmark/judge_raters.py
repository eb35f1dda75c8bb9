"""Judges as raters: a model together with the words it was asked with, which never change."""

from __future__ import annotations

from django.db import transaction

from benchmark.judge_prompts import Prompt, checked, prompt_of_text, shipped
from benchmark.models import JudgePrompt, Rater
from benchmark.records import BadRecord

NAME_LENGTH = 120


def find_prompt(name: str, version: int, extra: list[Prompt] | None = None) -> Prompt:
    """The prompt: of `extra`, of those that come with the project, or a stored one.

    Raises BadRecord that names those there are.
    """
    for prompt in [*(extra or []), *shipped().values()]:
        if (prompt.name, prompt.version) == (name, version):
            return prompt
    row = JudgePrompt.objects.filter(name=name, version=version).first()
    if row:
        return prompt_of(row)
    known = [*map(str, [*(extra or []), *shipped().values()])]
    known += [
        f"{n}@{v}"
        for n, v in JudgePrompt.objects.values_list("name", "version")
        if f"{n}@{v}" not in known
    ]
    raise BadRecord("prompt", f"there is no {name}@{version}; there are {', '.join(known)}")


def prompt_of(row: JudgePrompt) -> Prompt:
    """A stored prompt as it is asked with."""
    return prompt_of_text(
        row.name, row.version, row.text, variant_set=row.variant_set, variant=row.variant
    )


def stored_prompt(prompt: Prompt) -> JudgePrompt:
    """The row of `prompt`, made when it is first used.

    Raises BadRecord where the name and version are here with other words, or a judge could not be
    asked with it.
    """
    checked(prompt)
    row, _ = JudgePrompt.objects.get_or_create(
        name=prompt.name,
        version=prompt.version,
        defaults={
            "text": prompt.text,
            "digest": prompt.digest,
            "variant_set": prompt.variant_set,
            "variant": dict(prompt.variant),
        },
    )
    if row.text != prompt.text:
        reason = "is here with other words; give the changed words a new version"
        raise BadRecord("prompt", f"{prompt} {reason}")
    return row


def judge_name(model: str, prompt: Prompt | None) -> str:
    """What a judge is called unless said otherwise: "model / prompt@version"."""
    return f"{model} / {prompt}" if prompt else model


@transaction.atomic
def judge_rater(name: str, *, model: str = "", prompt: Prompt | None = None) -> Rater:
    """The judge `name`, made with its prompt when it is new.

    A model or prompt that is not given is not compared. Raises BadRecord where the name is too
    long, or belongs to another rater: of another kind, model or prompt.
    """
    if not name or len(name) > NAME_LENGTH:
        raise BadRecord("judge", f"the name of a judge has 1 to {NAME_LENGTH} characters")
    if len(model) > NAME_LENGTH:
        raise BadRecord("model", f"has more than {NAME_LENGTH} characters")
    held = check_judge(name, model=model, prompt=prompt)
    if held:
        return held
    row = stored_prompt(prompt) if prompt else None
    return Rater.objects.get_or_create(
        name=name, defaults={"kind": Rater.Kind.JUDGE, "model": model, "prompt": row}
    )[0]


def check_judge(name: str, *, model: str = "", prompt: Prompt | None = None) -> Rater | None:
    """The judge of this name, None where there is none; BadRecord where it is another rater."""
    held = Rater.objects.select_related("prompt").filter(name=name).first()
    if held is None:
        return None
    if held.kind != Rater.Kind.JUDGE:
        raise BadRecord("judge", f"{name} is here already, as {held.get_kind_display()}")
    if model and held.model != model:
        raise BadRecord("model", f"{name} is here with the model {held.model or '(none)'}")
    if prompt and (held.prompt is None or held.prompt.text != prompt.text):
        with_prompt = "without a prompt"
        if held.prompt:
            with_prompt = f"with the prompt {held.prompt.name}@{held.prompt.version}"
        raise BadRecord("prompt", f"{name} is here {with_prompt}; name this judge otherwise")
    return held


def forget_unused(rater: Rater) -> None:
    """Delete a judge of which nothing is stored, and its prompt where nobody else is asked it."""
    if rater.answers.exists() or rater.label_sets.exists():
        return
    prompt = rater.prompt
    rater.delete()
    if prompt and not prompt.raters.exists():
        prompt.delete()
