"""WIC by splicing: a fork goes on along real dialogues of another task."""

from __future__ import annotations

from benchmark.records import USER, TurnRecord
from benchmark.splice_moves import Exchange, Stage
from benchmark.splice_pool import Pieces, SplicePool, borrowed
from benchmark.witnesses import plain

DONORS_TRIED = 40


class Donors:
    """Dialogues of other tasks, and the turns at which a fork may enter them."""

    def __init__(self, pool: SplicePool) -> None:
        self.pool = pool
        self._places: dict[tuple[str, str], list[tuple[Pieces, int]]] = {}

    def places(self, task: str, other: str) -> list[tuple[Pieces, int]]:
        """Where `other` may be entered: assistant turns whose step is foreign to `task`."""
        if (task, other) not in self._places:
            own = self.pool.procedure(task).steps
            self._places[task, other] = [
                (donor, place)
                for donor in self.pool.tasks.get(other, ())
                for place, (label, guessed) in enumerate(
                    zip(donor.labels, donor.guessed, strict=True)
                )
                if label and not guessed and label not in own
            ]
        return self._places[task, other]

    def follow(self, stage: Stage, task: str, other: str) -> None:
        """Fill the stage from donors, each entered where a step of the other task stands."""
        asked = next((t for t in reversed(stage.source.before(stage.at)) if t.role == USER), None)
        while not stage.full:
            donor, place = self._donor(stage, task, other, asked)
            for i in range(place, len(donor.said)):
                if stage.full:
                    break
                reply = tuple(borrowed(t, donor.key) for t in donor.replies[i])
                stage.written.append(
                    Exchange(
                        borrowed(donor.said[i], donor.key),
                        donor.labels[i],
                        donor.guessed[i],
                        reply or stage.brief(),
                    )
                )
            asked = None

    def _donor(
        self, stage: Stage, task: str, other: str, asked: TurnRecord | None
    ) -> tuple[Pieces, int]:
        """Among donors that last long enough, the one entered after a turn most like `asked`."""
        known = plain(stage.source.said[stage.at].text)
        places = [(d, i) for d, i in self.places(task, other) if plain(d.said[i].text) != known]
        need = stage.length - len(stage.written)
        lasting = [(d, i) for d, i in places if len(d.said) - i >= need]
        if not lasting:
            longest = max(len(d.said) - i for d, i in places)
            lasting = [(d, i) for d, i in places if len(d.said) - i == longest]
        tried = stage.rng.sample(lasting, min(DONORS_TRIED, len(lasting)))
        if asked is None or not asked.text.strip():
            return tried[0]
        wanted = self.pool.vector(asked.text)

        def likeness(entry: tuple[Pieces, int]) -> float:
            ahead = [t for t in entry[0].before(entry[1]) if t.role == USER and t.text.strip()]
            return float(self.pool.vector(ahead[-1].text) @ wanted) if ahead else -1.0

        return max(tried, key=likeness)
