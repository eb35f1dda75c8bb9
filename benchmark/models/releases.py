from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Now

from benchmark.models.workflows import Corpus


class Release(models.Model):
    """A published version of a corpus. Frozen: `digest` is of its data files, for ever."""

    corpus = models.ForeignKey(Corpus, on_delete=models.PROTECT, related_name="releases")
    version = models.CharField(
        max_length=40, validators=[RegexValidator(r"^\d+\.\d+(\.\d+)?\Z", "Use 1.0 or 1.0.0.")]
    )
    digest = models.CharField(max_length=64)
    manifest = models.JSONField()
    published_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["corpus", "-published_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["corpus", "version"], name="one_release_per_corpus_and_version"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.corpus.slug} {self.version}"
