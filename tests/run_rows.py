"""Studies of agent runs for tests, made row by row: no test here depends on how they are drawn."""

from __future__ import annotations

from annotation.models import Assignment, Item, Seat, Study
from benchmark.label_records import JUDGE, LabelRecord, PlaceRecord
from benchmark.labelling import store_label
from benchmark.models import Corpus, JudgeAnswer, Rater, Trajectory, TrajectoryStep

STEPS = (
    ("Sensors", "I need the readings of May.", "history(CH-2)", "2,976 rows.", ""),
    ("Sensors", "The pump was repaired in March.", "history(P-9)", "", ""),
    ("Planner", "", "order(CH-2)", "Order 17 is open.", "The order is placed."),
)
# What must not be on a page before the review; each is found nowhere else.
MODEL, EXTERNAL, JUDGE_NAME = "zephyr-nine", "Zephyr_9_Q_77", "umpire-prompt-4"
JUDGE_WORDS = "The umpire finds a missing inspection."


def make_run(corpus: Corpus, number: int = 1, **fields) -> Trajectory:
    """A run of three steps by two agents, with a final response."""
    run = Trajectory.objects.create(
        **{
            "corpus": corpus,
            "format": "messages",
            "external_id": f"{EXTERNAL}{number}",
            "digest": f"{number:064d}",
            "task": f"Why does chiller {number} lose power?",
            "model": MODEL,
            "question": f"hidden-question-{number}",
            "expected": "It should name the condenser.",
            "response": "Clean the condenser.",
            "n_steps": len(STEPS),
            "warnings": {"hidden warning": 2},
            "meta": {"mandates": {"Sensors": "Reads sensors only.", "Planner": "Opens orders."}},
        }
        | fields
    )
    names = ("agent", "thought", "action", "observation", "response")
    for position, texts in enumerate(STEPS, start=1):
        said = dict(zip(names, texts, strict=True))
        TrajectoryStep.objects.create(trajectory=run, position=position, number=position, **said)
    return run


def judge_run(run: Trajectory, *, present: bool = True) -> JudgeAnswer:
    """What a judge says of `run`: referential, in the thought of step 2, or nothing."""
    rater, _ = Rater.objects.get_or_create(
        name=JUDGE_NAME, defaults={"kind": JUDGE, "model": "umpire-large"}
    )
    said = {"rater": JUDGE_NAME, "kind": JUDGE, "rationale": JUDGE_WORDS}
    places = (PlaceRecord(2, "thought"),)
    if present:
        said |= {"types": ("referential",), "places": places}
    labels = store_label(run, LabelRecord(present=present, **said), rater=rater)
    return JudgeAnswer.objects.create(
        trajectory=run,
        rater=rater,
        raw="{umpire raw}",
        digest=f"{run.pk:064d}",
        status=JudgeAnswer.Status.READ,
        labels=labels,
    )


def make_run_study(
    slug: str = "runs-study",
    *,
    user=None,
    n_items: int = 2,
    n_seats: int = 1,
    judged: bool = True,
    simulated: bool = False,
) -> Study:
    """An open study of `n_items` runs, all of them judged by every seat; the first is `user`'s."""
    corpus = Corpus.objects.create(slug=f"{slug}-hidden-corpus", title="Hidden")
    study = Study.objects.create(
        slug=slug, title="Spring round", kind=Study.Kind.RUNS, state=Study.State.OPEN, seed=3
    )
    study.corpora.add(corpus)
    items = []
    for number in range(1, n_items + 1):
        run = make_run(corpus, number)
        answer = judge_run(run) if judged else None
        items.append(Item.objects.create(study=study, trajectory=run, judge_answer=answer))
    for number in range(1, n_seats + 1):
        owner = user if number == 1 and not simulated else None
        state = Seat.State.ACTIVE if owner or simulated else Seat.State.FREE
        seat = Seat.objects.create(
            study=study, number=number, user=owner, state=state, simulated=simulated
        )
        for rank, item in enumerate(items, start=1):
            Assignment.objects.create(item=item, seat=seat, rank=rank)
    return study


def first_item(study: Study, rank: int = 1) -> Assignment:
    """An item of the first seat, as the pages load it."""
    mine = Assignment.objects.select_related(
        "item__trajectory", "item__judge_answer", "seat__study"
    )
    return mine.get(seat__study=study, seat__number=1, rank=rank, attempt=1)


def yes(**changes) -> dict:
    """The values of a complete review that finds something."""
    return {
        "present": "yes",
        "types": ["factual", "referential"],
        "flags": [],
        "places": [
            {"at": "2.thought", "types": ["referential"], "cause": "root", "evidence": 1},
            {"at": "final", "types": [], "cause": "propagated"},
        ],
        "rationale": "No repair in March is in the data.",
    } | changes


NO = {"present": "no", "types": [], "flags": [], "places": [], "rationale": ""}
