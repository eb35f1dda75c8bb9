"""How strong the effects are that a forecast assumes, as a form."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.imagined_judges import RATINGS, Strength

STRENGTH_NAMES = {
    "mean_1": gettext_lazy("Mean rating, k = 1"),
    "mean_2": gettext_lazy("Mean rating, k = 2"),
    "mean_3": gettext_lazy("Mean rating, k = 3"),
    "mean_4": gettext_lazy("Mean rating, k = 4"),
    "side_goal_1": gettext_lazy("Mean rating, CSC, k = 1"),
    "side_goal_4": gettext_lazy("Mean rating, CSC, k = 4"),
    "conformant": gettext_lazy("Mean rating, conformant"),
    "spread": gettext_lazy("Spread of a rating (SD)"),
    "person": gettext_lazy("Spread between people (SD)"),
    "confirm_true": gettext_lazy("True instruction confirmed"),
    "confirm_foil": gettext_lazy("Foil on a fork confirmed"),
    "confirm_foil_conformant": gettext_lazy("Foil on a conformant one confirmed"),
    "exact": gettext_lazy("Onset exact"),
    "near": gettext_lazy("Onset within one turn"),
    "at_or_after": gettext_lazy("Onset at the fork or after"),
    "followed": gettext_lazy("Prefix followed"),
    "alike": gettext_lazy("Choices an item suggests to all"),
}


class StrengthForm(forms.Form):
    """How strong the effects are that the forecast assumes; rates are percentages here."""

    draws = forms.IntegerField(
        label=gettext_lazy("Simulated studies"), min_value=10, max_value=1000, initial=200
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in fields(Strength):
            default = float(each.default)  # type: ignore[arg-type]
            rating = each.name in RATINGS
            label = STRENGTH_NAMES[each.name]
            self.fields[each.name] = forms.FloatField(
                label=label if rating else f"{label}, %",
                min_value=0,
                max_value=100,
                initial=default if rating else round(100 * default, 6),
                widget=forms.NumberInput(attrs={"step": "any"}),
            )

    def clean(self) -> dict[str, Any]:
        """An onset that is exact is within one turn too."""
        data = super().clean() or {}
        if "exact" in data and "near" in data and data["near"] < data["exact"]:
            self.add_error("near", _("Exact onsets count too, so this cannot be lower."))
        return data

    @property
    def strength(self) -> Strength:
        data = self.cleaned_data
        return Strength(
            **{
                each.name: data[each.name] if each.name in RATINGS else data[each.name] / 100
                for each in fields(Strength)
            }
        )
