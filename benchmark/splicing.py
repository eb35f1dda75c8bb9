"""Forks of human dialogues without a language model: other turns are spliced in at the fork point.

WIC goes on with real dialogues of another task, SSPC re-arranges the source's own turns
(`splice_moves`), GR and CSC put turns of the bank between the human ones. The deviation lasts to
the end, and how much longer a fork is than its source is drawn without regard to where it begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from benchmark.bank import BANK_VERSION, bank_turns
from benchmark.corruption import (
    POSITIONS,
    VARIANTS,
    VARIANTS_VERSION,
    Refusal,
    Variant,
    draw_variant,
    fork_id,
    fork_points,
    generator_of,
    instruction,
    task_title,
)
from benchmark.records import (
    CSC,
    EDITED,
    EXACT,
    FORK_TYPES,
    GR,
    SSPC,
    WIC,
    DialogueRecord,
    ForkRecord,
    TurnRecord,
    WorkflowRecord,
)
from benchmark.splice_donors import Donors
from benchmark.splice_moves import Exchange, Stage, written_by
from benchmark.splice_pool import Encode, Partners, Pieces, SplicePool, cut
from benchmark.witnesses import Witness, align, plain
from scoring import encoders

SPLICE_VERSION = "1"
SURPLUS = (0, 1, 2)

NO_PARTNER = "no other task to turn to"
NO_STRATEGY = "no strategy shows at this fork point"
NOT_SHOWN = "the witness does not show the type at the fork turn"
NO_DONOR = "no dialogue of the other task has a turn of its own"


class SpliceEngine:
    """Forks by splicing (see the module). Equal pool, workflows and seed give equal forks.

    Parameters
    ----------
    pool : the corpus's conformant dialogues; nothing else is ever looked at.
    workflows : by the names that dialogues use.
    reword_prefix : replace about 30 % of the turns before the fork by what another conformant
        dialogue of the task says in nearly the same words.
    encode : unit rows for texts; the default encoder's when not given.
    """

    name = "splice"
    format = "splice"

    def __init__(
        self,
        pool: Sequence[DialogueRecord],
        workflows: Mapping[str, WorkflowRecord],
        *,
        seed: int,
        reword_prefix: bool = False,
        encode: Encode | None = None,
    ) -> None:
        self.seed = seed
        self.reword_prefix = reword_prefix
        self.pool = SplicePool(pool, workflows, encode or encoders.get(encoders.DEFAULT).encode)
        self._fillers: dict[str, list[TurnRecord]] = {}
        self.donors = Donors(self.pool)

    @property
    def generator(self) -> str:
        """Name and versions, stored with each fork."""
        return f"splice {SPLICE_VERSION} (variants {VARIANTS_VERSION}, bank {BANK_VERSION})"

    def forks(self, source: DialogueRecord) -> list[DialogueRecord | Refusal]:
        """Up to sixteen forks or refusals, by type and k. BadRecord when T < 4."""
        held = self.pool.pieces.get(source.external_id)
        pieces = held if held and held.record == source else cut(source)
        points = fork_points(len(pieces.said))
        made: list[DialogueRecord | Refusal] = []
        for type_ in FORK_TYPES:
            build = {WIC: self._wic, SSPC: self._sspc, GR: self._gr, CSC: self._csc}[type_]
            made += build(pieces, points)
        return made

    # -- one method per type: the four forks of a source ------------------------------------

    def _sspc(self, pieces: Pieces, points: Sequence[int]) -> list[DialogueRecord | Refusal]:
        order = list(VARIANTS[SSPC])
        generator_of(self.seed, "variant", pieces.key, SSPC).shuffle(order)
        best: list[DialogueRecord | Refusal] = []
        for variant in order:
            made = [
                self._first_shown(pieces, variant, k, point)
                for k, point in zip(POSITIONS, points, strict=True)
            ]
            if not best or _n_forks(made) > _n_forks(best):
                best = made
            if _n_forks(made) == len(POSITIONS):
                break
        return best

    def _first_shown(
        self, pieces: Pieces, variant: Variant, k: int, point: int
    ) -> DialogueRecord | Refusal:
        ways = written_by(variant.key, lambda: self._stage(pieces, SSPC, k, point))
        finish = partial(self._finish, pieces, variant, k, point)
        forks = (finish(written) for written in ways)
        for fork in forks:
            if not isinstance(fork, Refusal):
                return fork
        return Refusal(pieces.key, SSPC, k, NO_STRATEGY, variant.key)

    def _gr(self, pieces: Pieces, points: Sequence[int]) -> list[DialogueRecord | Refusal]:
        variant = draw_variant(GR, pieces.key, self.seed)

        def write(stage: Stage, k: int) -> None:
            turns = bank_turns(GR, variant.key, stage.rng)
            extra = set(stage.rng.sample(range(stage.length), stage.length - stage.due))
            while not stage.full:
                brief = len(stage.written) in extra
                stage.put(next(turns), stage.brief() if brief else stage.waiting())

        return self._four(pieces, variant, points, write)

    def _csc(self, pieces: Pieces, points: Sequence[int]) -> list[DialogueRecord | Refusal]:
        variant = draw_variant(CSC, pieces.key, self.seed)

        def write(stage: Stage, k: int) -> None:
            turns = bank_turns(CSC, variant.key, stage.rng)
            due = list(range(stage.at, len(stage.source.said)))
            wait = 0
            while not stage.full:
                if wait == 0 or not due:
                    stage.put(next(turns))
                    wait = stage.rng.choice((1, 2))
                else:
                    stage.take(due.pop(0))
                    wait -= 1

        return self._four(pieces, variant, points, write)

    def _wic(self, pieces: Pieces, points: Sequence[int]) -> list[DialogueRecord | Refusal]:
        task = pieces.record.workflow
        partners = self.pool.partners(task)
        usable = [t for t in partners.tasks if self.donors.places(task, t)]
        if not usable:
            reason = NO_DONOR if partners.tasks else NO_PARTNER
            return [Refusal(pieces.key, WIC, k, reason) for k in POSITIONS]
        other = generator_of(self.seed, "partner", pieces.key).choice(usable)
        variant = draw_variant(WIC, pieces.key, self.seed)
        extra = self._partner_note(partners, other)

        def write(stage: Stage, k: int) -> None:
            if variant.key == "text_borne":
                opening = bank_turns(WIC, variant.key, stage.rng, task=task_title(other))
                stage.put(next(opening))
            self.donors.follow(stage, task, other)

        return self._four(pieces, variant, points, write, task=other, extra=extra)

    def _partner_note(self, partners: Partners, other: str) -> dict[str, str]:
        kind = "other domain" if partners.other_domain else "same domain"
        return {"partner": kind, "other_workflow": other}

    def _four(
        self,
        pieces: Pieces,
        variant: Variant,
        points: Sequence[int],
        write: Callable[[Stage, int], None],
        *,
        task: str = "",
        extra: Mapping[str, str] | None = None,
    ) -> list[DialogueRecord | Refusal]:
        made = []
        for k, point in zip(POSITIONS, points, strict=True):
            stage = self._stage(pieces, variant.type, k, point)
            write(stage, k)
            made.append(
                self._finish(pieces, variant, k, point, stage.written, task=task, extra=extra or {})
            )
        return made

    # -- what all types share ---------------------------------------------------------------

    def _stage(self, pieces: Pieces, type_: str, k: int, point: int) -> Stage:
        rng = generator_of(self.seed, "fork", pieces.key, type_, k)
        due = len(pieces.said) - point + 1
        length = due + generator_of(self.seed, "surplus", pieces.key, type_, k).choice(SURPLUS)
        task = pieces.record.workflow
        if task not in self._fillers:
            self._fillers[task] = self.pool.short_replies(task)
        return Stage(
            source=pieces,
            at=point - 1,
            length=length,
            due=due,
            rng=rng,
            fillers=self._fillers[task],
            reworded=lambda turn: self._other_words(turn, pieces.record),
        )

    def _other_words(self, turn: TurnRecord, record: DialogueRecord) -> TurnRecord:
        near = self.pool.near(turn, record)
        return turn if near is None else replace(turn, text=near.text)

    def _finish(
        self,
        pieces: Pieces,
        variant: Variant,
        k: int,
        point: int,
        written: Sequence[Exchange],
        *,
        task: str = "",
        extra: Mapping[str, str] | None = None,
    ) -> DialogueRecord | Refusal:
        """The record, or a refusal where nothing shows at the fork turn."""
        source = pieces.record
        witness = self._witness(pieces, point, written)
        same = plain(written[0].turn.text) == plain(pieces.said[point - 1].text)
        if same or not witness.shows(variant.type, point):
            return Refusal(pieces.key, variant.type, k, NOT_SHOWN, written[0].step)
        prefix, reworded = list(source.turns[: pieces.places[point - 1]]), 0
        if self.reword_prefix:
            rng = generator_of(self.seed, "prefix", pieces.key, variant.type, k)
            prefix, reworded = self.pool.reworded(prefix, source, rng)
        turns = [*prefix, *_joined(written, ends_open=bool(pieces.replies[-1]))]
        numbers = [n for n, turn in enumerate(turns, start=1) if turn.role == pieces.said[0].role]
        details = witness.to_dict(numbers) | dict(extra or {}) | _donors_in(written)
        details |= {"surplus": len(written) - (len(pieces.said) - point + 1)}
        if self.reword_prefix:
            details |= {"prefix_turns": len(prefix), "reworded_turns": reworded}
        return DialogueRecord(
            external_id=fork_id(pieces.key, variant.type, k),
            turns=turns,
            workflow=source.workflow,
            conformant=False,
            forks=[
                ForkRecord(
                    source_corpus="",
                    source=pieces.key,
                    type=variant.type,
                    variant=variant.key,
                    k=k,
                    fork_assistant_turn=point,
                    fork_turn=len(prefix) + 1,
                    instruction=instruction(variant, task=task),
                    seed=self.seed,
                    replay=EDITED if reworded else EXACT,
                    generator=self.generator,
                    witness=details,
                )
            ],
        )

    def _witness(self, pieces: Pieces, point: int, written: Sequence[Exchange]) -> Witness:
        before = point - 1
        return align(
            [*pieces.labels[:before], *(e.step for e in written)],
            self.pool.procedure(pieces.record.workflow),
            start=point,
            source=pieces.labels,
            texts=[t.text for t in (*pieces.said[:before], *(e.turn for e in written))],
            inferred=sum(e.guessed for e in written),
        )


def _n_forks(made: Iterable[DialogueRecord | Refusal]) -> int:
    return sum(isinstance(one, DialogueRecord) for one in made)


def _joined(written: Sequence[Exchange], *, ends_open: bool) -> list[TurnRecord]:
    """The turns in order; the last reply only where the source too ends with one.

    What else was noted about the source's turns (times, options) is not true of the fork.
    """
    turns: list[TurnRecord] = []
    for place, exchange in enumerate(written, start=1):
        turns.append(exchange.turn)
        if place < len(written) or ends_open:
            turns += exchange.reply
    return [turn if "from" in turn.meta else replace(turn, meta={}) for turn in turns]


def _donors_in(written: Sequence[Exchange]) -> dict[str, list[str]]:
    found = Counter(e.turn.meta["from"] for e in written if "from" in e.turn.meta)
    return {"donors": list(found)} if found else {}
