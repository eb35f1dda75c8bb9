"""The labels of a corpus of runs: who labelled what, and any two raters against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.label_disagreements import COLUMNS, disagreements
from annotation.people_labels import MAJORITY, PEOPLE, RULES, Combined, combined
from annotation.run_reports import CorpusLabels, corpus_labels, filters_of, people_of, task_numbers
from annotation.run_summary import Section, coverage_figure, pair_section, single_section
from annotation.views.label_words import RULE_WORDS
from annotation.views.run_reports import figure_file
from benchmark.models import Corpus
from benchmark.views.paging import choice
from scoring.views import csv_files

MOST_LISTED = 50
MOST_NAMED = 12
SEED = 0
PAIR, ONE, OTHER = VIEWS = ("pair", "one", "other")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for. `other` is "" where there is nobody to compare with."""

    one: str
    other: str
    rule: str
    model: str
    question: str
    pool: str
    view: str

    def title(self, view: str) -> str:
        """What a view of the page shows."""
        if view == PAIR:
            return gettext("%(one)s and %(other)s compared") % {
                "one": self.one,
                "other": self.other,
            }
        return gettext("Labels of %(rater)s") % {"rater": self.one if view == ONE else self.other}

    @property
    def query(self) -> str:
        """The address' query that asks for the same again."""
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return urlencode({name: value for name, value in given.items() if value})


@require_safe
def labels(request: HttpRequest, slug: str) -> HttpResponse:
    """Coverage, two raters compared, each of them alone, and where they differ."""
    corpus = get_object_or_404(Corpus, slug=slug)
    choices = filters_of(corpus)
    found, asked, names = _read(request, corpus, choices)
    runs, sections = _sections(corpus, found, asked, [asked.view])
    apart = _apart(runs, asked) if asked.view == PAIR else []
    context = {
        "corpus": corpus,
        "asked": asked,
        "names": names,
        "views": [(view, asked.title(view)) for view in (VIEWS if asked.other else [ONE])],
        "people": people_of(found.runs),
        "rules": [(name, RULE_WORDS[name]) for name in RULES],
        "models": choices["model"],
        "questions": choices["question"],
        "n": len(found.runs),
        "coverage": coverage_figure(found.runs, found.unread),
        "sections": sections,
        "apart": apart[:MOST_LISTED],
        "n_apart": len(apart),
    }
    return render(request, "annotation/labels.html", context)


@require_safe
def label_table(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """One figure of the page as CSV, or all runs on which the two differ as `disagreements`."""
    corpus = get_object_or_404(Corpus, slug=slug)
    found, asked, _ = _read(request, corpus, filters_of(corpus))
    runs, sections = _sections(corpus, found, asked, VIEWS)
    if name == "disagreements":
        rows = (each.cells() for each in _apart(runs, asked))
        return csv_files.answer(f"{corpus.slug}-disagreements", COLUMNS, rows)
    coverage = Section("labels", "", [coverage_figure(found.runs, found.unread)])
    return figure_file(corpus.slug, [coverage, *sections], name)


def _read(
    request: HttpRequest, corpus: Corpus, choices: dict[str, list[str]]
) -> tuple[CorpusLabels, Asked, list[str]]:
    """The labels, what is asked of them, and the names of raters; BadRequest for unknown names."""
    model = _one_of(request, "model", choices["model"])
    question = _one_of(request, "question", choices["question"])
    found = corpus_labels(corpus, model=model, question=question)
    people = people_of(found.runs)
    names = _raters(found, people)
    one = _one_of(request, "one", names) or (names[0] if names else "")
    rest = [name for name in names if name != one]
    other = _one_of(request, "other", names) or (rest[0] if rest else "")
    if one and one == other:
        raise BadRequest(f"one and other are both {one[:60]!r}; name two different raters.")
    asked = Asked(
        one=one,
        other=other,
        rule=choice(request, "rule", RULES) or MAJORITY,
        model=model,
        question=question,
        pool=_one_of(request, "pool", people),
        view=(choice(request, "view", VIEWS) or PAIR) if other else ONE,
    )
    return found, asked, names


def _raters(found: CorpusLabels, people: Sequence[str]) -> list[str]:
    """ "people" first, then publishers, judges by how much they labelled, then persons."""
    counts: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for run in found.runs:
        for name, label in run.labels.items():
            counts[name] = counts.get(name, 0) + 1
            kinds[name] = label.kind
    order = ("published", "judge", "person")
    names = sorted(counts, key=lambda n: (order.index(kinds[n]), -counts[n], n))
    return [PEOPLE, *(n for n in names if n != PEOPLE)] if people else names


def _one_of(request: HttpRequest, name: str, allowed: Sequence[str]) -> str:
    """The value under `name`, "" when absent; BadRequest with some of those allowed."""
    text = request.GET.get(name, "")
    if text and text not in allowed:
        known = ", ".join(allowed[:MOST_NAMED]) or "none"
        more = f", and {len(allowed) - MOST_NAMED} more" if len(allowed) > MOST_NAMED else ""
        raise BadRequest(f"{name} is {text[:60]!r}; there are here: {known}{more}.")
    return text


def _sections(
    corpus: Corpus, found: CorpusLabels, asked: Asked, views: Sequence[str]
) -> tuple[Combined, list[Section]]:
    """The runs with several people as one, and the figures of the views that are asked for."""
    people = [asked.pool] if asked.pool else people_of(found.runs)
    # Whoever is named for themselves is compared with, not counted among, the others.
    people = [name for name in people if name not in (asked.one, asked.other)]
    runs = combined(found.runs, people, asked.rule)
    sections = []
    tasks = task_numbers(corpus) if {ONE, OTHER} & {*views} else {}
    if PAIR in views and asked.other:
        sections.append(pair_section(runs, asked.one, asked.other, seed=SEED, name=PAIR))
    for view, rater in ((ONE, asked.one), (OTHER, asked.other)):
        if view in views and rater:
            sections.append(single_section(runs, rater, seed=SEED, name=view, tasks=tasks))
    return runs, sections


def _apart(runs: Combined, asked: Asked) -> list[Any]:
    if not asked.other:
        return []
    return disagreements(
        runs.runs, asked.one, asked.other, keys=runs.keys, pools=runs.pools or None
    )
