"""What a researcher may ask for on the page that starts runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.forms.forms import NON_FIELD_ERRORS

from benchmark.models import Corpus
from scoring import encoders
from scoring.methods import Method, Setting
from scoring.seen_runs import PEOPLE, truths
from scoring.trajectory_methods import JUDGED
from scoring.trajectory_methods import KIND as LABELS
from scoring.views.starting import BOOTSTRAP_SEED, KIND_LABELS, OFFERED, Wanted, runnable


class NewRunForm(forms.Form):
    """Corpora, a task, some of its methods with their settings, encoders, a seed.

    The fields of all tasks and methods are on the page; only those of the chosen task's chosen
    methods are looked at. `wanted` are the runs that a valid form asks for.
    """

    corpora = forms.MultipleChoiceField(
        error_messages={
            "required": "Choose at least one corpus.",
            "invalid_choice": "There is no such corpus. Choose one of the list.",
        },
    )
    kind = forms.ChoiceField(
        choices=[(kind, KIND_LABELS[kind]) for kind in OFFERED],
        error_messages={"required": "Choose a task.", "invalid_choice": "Choose a task."},
    )
    encoders = forms.MultipleChoiceField(required=False)
    truth = forms.ChoiceField(
        required=False,
        label="Truth: the labels of",
        error_messages={"invalid_choice": "Choose a rater of the list."},
    )
    judge = forms.ChoiceField(
        required=False,
        label="Judge, for methods that read one",
        error_messages={"invalid_choice": "Choose a rater of the list."},
    )
    bootstrap_seed = forms.IntegerField(
        label=BOOTSTRAP_SEED.label,
        min_value=int(BOOTSTRAP_SEED.low or 0),
        max_value=int(BOOTSTRAP_SEED.high or 0),
        initial=BOOTSTRAP_SEED.default,
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = {corpus.slug: corpus for corpus in Corpus.objects.order_by("slug")}
        self.fields["corpora"].choices = [(slug, slug) for slug in self.known]
        self.fields["encoders"].choices = [(name, name) for name in encoders.names()]
        raters = [(name, f"{name} ({n:,} runs)") for name, n in truths(list(self.known.values()))]
        self.fields["truth"].choices = raters
        self.fields["judge"].choices = [("", "none"), *(r for r in raters if r[0] != PEOPLE)]
        for kind, methods in OFFERED.items():
            self.fields[_all(kind)] = forms.BooleanField(required=False, label="All methods")
            self.fields[_methods(kind)] = forms.MultipleChoiceField(
                choices=[(name, method.label) for name, method in methods.items()], required=False
            )
            for method in methods.values():
                for setting in method.settings:
                    self.fields[_setting(kind, method, setting)] = field_of(setting)

    def clean(self) -> dict[str, Any]:
        """Errors of fields that belong to no chosen method are dropped with their values."""
        data = super().clean() or {}
        kind = data.get("kind")
        if kind is None:
            return data
        methods = self.methods_of(kind)
        if not methods and _methods(kind) not in self.errors:
            self.add_error(_methods(kind), "Choose at least one method.")
        unsaid = not data.get("encoders") and "encoders" not in self.errors
        if unsaid and any(method.encoder for method in methods):
            self.add_error("encoders", "Choose at least one encoder for these methods.")
        if kind == LABELS and not data.get("truth") and "truth" not in self.errors:
            self.add_error("truth", "Choose whose labels are the truth.")
        asked = {"corpora", "kind", "encoders", "bootstrap_seed", _methods(kind), _all(kind)}
        asked |= {"truth", "judge"} if kind == LABELS else set()
        asked |= {_setting(kind, m, setting) for m in methods for setting in m.settings}
        for name in list(self.errors):
            if name not in asked and name != NON_FIELD_ERRORS:
                del self.errors[name]
        return data

    def methods_of(self, kind: str) -> list[Method]:
        """The methods chosen for a task, in the order of the registry.

        All of them are those that can run here.
        """
        names = self.cleaned_data.get(_methods(kind)) or []
        everything = self.cleaned_data.get(_all(kind))
        if everything:
            return runnable(kind, self.cleaned_data.get("judge", ""))
        return [method for name, method in OFFERED[kind].items() if name in names]

    def wanted(self) -> Iterator[Wanted]:
        """One run per chosen method, and per encoder where the method has one."""
        kind = self.cleaned_data["kind"]
        corpora = [self.known[slug] for slug in self.cleaned_data["corpora"]]
        seed = self.cleaned_data["bootstrap_seed"]
        for method in self.methods_of(kind):
            given = {s.name: self.value_of(kind, method, s) for s in method.settings}
            given["bootstrap_seed"] = BOOTSTRAP_SEED.default if seed is None else seed
            if kind != "surprisal":
                given["method"] = method.name
            if kind == LABELS:
                given |= self.raters_for(method)
            for encoder in self.cleaned_data["encoders"] if method.encoder else [None]:
                yield Wanted(kind, corpora, {**given, **({"encoder": encoder} if encoder else {})})

    def raters_for(self, method: Method) -> dict[str, str]:
        """Whose labels are the truth, and the judge where the method reads one."""
        judge = self.cleaned_data.get("judge")
        found = {"truth": self.cleaned_data["truth"]}
        return found | ({"judge": judge} if judge and method.name in JUDGED else {})

    def value_of(self, kind: str, method: Method, setting: Setting) -> Any:
        """The chosen value in the setting's type; its default where the field was left empty."""
        value = self.cleaned_data.get(_setting(kind, method, setting))
        return setting.default if value is None else value

    def tasks(self) -> list[dict[str, Any]]:
        """For the page: every task with its methods, each with its fields."""
        return [
            {
                "kind": kind,
                "label": KIND_LABELS[kind],
                "all": self[_all(kind)],
                "methods": self[_methods(kind)],
                "rows": list(self.rows(kind, methods)),
                "raters": [self["truth"], self["judge"]] if kind == LABELS else [],
            }
            for kind, methods in OFFERED.items()
        ]

    def rows(self, kind: str, methods: Mapping[str, Method]) -> Iterator[dict[str, Any]]:
        chosen = self[_methods(kind)].value() or []
        for name, method in methods.items():
            yield {
                "method": method,
                "id": f"id_{_methods(kind)}_{name}",
                "name": _methods(kind),
                "chosen": name in chosen,
                "fields": [self[_setting(kind, method, s)] for s in method.settings],
            }


def field_of(setting: Setting) -> forms.Field:
    """The form field of a setting; an empty number means its default."""
    common: dict[str, Any] = {"label": setting.label, "required": False}
    if isinstance(setting.default, bool):
        return forms.BooleanField(**common, initial=setting.default)
    if setting.choices:
        return forms.TypedChoiceField(
            **common,
            choices=[(each, str(each).replace("_", " ")) for each in setting.choices],
            coerce=type(setting.default),
            empty_value=None,
            initial=setting.default,
        )
    field = forms.IntegerField if isinstance(setting.default, int) else forms.FloatField
    return field(**common, min_value=setting.low, max_value=setting.high, initial=setting.default)


def _methods(kind: str) -> str:
    return f"{kind}-methods"


def _all(kind: str) -> str:
    return f"{kind}-all"


def _setting(kind: str, method: Method, setting: Setting) -> str:
    return f"{kind}-{method.name}-{setting.name}"
