from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scoring import encoders, finetuned_detectors, sentence_encoders


class Command(BaseCommand):
    help = "Fetch the weights of a sentence-transformers encoder once, so that runs work offline."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        tuned = ", ".join(finetuned_detectors.MODELS)
        known = ", ".join(encoders.names())
        parser.add_argument("name", help=f"one of: {known}; to be fine-tuned: {tuned}")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            revision = pulled(options["name"])
        except (encoders.UnknownEncoder, encoders.EncoderUnavailable) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['name']} is ready: {revision}")


def pulled(name: str) -> str:
    """Fetch the weights of an encoder, or of a transformer that detectors fine-tune."""
    model = finetuned_detectors.MODELS.get(name)
    if model is None:
        return encoders.pull(name)
    sentence_encoders.fetch(model)
    return finetuned_detectors.weights_of(name)
