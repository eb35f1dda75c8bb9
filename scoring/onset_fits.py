"""The detectors of a task 3 run: fitted once per workflow, stored, kept while a worker needs them.

Fitting reads the conformant train half of the workflow and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from scoring import flow_graphs, onset_fitters
from scoring.corpora import Turns, dialogue_vectors, fitting_turns, turns_of
from scoring.encoders import Encoder
from scoring.models import Calibration, FlowGraph, Run
from scoring.onset_fitters import WITH_GRAPH, WITH_WORKFLOW, Fitted
from scoring.onset_methods import ObservedTurn
from scoring.turn_vectors import scored_turns
from scoring.workflow_knowledge import knowledge_of

NOTHING_FITTED = "the workflow has no conformant dialogue in its train half to learn from"
# Fitted detectors kept by a worker: parts of one workflow follow one another.
KEPT = 3
_fitted: OrderedDict[tuple[int, str], Fitted] = OrderedDict()


def observed_turns(keys: Sequence[int], encoder: Encoder | None) -> dict[int, list[ObservedTurn]]:
    """The scored turns of each dialogue as detectors see them."""
    return _observed(turns_of(keys), encoder)


def fitted_on(run: Run, workflow_id: int, encoder: Encoder) -> tuple[Fitted | None, Calibration]:
    """The fitted method of a workflow with its stored calibration.

    Fitted by the first part that needs it; two workers fitting at once fit the same, and it is
    stored once. None where it cannot be fitted, with `detail["reason"]`.
    """
    stored = run.calibrations.filter(workflow_id=workflow_id)
    row = stored.first()
    if row is not None and "reason" in row.detail:
        return None, row
    fitted = None if row is None else _fitted.get((row.pk, run.digest))
    if fitted is None:
        fitted, reason = _fit(run, workflow_id, encoder, row)
        if row is None:
            _store(run, workflow_id, fitted, reason)
            row = stored.get()
        if fitted is None:
            return None, row
        _keep((row.pk, run.digest), fitted)
    return fitted, row


def _fit(
    run: Run, workflow_id: int, encoder: Encoder, row: Calibration | None
) -> tuple[Fitted | None, str]:
    method, settings = run.parameters["method"], run.parameters["settings"]
    if row is not None and method in WITH_GRAPH:
        graph = flow_graphs.FlowGraph.from_dict(run.flow_graphs.get(workflow_id=workflow_id).graph)
        return onset_fitters.restored(method, graph, row.values, settings), ""
    train = _observed(fitting_turns(workflow_id), encoder)
    if not train:
        return None, NOTHING_FITTED
    known = None
    if method in WITH_WORKFLOW:
        others = settings["other_workflows"]
        known = knowledge_of(workflow_id, train, encoder, other_workflows=others)
    try:
        return onset_fitters.fit(method, list(train.values()), settings, known), ""
    except ValueError as error:
        return None, str(error)[:200]


def _store(run: Run, workflow_id: int, fitted: Fitted | None, reason: str) -> None:
    if fitted is None:
        row = Calibration(run=run, workflow_id=workflow_id, detail={"reason": reason})
    else:
        settings = run.parameters["settings"]
        cuts = onset_fitters.cuts_of(fitted, settings["alpha"])
        detail = {"cuts": cuts, "form": onset_fitters.form_of(settings)}
        if hasattr(fitted, "promise"):
            detail["promise"] = fitted.promise(settings["alpha"])
        values = [round(float(value), onset_fitters.DECIMALS) for value in fitted.calibration]
        row = Calibration(run=run, workflow_id=workflow_id, values=values, detail=detail)
        if run.parameters["method"] in WITH_GRAPH:
            graph = FlowGraph(run=run, workflow_id=workflow_id, graph=fitted.graph.to_dict())
            FlowGraph.objects.bulk_create([graph], ignore_conflicts=True)
    Calibration.objects.bulk_create([row], ignore_conflicts=True)


def _keep(key: tuple[int, str], fitted: Fitted) -> None:
    _fitted[key] = fitted
    while len(_fitted) > KEPT:
        _fitted.popitem(last=False)


def _observed(turns: Mapping[int, Turns], encoder: Encoder | None) -> dict[int, list[ObservedTurn]]:
    vectors = dialogue_vectors(encoder, turns)
    found = {}
    for pk, said in turns.items():
        rows = vectors[pk]
        numbers = [said.numbers[i] for i in scored_turns(said.roles, said.texts)]
        seen = zip(numbers, rows.roles, rows.texts, rows.vectors, strict=True)
        found[pk] = [ObservedTurn(*turn) for turn in seen]
    return found
