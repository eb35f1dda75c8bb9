"""What a researcher sets when a study is planned."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.design import POSITIONS, TYPES
from annotation.launching import shape_in
from annotation.models import Study
from annotation.study_checks import CODES, PHASES
from annotation.study_shapes import MOST_PER_SEAT, MOST_SEATS, Shape
from annotation.titles import revealing_word
from benchmark.models import Corpus, Fork, Workflow

BIGGEST = 2**63 - 1
PHASE_NAMES = {
    "consent": gettext_lazy("Consent"),
    "instructions": gettext_lazy("Instructions with worked examples"),
    "practice": gettext_lazy("Practice with feedback"),
    "questionnaire": gettext_lazy("Questions at the end"),
}
CODE_NAMES = {
    "complete": gettext_lazy("Code when finished"),
    "screened_out": gettext_lazy("Code when practice was not passed"),
    "no_consent": gettext_lazy("Code without consent"),
    "partial": gettext_lazy("Code when given up"),
}


def whole(label: Any, low: int, high: int, initial: int, hint: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=low, max_value=high, initial=initial, help_text=hint
    )


def _percent(label: Any, initial: int, hint: Any = "") -> forms.FloatField:
    return forms.FloatField(
        label=label,
        min_value=0,
        max_value=100,
        initial=initial,
        help_text=hint,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )


def named(corpus: Corpus) -> str:
    """A corpus in a list: its slug, and its title where it has one."""
    return f"{corpus.slug} · {corpus.title}" if corpus.title else corpus.slug


class DesignForm(forms.Form):
    """What any study has: a name, seats, a way through it, people who are paid."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=120,
        help_text=gettext_lazy("What people see. Say nothing about the design."),
    )
    slug = forms.SlugField(
        label=gettext_lazy("Name in addresses"),
        max_length=80,
        help_text=gettext_lazy("Small letters, digits and hyphens; people may see it too."),
    )
    n_seats = whole(gettext_lazy("Seats"), 1, MOST_SEATS, 30)
    n_simulated = whole(
        gettext_lazy("Of them simulated"), 0, MOST_SEATS, 0, gettext_lazy("For trying the pages.")
    )
    seed = whole(
        gettext_lazy("Seed"), 0, BIGGEST, 1, gettext_lazy("The same seed draws the same plan.")
    )
    phases = forms.MultipleChoiceField(
        label=gettext_lazy("Phases beside the items"),
        choices=[(name, PHASE_NAMES[name]) for name in PHASES],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    consent = forms.CharField(
        label=gettext_lazy("Consent text"),
        required=False,
        max_length=20000,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy("Empty: our own text."),
    )
    idle_hours = whole(
        gettext_lazy("Idle hours"), 0, 8760, 48, gettext_lazy("Then a seat is passed on; 0: never.")
    )
    rate_per_hour = forms.DecimalField(
        label=gettext_lazy("Pay per hour"),
        required=False,
        min_value=0,
        max_digits=7,
        decimal_places=2,
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    currency = forms.RegexField(
        r"^[A-Za-z]{3}\Z",
        label=gettext_lazy("Currency"),
        required=False,
        max_length=3,
        help_text=gettext_lazy("Three letters, such as GBP."),
    )
    code_complete = forms.CharField(label=CODE_NAMES["complete"], required=False, max_length=40)
    code_screened_out = forms.CharField(
        label=CODE_NAMES["screened_out"], required=False, max_length=40
    )
    code_no_consent = forms.CharField(label=CODE_NAMES["no_consent"], required=False, max_length=40)
    code_partial = forms.CharField(label=CODE_NAMES["partial"], required=False, max_length=40)

    sections: ClassVar[list[tuple[Any, list[str]]]] = []

    def clean_title(self) -> str:
        """Refuse a word that tells people about the design."""
        return self._neutral("title")

    def clean_slug(self) -> str:
        """Refuse a word that tells people about the design: it is in the address they come by."""
        return self._neutral("slug")

    def clean(self) -> dict[str, Any]:
        """What belongs together."""
        data = super().clean() or {}
        seats, simulated = data.get("n_seats"), data.get("n_simulated")
        if seats and simulated is not None and simulated > seats:
            message = ngettext(
                "There is only %(n)d seat.", "There are only %(n)d seats.", seats
            ) % {"n": seats}
            self.add_error("n_simulated", message)
        if data.get("rate_per_hour") and not data.get("currency"):
            self.add_error("currency", _("Pay needs a currency."))
        return data

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of the study itself."""
        data = self.cleaned_data
        codes = {name: data[f"code_{name}"] for name in CODES if data.get(f"code_{name}")}
        plain = ("slug", "title", "seed", "phases", "consent", "idle_hours", "rate_per_hour")
        currency = data["currency"].upper()
        return {name: data[name] for name in plain} | {"currency": currency, "codes": codes}

    @property
    def groups(self) -> list[tuple[Any, list[Any]]]:
        """The fields under their headings, in the order of the page."""
        return [(heading, [self[name] for name in names]) for heading, names in self.sections]

    def _neutral(self, name: str) -> str:
        text: str = self.cleaned_data[name]
        if word := revealing_word(text):
            raise forms.ValidationError(
                _("“%(word)s” tells people about the design. Choose a neutral word.")
                % {"word": word}
            )
        return text


NAME: tuple[Any, list[str]] = (gettext_lazy("Name"), ["title", "slug"])
PEOPLE: tuple[Any, list[str]] = (
    gettext_lazy("People"),
    ["idle_hours", "rate_per_hour", "currency", *(f"code_{name}" for name in CODES)],
)


class StudyForm(DesignForm):
    """The whole of the design of a study of forks; shares are percentages here."""

    forks = forms.ChoiceField(label=gettext_lazy("Corpus of forks"))
    workflows = forms.MultipleChoiceField(
        label=gettext_lazy("Workflows"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("None chosen: all of the corpus."),
    )
    types = forms.MultipleChoiceField(
        label=gettext_lazy("Types"),
        choices=[(name, name) for name in TYPES],
        initial=list(TYPES),
        widget=forms.CheckboxSelectMultiple,
    )
    positions = forms.TypedMultipleChoiceField(
        label=gettext_lazy("Positions"),
        choices=[(k, f"k = {k}") for k in POSITIONS],
        coerce=int,
        initial=list(POSITIONS),
        widget=forms.CheckboxSelectMultiple,
    )
    forks_per_seat = whole(gettext_lazy("Forks per seat"), 0, MOST_PER_SEAT, 16)
    conformant_per_seat = whole(gettext_lazy("Conformant per seat"), 0, MOST_PER_SEAT, 2)
    overlap = _percent(gettext_lazy("Overlap, %"), 20, gettext_lazy("Judgements of shared items."))
    foil_share = _percent(gettext_lazy("Foils on forks, %"), 50)
    n_practice = whole(gettext_lazy("Practice items"), 0, 20, 0)
    pass_mark = whole(gettext_lazy("Right ones to go on"), 0, 20, 0)
    n_attention = whole(gettext_lazy("Attention items"), 0, 20, 0)

    sections: ClassVar[list[tuple[Any, list[str]]]] = [
        NAME,
        (gettext_lazy("What is judged"), ["forks", "workflows", "types", "positions"]),
        (
            gettext_lazy("How much, by whom"),
            [
                *("n_seats", "n_simulated", "forks_per_seat", "conformant_per_seat"),
                *("overlap", "foil_share", "seed"),
            ],
        ),
        (
            gettext_lazy("The way through it"),
            ["phases", "n_practice", "pass_mark", "n_attention", "consent"],
        ),
        PEOPLE,
    ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        forks = Fork.objects.filter(dialogue__workflow__isnull=False)
        corpora = Corpus.objects.filter(Exists(forks.filter(dialogue__corpus=OuterRef("pk"))))
        self.known = {corpus.slug: corpus for corpus in corpora.order_by("slug")}
        choices = [(slug, named(corpus)) for slug, corpus in self.known.items()]
        self.fields["forks"].choices = [("", _("Choose one")), *choices]
        names = (
            Workflow.objects.filter(Exists(forks.filter(dialogue__workflow=OuterRef("pk"))))
            .order_by("name")
            .values_list("name", flat=True)
            .distinct()
        )
        self.fields["workflows"].choices = [(name, name) for name in names]

    def clean(self) -> dict[str, Any]:
        """What belongs together."""
        data = super().clean()
        if ("practice" in data.get("phases", ())) != bool(data.get("n_practice")):
            self.add_error(
                "n_practice", _("Practice items and the phase go together: choose both or neither.")
            )
        if data.get("pass_mark", 0) > data.get("n_practice", 0):
            self.add_error("pass_mark", _("At most as many as there are practice items."))
        return data

    @property
    def chosen(self) -> list[Corpus]:
        return [self.known[self.cleaned_data["forks"]]]

    @property
    def shape(self) -> Shape:
        data = self.cleaned_data
        whole = ("n_seats", "n_simulated", "forks_per_seat", "conformant_per_seat")
        return Shape(
            **{name: data[name] for name in (*whole, "n_practice", "n_attention")},
            overlap=data["overlap"] / 100,
            foil_share=data["foil_share"] / 100,
            types=tuple(data["types"]),
            positions=tuple(data["positions"]),
            workflows=tuple(data["workflows"]),
        )

    @property
    def columns(self) -> dict[str, Any]:
        """The fields of the study itself."""
        return super().columns | {"pass_mark": self.cleaned_data["pass_mark"]}


def initial_of(study: Study) -> dict[str, Any]:
    """The form's values for a study that is there."""
    shape = shape_in(study)
    assert isinstance(shape, Shape)
    return {
        **shape.as_dict(),
        **columns_of(study),
        "pass_mark": study.pass_mark,
        "forks": study.design.get("forks", ""),
        "overlap": round(100 * shape.overlap, 6),
        "foil_share": round(100 * shape.foil_share, 6),
    }


def columns_of(study: Study) -> dict[str, Any]:
    """What `DesignForm.columns` sets, as the form's values."""
    plain = ("slug", "title", "seed", "phases", "consent", "idle_hours")
    return {
        **{name: getattr(study, name) for name in (*plain, "rate_per_hour", "currency")},
        **{f"code_{name}": code for name, code in study.codes.items()},
    }
