"""Intervals of shares with people drawn: the answers of one person hang together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from annotation.judgement_rows import Judgement
from annotation.people_resampling import percentile_interval, person_weights, ratio
from scoring.estimates import Estimate

Test = Callable[[Judgement], bool]


class PeopleDraws:
    """One set of draws of the people of a group, used for every share of it."""

    def __init__(self, people: Iterable[str], *, resamples: int, seed: int) -> None:
        names = sorted(set(people))
        self._place = {name: place for place, name in enumerate(names)}
        self._weights = person_weights(len(names), resamples=resamples, seed=seed)

    def interval(self, judgements: Sequence[Judgement], test: Test) -> list[float] | None:
        """Percentile interval of the share of `judgements` that pass `test`, people drawn.

        None with fewer than two people who answered, where half the draws hold no answer, and for
        a share of 0 or 1: every draw repeats it, which would look like certainty.
        """
        if len({judged.person for judged in judgements}) < 2:
            return None
        owners = [self._place[judged.person] for judged in judgements]
        n = np.bincount(owners, minlength=len(self._place))
        passed = np.bincount(owners, [test(j) for j in judgements], len(self._place))
        if passed.sum() in (0, len(judgements)):
            return None
        found, _ = percentile_interval(ratio(self._weights @ passed, self._weights @ n))
        return list(found) if found else None

    def beside(self, found: Estimate, judgements: Sequence[Judgement], **tests: Test) -> Estimate:
        """`found` with the interval of each named test in its detail, as `<name>_ci_people`."""
        intervals = {
            f"{name}_ci_people": self.interval(judgements, test) for name, test in tests.items()
        }
        return replace(found, detail={**found.detail, **intervals})
