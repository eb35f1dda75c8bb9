"""The corpus that a command is given by its slug."""

from __future__ import annotations

from django.core.management import CommandError

from benchmark.models import Corpus


def named_corpus(slug: str) -> Corpus:
    """The corpus; CommandError names those there are."""
    corpus = Corpus.objects.filter(slug=slug).first()
    if corpus is None:
        known = ", ".join(sorted(Corpus.objects.values_list("slug", flat=True))) or "none"
        raise CommandError(f"There is no corpus {slug!r}; there are: {known}.")
    return corpus
