"""What a reviewer of a run may send. What an answer must have is decided in `review_answers`."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.review_answers import DETAIL, missing, parsed, places_of

SOME = forms.MultipleHiddenInput


class ReviewForm(forms.Form):
    """A flat form: fields such as "kind-3.thought" say more about one of the marked places."""

    present = forms.CharField(required=False)
    types = forms.Field(required=False, widget=SOME)
    flags = forms.Field(required=False, widget=SOME)
    places = forms.Field(required=False, widget=SOME)
    rationale = forms.CharField(required=False, strip=True)

    @property
    def flat(self) -> dict[str, Any]:
        """What is entered, by name of field, as a draft holds it; empty fields are left out."""
        if not self.is_bound:
            return dict(self.initial)
        found: dict[str, Any] = {name: self[name].value() for name in self.fields}
        for name in self.data:
            detail = DETAIL.fullmatch(name)
            if detail and parsed(detail[2]) is not None:
                many = detail[1] == "kind"
                found[name] = self.data.getlist(name) if many else self.data.get(name)
        return {name: value for name, value in found.items() if value not in ("", None, [])}

    def clean(self) -> dict[str, Any]:
        """The values of `reviewing.record_review`, with all that is missing said at once."""
        data = (super().clean() or {}) | {"places": places_of(self.flat)}
        for refused in missing(data):
            self.add_error(refused.field, str(refused))
        return data


class ComparisonForm(forms.Form):
    agreement = forms.CharField(required=False)
    on = forms.Field(required=False, widget=SOME)
    note = forms.CharField(required=False, strip=True)
    changed = forms.CharField(required=False)
