"""One dialogue: a bounded window of turns, its fork or its forks, what runs say of its turns."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from benchmark.models import Dialogue, Fork, Turn
from benchmark.records import FORK_TYPES
from benchmark.views.paging import number
from scoring import charts
from scoring.models import DialogueScore, FlowGraph
from scoring.views.flow_graph_drawings import expected, labels

WINDOW = 200
BAR_PX = 72


@require_safe
def dialogue(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(Dialogue.objects.select_related("corpus", "workflow"), pk=pk)
    at = number(request, "turn")
    if at is not None and at > found.n_turns:
        raise BadRequest(f"turn is {at}; this dialogue has {found.n_turns} turns.")
    first = ((at or 1) - 1) // WINDOW * WINDOW + 1
    turns = list(found.turns.filter(number__gte=first, number__lt=first + WINDOW))
    forks = list(found.forks.select_related("source__corpus").order_by("ordinal"))
    return render(
        request,
        "benchmark/dialogue.html",
        {
            "dialogue": found,
            "forks": forks,
            "family": family(found, forks),
            "first": first,
            "last": first + len(turns) - 1,
            "earlier": first - WINDOW if first > 1 else None,
            "later": first + WINDOW if first + WINDOW <= found.n_turns else None,
            "at": at,
            **neighbours(found),
            **scored(request, found, turns, forks),
        },
    )


def neighbours(dialogue: Dialogue) -> dict[str, int | None]:
    """Ids of the dialogues before and after this one in its corpus."""
    others = Dialogue.objects.filter(corpus_id=dialogue.corpus_id).order_by()
    keys = others.values_list("pk", flat=True)
    return {
        "previous": keys.filter(pk__lt=dialogue.pk).order_by("-pk").first(),
        "next": keys.filter(pk__gt=dialogue.pk).order_by("pk").first(),
    }


def family(dialogue: Dialogue, forks: list[Fork]) -> list[dict[str, Any]]:
    """The forks of one source as a grid per corpus: a row per type, a cell per k.

    For a forked dialogue these are its siblings and itself; for a source, all its forks.
    """
    source = forks[0].source_id if forks else dialogue.pk
    rows = Fork.objects.filter(source_id=source).select_related("dialogue__corpus")
    grids: dict[str, dict[tuple[str, int], list[Fork]]] = {}
    for fork in rows.order_by("dialogue__corpus__slug", "type", "k", "dialogue_id"):
        grids.setdefault(fork.dialogue.corpus.slug, {}).setdefault((fork.type, fork.k), []).append(
            fork
        )
    return [
        {
            "corpus": slug,
            "rows": [
                (type_, [cells.get((type_, k), []) for k in (1, 2, 3, 4)])
                for type_ in FORK_TYPES
                if any(key[0] == type_ for key in cells)
            ],
        }
        for slug, cells in grids.items()
    ]


def scored(
    request: HttpRequest, dialogue: Dialogue, turns: list[Turn], forks: list[Fork]
) -> dict[str, Any]:
    """The turns with what the chosen run says of them, the chart, and all scores."""
    scores = list(DialogueScore.objects.filter(dialogue=dialogue).select_related("run"))
    scores.sort(key=lambda score: -score.run_id)
    with_turns = [score for score in scores if score.turns]
    wanted = number(request, "run")
    chosen = next((s for s in with_turns if wanted in (None, s.run_id)), None)
    if wanted is not None and chosen is None:
        raise BadRequest(f"run {wanted} says nothing of the turns of this dialogue.")
    rows = [value_row(row) for row in chosen.turns] if chosen else []
    by_number = {row["number"]: row for row in rows}
    peak = peak_of(rows)
    highest = peak["surprisal"] if peak else 0.0
    at_turn = {fork.fork_turn: fork for fork in forks}
    graph = graph_of(chosen, dialogue)
    asked = number(request, "turn") or (peak["number"] if peak else None)
    return {
        "scores": [score for score in scores if not score.turns],
        "with_turns": with_turns,
        "chosen": chosen,
        "rows": rows[: 2 * WINDOW],
        "n_rows": len(rows),
        "peak": peak,
        "labels": labels(graph) if graph else {},
        "expected": expected(graph, rows, asked) if graph and asked else None,
        "turns": [
            (turn, by_number.get(turn.number), bar(by_number.get(turn.number), highest), forks_)
            for turn, forks_ in ((t, at_turn.get(t.number)) for t in turns)
        ],
        "figure": charts.turn_strip(rows, roles_of(dialogue.turns.all()), forks=uprights(forks))
        if rows
        else None,
    }


def graph_of(score: DialogueScore | None, dialogue: Dialogue) -> dict[str, Any] | None:
    """The stored flow graph that `score` was computed with."""
    if score is None:
        return None
    stored = FlowGraph.objects.filter(run_id=score.run_id, workflow_id=dialogue.workflow_id)
    return stored.values_list("graph", flat=True).first()


def value_row(row: dict[str, Any]) -> dict[str, Any]:
    """A stored per-turn row with every key the page reads."""
    return {
        "number": row["number"],
        "node": row.get("node"),
        "p": row.get("p"),
        "surprisal": row.get("surprisal"),
        "reason": row.get("reason", "").replace("_", " "),
    }


def roles_of(turns: QuerySet[Turn]) -> dict[int, str]:
    return dict(turns.values_list("number", "role"))


def uprights(forks: list[Fork]) -> dict[int, str]:
    return {f.fork_turn: f"fork, turn {f.fork_turn} (k = {f.k})" for f in forks}


def peak_of(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The row of the most surprising turn, the first of equals; None when no turn has a value."""
    defined = [row for row in rows if row["surprisal"] is not None]
    return max(defined, key=lambda row: row["surprisal"], default=None)


def bar(row: dict[str, Any] | None, highest: float) -> int:
    """Width in px of the small bar beside a turn; 0 where there is no value."""
    if not row or row["surprisal"] is None or highest <= 0:
        return 0
    return max(1, round(BAR_PX * row["surprisal"] / highest))
