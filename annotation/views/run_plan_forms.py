"""What a researcher sets when a study of agent runs is planned, and what its forecast assumes."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from annotation.launching import shape_in
from annotation.models import Study
from annotation.run_forecasts import RunStrength
from annotation.run_shapes import MOST_JUDGES, RunShape
from annotation.run_studies import corpora_with_runs, judges, models_in
from annotation.study_checks import PHASES
from annotation.study_shapes import MOST_PER_SEAT, MOST_SEATS
from annotation.views.planning_forms import (
    NAME,
    PEOPLE,
    PHASE_NAMES,
    DesignForm,
    columns_of,
    named,
    whole,
)
from benchmark.models import Corpus, Rater

STRENGTH_NAMES = {
    "prevalence": gettext_lazy("Runs with a hallucination"),
    "alike": gettext_lazy("Runs that fare as their question does"),
    "person_sensitivity": gettext_lazy("Found by a person where there is one"),
    "person_specificity": gettext_lazy("Cleared by a person where there is none"),
    "judge_sensitivity": gettext_lazy("Found by the judge where there is one"),
    "judge_specificity": gettext_lazy("Cleared by the judge where there is none"),
}


class RunStudyForm(DesignForm):
    """The whole of the design of a study of agent runs."""

    corpora = forms.MultipleChoiceField(
        label=gettext_lazy("Corpora of runs"), widget=forms.CheckboxSelectMultiple
    )
    models = forms.MultipleChoiceField(
        label=gettext_lazy("Models"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("None chosen: all."),
    )
    questions = forms.CharField(
        label=gettext_lazy("Questions"),
        required=False,
        max_length=20000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Their ids, with commas or one a line. Empty: all."),
    )
    judge = forms.ChoiceField(
        label=pgettext_lazy("model", "Judge"),
        required=False,
        help_text=gettext_lazy("Whose answer people see after their own, and compare with it."),
    )
    limit = whole(
        gettext_lazy("Runs at most"), 0, 100_000, 0, gettext_lazy("0: all. Drawn from all models.")
    )
    per_item = whole(gettext_lazy("People per run"), 1, MOST_JUDGES, 2)
    n_seats = whole(
        gettext_lazy("Seats"), 0, MOST_SEATS, 10, gettext_lazy("0: as the runs per seat ask for.")
    )
    runs_per_seat = whole(
        gettext_lazy("Runs per seat at most"),
        0,
        MOST_PER_SEAT,
        0,
        gettext_lazy("0: as many as it takes."),
    )
    phases = forms.MultipleChoiceField(
        label=gettext_lazy("Phases beside the items"),
        choices=[(name, PHASE_NAMES[name]) for name in PHASES if name != "practice"],
        # Without practice, the instructions are all that tells people what to do.
        initial=["consent", "instructions"],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("There are no practice and no attention items for agent runs."),
    )
    code_screened_out = None  # type: ignore[assignment]

    sections: ClassVar[list[tuple[Any, list[str]]]] = [
        NAME,
        (gettext_lazy("What is judged"), ["corpora", "models", "questions", "limit", "judge"]),
        (
            gettext_lazy("How much, by whom"),
            ["per_item", "n_seats", "runs_per_seat", "n_simulated", "seed"],
        ),
        (gettext_lazy("The way through it"), ["phases", "consent"]),
        (PEOPLE[0], [name for name in PEOPLE[1] if name != "code_screened_out"]),
    ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = {corpus.slug: corpus for corpus in corpora_with_runs()}
        self.judges = {judge.name: judge for judge in judges()}
        self.fields["corpora"].choices = [
            (slug, named(corpus)) for slug, corpus in self.known.items()
        ]
        if len(self.known) == 1:
            self.fields["corpora"].initial = list(self.known)
        self.fields["models"].choices = [(name, name) for name in models_in(self.known.values())]
        self.fields["judge"].choices = [
            ("", _("None: people judge, and that is all")),
            *((name, _in_words(judge)) for name, judge in self.judges.items()),
        ]

    def clean_questions(self) -> tuple[str, ...]:
        """The ids, each once."""
        parts = re.split(r"[,\n]", self.cleaned_data["questions"])
        return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))

    def clean(self) -> dict[str, Any]:
        """What belongs together."""
        data = super().clean()
        seats, mine = data.get("n_seats"), data.get("runs_per_seat")
        if seats == 0 and mine == 0:
            self.add_error("n_seats", _("Give the seats, the runs per seat, or both."))
        if seats and data.get("per_item", 0) > seats:
            message = ngettext(
                "There is only %(n)d seat, and nobody judges a run twice.",
                "There are only %(n)d seats, and nobody judges a run twice.",
                seats,
            )
            self.add_error("per_item", message % {"n": seats})
        return data

    @property
    def chosen(self) -> list[Corpus]:
        """The corpora, by slug."""
        return [self.known[slug] for slug in self.cleaned_data["corpora"]]

    @property
    def shape(self) -> RunShape:
        data = self.cleaned_data
        numbers = ("n_seats", "n_simulated", "per_item", "runs_per_seat", "limit")
        return RunShape(
            **{name: data[name] for name in numbers},
            models=tuple(data["models"]),
            questions=data["questions"],
        )

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of the study itself."""
        return super().columns | {"judge": self.judges.get(self.cleaned_data["judge"])}


class RunStrengthForm(forms.Form):
    """What the forecast of a study of runs assumes; rates are percentages here."""

    draws = forms.IntegerField(
        label=gettext_lazy("Simulated studies"), min_value=10, max_value=1000, initial=200
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for each in fields(RunStrength):
            self.fields[each.name] = forms.FloatField(
                label=f"{STRENGTH_NAMES[each.name]}, %",
                min_value=0,
                max_value=100,
                initial=round(100 * float(each.default), 6),  # type: ignore[arg-type]
                widget=forms.NumberInput(attrs={"step": "any"}),
            )

    @property
    def strength(self) -> RunStrength:
        data = self.cleaned_data
        return RunStrength(**{each.name: data[each.name] / 100 for each in fields(RunStrength)})


def initial_of(study: Study) -> dict[str, Any]:
    """The form's values for a study that is there."""
    shape = shape_in(study)
    assert isinstance(shape, RunShape)
    return {
        **shape.as_dict(),
        **columns_of(study),
        "questions": "\n".join(shape.questions),
        "corpora": study.design.get("corpora", []),
        "judge": study.judge.name if study.judge else "",
    }


def _in_words(judge: Rater) -> str:
    return f"{judge.name} · {judge.model}" if judge.model else judge.name
