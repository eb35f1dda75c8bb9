"""What an annotator may send. Whether the step is open is decided in `judging`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import InstructionConfirmation, PrefixJudgement, Skip
from annotation.run_words import SKIP_WORDS


class RatingForm(forms.Form):
    # No initial value: a slider that starts somewhere pulls ratings towards that place.
    rating = forms.IntegerField(
        min_value=0,
        max_value=100,
        error_messages={
            "required": _("Give a number from 0 to 100."),
            "invalid": _("Give a whole number from 0 to 100."),
            "min_value": _("Give a number from 0 to 100."),
            "max_value": _("Give a number from 0 to 100."),
        },
    )


class ConfirmationForm(forms.Form):
    appears = forms.ChoiceField(
        choices=InstructionConfirmation.Answer.choices,
        error_messages={
            "required": _("Choose yes, partly or no."),
            "invalid_choice": _("Choose yes, partly or no."),
        },
    )
    onset = forms.IntegerField(
        required=False,
        min_value=1,
        error_messages={
            "invalid": _("Choose one of the assistant turns."),
            "min_value": _("Choose one of the assistant turns."),
        },
    )

    def clean(self) -> dict[str, object]:
        """An onset is required when the answer is yes or partly, and dropped when it is no."""
        data = super().clean() or {}
        answer = data.get("appears")
        if answer == InstructionConfirmation.Answer.NO:
            data["onset"] = None
            self.errors.pop("onset", None)
        elif answer and data.get("onset") is None and "onset" not in self.errors:
            self.add_error("onset", _("Choose the first assistant turn that shows it."))
        return data


class PrefixForm(forms.Form):
    prefix = forms.ChoiceField(
        choices=PrefixJudgement.Answer.choices,
        error_messages={
            "required": _("Choose yes, mostly or no."),
            "invalid_choice": _("Choose yes, mostly or no."),
        },
    )


class SkipForm(forms.Form):
    reason = forms.ChoiceField(
        choices=Skip.Reason.choices,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose a reason."), "invalid_choice": _("Choose a reason.")},
    )
    note = forms.CharField(
        required=False,
        max_length=500,
        widget=forms.Textarea,
        error_messages={"max_length": _("Keep the note under 500 characters.")},
    )

    def __init__(self, *args: Any, of_run: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words = SKIP_WORDS if of_run else {}
        self.fields["reason"].choices = [(n, words.get(n, said)) for n, said in Skip.Reason.choices]


class ProblemForm(forms.Form):
    text = forms.CharField(
        max_length=1000,
        widget=forms.Textarea,
        error_messages={
            "required": _("Say what is wrong."),
            "max_length": _("Keep it under 1000 characters."),
        },
    )
    turn = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=10**6,
        error_messages={
            "invalid": _("Give the number of a turn, or leave it empty."),
            "min_value": _("Give the number of a turn, or leave it empty."),
            "max_value": _("Give the number of a turn, or leave it empty."),
        },
    )
    step = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=10**6,
        error_messages={
            "invalid": _("Give the number of a step, or leave it empty."),
            "min_value": _("Give the number of a step, or leave it empty."),
            "max_value": _("Give the number of a step, or leave it empty."),
        },
    )
