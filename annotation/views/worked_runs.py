"""Invented agent runs with their right answers, for the page that explains the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

# Text of a page: a promise of a string in the reader's language.
Text = Any
THOUGHT, ACTION, OBSERVATION = _("Thought"), _("Action"), _("Observation")
RESPONSE = _("Response")


@dataclass(frozen=True, slots=True)
class WorkedRun:
    """A run: `task`, steps as pairs of a part's name and its text, the final `response`, and
    `answers`, pairs of a question and what is right there, with the reason."""

    key: str
    title: Text
    task: Text
    steps: tuple[tuple[tuple[Text, Text], ...], ...]
    response: Text
    answers: tuple[tuple[Text, Text], ...]


PRESENCE, TYPES, PLACES = _("Something made up?"), _("Types"), _("Places")

WORKED_RUNS: tuple[WorkedRun, ...] = (
    WorkedRun(
        "run-that-fails",
        _("It fails, and makes nothing up"),
        _("How warm was oven 4 at noon?"),
        (
            (
                (THOUGHT, _("I need the readings of oven 4.")),
                (ACTION, "readings(oven=4, hour=12)"),
                (OBSERVATION, _("Error: no connection to the store.")),
            ),
            (
                (THOUGHT, _("The store does not answer. I try once more.")),
                (ACTION, "readings(oven=4, hour=12)"),
                (OBSERVATION, _("Error: no connection to the store.")),
            ),
        ),
        _("I could not read the temperature: the store does not answer."),
        (
            (
                PRESENCE,
                _("No. A run that fails and says so makes nothing up; trying again is no fault."),
            ),
        ),
    ),
    WorkedRun(
        "run-against-the-data",
        _("The answer is not what the data say"),
        _("Which of the three freezers used most power yesterday?"),
        (
            (
                (THOUGHT, _("I read the meter of each freezer.")),
                (ACTION, "meter(day=yesterday)"),
                (OBSERVATION, _("freezer A: 4.1, freezer B: 6.8, freezer C: 5.2")),
            ),
        ),
        _("Freezer C used most power, as the weekly mean confirms."),
        (
            (PRESENCE, _("Yes.")),
            (
                TYPES,
                _(
                    "Factual: the reading of freezer B is the highest. Referential: no weekly mean "
                    "was ever read."
                ),
            ),
            (PLACES, _("The final response; what contradicts it is the observation of step 1.")),
        ),
    ),
    WorkedRun(
        "run-that-skips",
        _("A step is claimed that was never taken"),
        _("Forecast the flow of pump 2 for tomorrow."),
        (
            (
                (THOUGHT, _("I have checked the history of pump 2; it is complete.")),
                (ACTION, "forecast(pump=2, days=1)"),
                (OBSERVATION, _("30 litres a minute")),
            ),
        ),
        _("The flow of pump 2 will be about 30 litres a minute."),
        (
            (PRESENCE, _("Yes.")),
            (TYPES, _("Procedural: nothing was checked before the forecast, though it says so.")),
            (PLACES, _("The thought of step 1.")),
        ),
    ),
)
