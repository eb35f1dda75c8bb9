"""Judge by judge: how much is done, how fast, how varied the answers are, attention."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotation.judgement_rows import JudgementRow


@dataclass(frozen=True, slots=True)
class Profile:
    """One judge. Figures that cannot be had are None.

    `statuses` counts assignments by status. `seconds` is the median active time per finished item,
    over the `timed` items with a measured time. `same_rating` is the share of the most frequent
    rating, `spread` the standard deviation of ratings (n - 1), `run` the longest run of one rating
    in the order of work, `same_answer` the share of the most frequent answer of step 2.
    `attention` is (passed, answered).
    """

    judge: str
    statuses: Mapping[str, int]
    rated: int
    seconds: float | None
    timed: int
    same_rating: float | None
    spread: float | None
    run: int
    same_answer: float | None
    attention: tuple[int, int] | None

    @property
    def total(self) -> int:
        return sum(self.statuses.values())

    @property
    def open(self) -> int:
        """Begun or waiting."""
        return self.statuses.get("in progress", 0) + self.statuses.get("waiting", 0)

    @property
    def ended(self) -> int:
        """Expired or withdrawn."""
        return self.statuses.get("expired", 0) + self.statuses.get("withdrawn", 0)


def profiles(
    rows: Iterable[JudgementRow], attention: Mapping[str, tuple[int, int]]
) -> list[Profile]:
    """The judges with an assignment, by name; first attempts only. `attention` is by judge."""
    by_judge: dict[str, list[JudgementRow]] = defaultdict(list)
    for row in rows:
        if not row.post_reveal:
            by_judge[row.judgement.person].append(row)
    return [_profile(judge, by_judge[judge], attention.get(judge)) for judge in sorted(by_judge)]


def _profile(
    judge: str, rows: Sequence[JudgementRow], attention: tuple[int, int] | None
) -> Profile:
    judged = [row.judgement for row in sorted(rows, key=lambda row: row.rank) if row.counted]
    ratings = [j.rating for j in judged if j.rating is not None]
    times = [row.active_ms for row in rows if row.active_ms and row.status == "finished"]
    return Profile(
        judge=judge,
        statuses=Counter(row.status for row in rows),
        rated=len(ratings),
        seconds=statistics.median(times) / 1000 if times else None,
        timed=len(times),
        same_rating=_modal_share(ratings),
        spread=statistics.stdev(ratings) if len(ratings) > 1 else None,
        run=max((len(list(same)) for _, same in itertools.groupby(ratings)), default=0),
        same_answer=_modal_share([j.confirmed for j in judged if j.confirmed]),
        attention=attention,
    )


def _modal_share(values: Sequence[object]) -> float | None:
    return max(Counter(values).values()) / len(values) if values else None
