"""What a drawn study of agent runs looks like in numbers: coverage, exposure, each seat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.plan_tables import Cell, shade


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a seat; `answered` says whether the judge's answer on it will be shown."""

    seat: int
    item: int
    corpus: str
    model: str
    question: str
    n_steps: int
    answered: bool


@dataclass(frozen=True, slots=True)
class ModelLine:
    """What is judged of one model. `steps` is the mean number of steps of its runs."""

    model: str
    runs: int
    judgements: int
    questions: int
    answered: int
    steps: float


@dataclass(frozen=True, slots=True)
class QuestionLine:
    """Judgements of one question, by model."""

    question: str
    cells: tuple[Cell, ...]
    total: int


@dataclass(frozen=True, slots=True)
class QuestionExposure:
    """How often people meet a question. `most` is the most often one person meets one question,
    `again` how many judgements are of a question their person has met before, and `needed` how
    few of these there can be: a question has more judgements than there are seats."""

    most: int
    judgements: int
    questions: int
    again: int
    needed: int


@dataclass(frozen=True, slots=True)
class RunSeatLine:
    """What one seat holds; `fewest` and `most` are runs of a model, of those that are judged."""

    seat: int
    runs: int
    models: int
    questions: int
    again: int
    fewest: int
    most: int


def by_model(rows: Sequence[PlannedRun]) -> list[ModelLine]:
    """A line per model, by name."""
    mine: dict[str, list[PlannedRun]] = defaultdict(list)
    for row in rows:
        mine[row.model].append(row)
    return [_model(name, mine[name]) for name in sorted(mine)]


def models_of(rows: Sequence[PlannedRun]) -> list[str]:
    """The models that are judged, by name."""
    return sorted({row.model for row in rows})


def by_question(rows: Sequence[PlannedRun]) -> list[QuestionLine]:
    """Judgements per question, by model in the order of `models_of`; questions as people count."""
    counts = Counter((row.question, row.model) for row in rows)
    largest, models = max(counts.values(), default=0), models_of(rows)
    return [
        QuestionLine(
            name,
            tuple(Cell(counts[name, m], shade(counts[name, m], largest)) for m in models),
            sum(counts[name, m] for m in models),
        )
        for name in sorted({row.question for row in rows}, key=_as_counted)
    ]


def exposure(rows: Sequence[PlannedRun], n_seats: int) -> QuestionExposure:
    """Count who meets which question; runs without one are no repetition of anything."""
    asked = [row for row in rows if row.question]
    met = Counter((row.seat, row.question) for row in asked)
    judged = Counter(row.question for row in asked)
    return QuestionExposure(
        most=max(met.values(), default=0),
        judgements=len(asked),
        questions=len(judged),
        again=len(asked) - len(met),
        needed=sum(max(0, n - n_seats) for n in judged.values()),
    )


def judged_times(rows: Sequence[PlannedRun]) -> dict[int, int]:
    """How many runs are judged how often."""
    return dict(sorted(Counter(Counter(row.item for row in rows).values()).items()))


def by_seat(rows: Sequence[PlannedRun]) -> list[RunSeatLine]:
    """What each seat holds."""
    models = models_of(rows)
    mine: dict[int, list[PlannedRun]] = defaultdict(list)
    for row in rows:
        mine[row.seat].append(row)
    return [_seat(number, mine[number], models) for number in sorted(mine)]


def _model(name: str, rows: Sequence[PlannedRun]) -> ModelLine:
    runs = {row.item: row for row in rows}.values()
    return ModelLine(
        model=name,
        runs=len(runs),
        judgements=len(rows),
        questions=len({row.question for row in rows if row.question}),
        answered=sum(row.answered for row in runs),
        steps=sum(row.n_steps for row in runs) / len(runs),
    )


def _seat(number: int, rows: Sequence[PlannedRun], models: Sequence[str]) -> RunSeatLine:
    own = Counter(row.model for row in rows)
    asked = [row.question for row in rows if row.question]
    met = [own[name] for name in models]
    return RunSeatLine(
        seat=number,
        runs=len(rows),
        models=len(own),
        questions=len(set(asked)),
        again=len(asked) - len(set(asked)),
        fewest=min(met, default=0),
        most=max(met, default=0),
    )


def _as_counted(name: str) -> tuple[int, int, str]:
    """2 before 10, and words after numbers."""
    digits = "".join(filter(str.isdigit, name))
    return (0, int(digits), name) if digits else (1, 0, name)
