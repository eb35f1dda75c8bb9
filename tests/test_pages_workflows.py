"""The workflow page: steps, the procedure as a drawing, the flow graph that a run fitted."""

from __future__ import annotations

import pytest

from benchmark.models import Corpus, Workflow, WorkflowStep, WorkflowTransition
from scoring.models import FlowGraph, Run
from tests.small import make_corpus

NASTY = [
    "<lambda> <map>",
    "ends with \\",
    'say "hi"',
    "</script><img src=x onerror=alert(1)>",
    "'); alert(1); ('",
]


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


def body(page) -> str:
    assert page.status_code == 200
    return page.content.decode()


def fit(workflow, nodes, counts, *, digest="f" * 64) -> Run:
    run = Run.objects.create(
        kind="surprisal",
        corpus=workflow.corpus,
        parameters={"encoder": "wordllama"},
        digest=digest,
        state="done",
    )
    graph = {
        "dialogues": 3,
        "counts": counts,
        "nodes": [
            {"name": name, "role": role, "label": label, "size": 3, "keywords": [], "vector": ""}
            for name, role, label in nodes
        ],
    }
    FlowGraph.objects.create(run=run, workflow=workflow, graph=graph)
    return run


def test_the_page_shows_steps_moves_and_a_drawing(signed_in, corpus):
    page = body(signed_in.get(f"/corpora/{corpus.slug}/workflows/table_book/"))
    assert page.count('<g class="node') == 6
    assert page.count('class="edge"') == 5
    assert "Read the booking back" in page and "Moves as a table" in page
    assert "fitted on the conformant" not in page


def test_labels_with_markup_are_plain_text_in_page_and_drawing(signed_in, db):
    corpus = Corpus.objects.create(slug="nasty")
    workflow = Workflow.objects.create(corpus=corpus, name="odd", digest="0" * 64)
    steps = [
        WorkflowStep.objects.create(workflow=workflow, position=i, key=text, text=text)
        for i, text in enumerate(NASTY, start=1)
    ]
    for i, step in enumerate(steps[1:], start=1):
        WorkflowTransition.objects.create(
            workflow=workflow, position=i, source=steps[0], target=step, observation=NASTY[3]
        )
    page = body(signed_in.get("/corpora/nasty/workflows/odd/"))
    assert "<img src=x" not in page and "<lambda>" not in page
    for shown in ("&lt;lambda&gt; &lt;map&gt;", "ends with \\", "say &quot;hi&quot;"):
        assert shown in page


def test_a_workflow_without_moves_or_steps_says_so(signed_in, db):
    corpus = Corpus.objects.create(slug="bare")
    Workflow.objects.create(corpus=corpus, name="empty", digest="0" * 64)
    page = body(signed_in.get("/corpora/bare/workflows/empty/"))
    assert "has no moves to draw" in page and "without steps" in page


def test_a_workflow_of_one_step_is_drawn(signed_in, db):
    corpus = Corpus.objects.create(slug="one")
    workflow = Workflow.objects.create(corpus=corpus, name="single", digest="0" * 64)
    WorkflowStep.objects.create(workflow=workflow, position=1, key="only", text="Only this")
    page = body(signed_in.get("/corpora/one/workflows/single/"))
    assert page.count('<g class="node') == 1 and "Only this" in page


def test_a_workflow_too_large_to_draw_says_so_and_keeps_its_table(signed_in, db):
    corpus = Corpus.objects.create(slug="large")
    workflow = Workflow.objects.create(corpus=corpus, name="huge", digest="0" * 64)
    steps = WorkflowStep.objects.bulk_create(
        WorkflowStep(workflow=workflow, position=i, key=f"step {i}") for i in range(1, 140)
    )
    WorkflowTransition.objects.bulk_create(
        WorkflowTransition(workflow=workflow, position=i, source=steps[i - 1], target=steps[i])
        for i in range(1, 139)
    )
    page = body(signed_in.get("/corpora/large/workflows/huge/"))
    assert "139 nodes and 138 moves; at most 120 and 400" in page
    assert '<svg class="graph"' not in page and "step 139" in page


def test_a_single_node_flow_graph_is_drawn_from_start_to_end(signed_in, corpus):
    workflow = corpus.workflows.get()
    fit(
        workflow,
        [("s0", "assistant", "Same words every time")],
        {"[start]": {"s0": 3}, "s0": {"[end]": 3}},
    )
    page = body(signed_in.get(f"/corpora/{corpus.slug}/workflows/table_book/"))
    drawn = page.split("What its dialogues do")[1]
    assert drawn.count('<g class="node') == 3
    assert drawn.count("100 %") >= 2 and "Same words every" in drawn
    assert ">Start<" in drawn and ">End<" in drawn


def test_rare_moves_are_left_out_of_the_drawing_and_kept_in_the_table(signed_in, corpus):
    workflow = corpus.workflows.get()
    fit(
        workflow,
        [("s0", "assistant", "Hello"), ("u0", "user", "Yes"), ("u1", "user", "Rarely said")],
        {"[start]": {"s0": 20}, "s0": {"u0": 19, "u1": 1}, "u0": {"[end]": 19}},
    )
    page = body(signed_in.get(f"/corpora/{corpus.slug}/workflows/table_book/"))
    drawing, table = page.split("What its dialogues do")[1].split("<details")[:2]
    assert "Rarely said" not in drawing and "Rarely said" in table
    assert "the 3 most frequent" in drawing and "4 moves" in drawing


def test_the_run_of_the_flow_graph_can_be_chosen(signed_in, corpus):
    workflow = corpus.workflows.get()
    old = fit(workflow, [("s0", "assistant", "Old words")], {"[start]": {"s0": 1}})
    fit(workflow, [("s0", "assistant", "New words")], {"[start]": {"s0": 1}}, digest="a" * 64)
    url = f"/corpora/{corpus.slug}/workflows/table_book/"
    assert "New words" in body(signed_in.get(url))
    assert "Old words" in body(signed_in.get(url, {"run": old.pk}))
    assert signed_in.get(url, {"run": old.pk + 99}).status_code == 400


def test_the_page_costs_the_same_with_more_dialogues(signed_in, db, django_assert_max_num_queries):
    make_corpus("few", n=4)
    make_corpus("more", n=60)
    for slug in ("few", "more"):
        with django_assert_max_num_queries(12):
            body(signed_in.get(f"/corpora/{slug}/workflows/table_book/"))
