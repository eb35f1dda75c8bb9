"""The dialogue list and the dialogue page: filters, keyset pages, bounded size, constant cost."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmark.models import Corpus, Dialogue
from scoring.models import DialogueScore, FlowGraph, Run
from tests.small import add_dialogue, make_corpus


@pytest.fixture
def signed_in(client, researcher):
    client.force_login(researcher)
    return client


def body(page) -> str:
    assert page.status_code == 200
    return page.content.decode()


def listed(page) -> list[str]:
    return re.findall(
        r'<th scope="row" class="mono"><a href="/dialogues/\d+/">([^<]+)<', body(page)
    )


def run_over(dialogue, rows, **extra) -> Run:
    run = Run.objects.create(
        kind="surprisal",
        corpus=dialogue.corpus,
        parameters={"encoder": "wordllama"},
        digest=extra.get("digest", "d" * 64),
        state="done",
    )
    DialogueScore.objects.create(run=run, dialogue=dialogue, value=0.5, turns=rows)
    return run


def row(number, surprisal=1.0, **extra):
    return {"number": number, "node": "s0", "p": 0.4, "surprisal": surprisal, **extra}


def test_filters_narrow_the_list(signed_in, forked):
    url = f"/corpora/{forked.slug}/dialogues/"
    assert len(listed(signed_in.get(url, {"type": "GR"}))) == 16
    assert len(listed(signed_in.get(url, {"type": "GR", "k": "2"}))) == 4
    assert listed(signed_in.get(url, {"q": "book-1.WIC.3"})) == ["table_book-1.WIC.3"]
    assert listed(signed_in.get(url, {"known": "conformant"})) == []
    small = f"/corpora/{Corpus.objects.get(slug='small').slug}/dialogues/"
    assert len(listed(signed_in.get(small, {"split": "train"}))) == 2
    assert len(listed(signed_in.get(small, {"workflow": "table_book"}))) == 4


def test_pages_of_the_list_cover_every_dialogue_once_and_lead_back(signed_in, db):
    corpus = make_corpus("many", n=120)
    url, seen = f"/corpora/{corpus.slug}/dialogues/", []
    page = signed_in.get(url)
    while True:
        seen += listed(page)
        later = re.search(r'rel="next" href="([^"]+)"', body(page))
        if not later:
            break
        page = signed_in.get(url + later.group(1).replace("&amp;", "&"))
    assert sorted(seen) == sorted(corpus.dialogues.values_list("external_id", flat=True))
    earlier = re.search(r'rel="prev" href="([^"]+)"', body(page)).group(1)
    assert listed(signed_in.get(url + earlier)) == seen[50:100]


def test_a_page_link_keeps_the_filters(signed_in, db):
    corpus = make_corpus("many", n=120)
    page = signed_in.get(f"/corpora/{corpus.slug}/dialogues/", {"q": "table", "split": "train"})
    link = re.search(r'rel="next" href="([^"]+)"', body(page)).group(1)
    assert "q=table" in link and "split=train" in link


def test_list_and_page_cost_the_same_at_40_and_at_4000_dialogues(signed_in, db):
    corpus = make_corpus("grows", n=40)
    counts = []
    for total in (40, 4000):
        have = corpus.dialogues.count()
        workflow = corpus.workflows.get()
        Dialogue.objects.bulk_create(
            Dialogue(
                corpus=corpus,
                workflow=workflow,
                format="dialfork",
                external_id=f"more-{i}",
                digest="0" * 64,
            )
            for i in range(total - have)
        )
        counts.append(
            [
                statements(signed_in, f"/corpora/{corpus.slug}/dialogues/"),
                statements(signed_in, f"/corpora/{corpus.slug}/dialogues/?known=conformant"),
                statements(signed_in, f"/dialogues/{corpus.dialogues.order_by('pk')[20].pk}/"),
                statements(signed_in, f"/corpora/{corpus.slug}/"),
            ]
        )
    assert counts[0] == counts[1]
    assert max(counts[1]) <= 16


def statements(client, url) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


def test_a_dialogue_of_10000_turns_puts_at_most_200_of_them_on_the_page(signed_in, corpus):
    turns = [("assistant" if i % 2 else "user", f"text {i}", "") for i in range(1, 10_001)]
    long = add_dialogue(corpus, None, "long", turns)
    rows = [row(i, 9.0 if i == 7777 else 1.0) for i in range(1, 10_001)]
    run_over(long, rows)
    page = body(signed_in.get(f"/dialogues/{long.pk}/?turn=9999"))
    numbers = [int(n) for n in re.findall(r'id="turn-(\d+)"', page)]
    assert len(numbers) <= 200 and 9999 in numbers
    assert "Turn 7777 is the most surprising" in page
    assert len(page) < 1_500_000
    first = body(signed_in.get(f"/dialogues/{long.pk}/"))
    assert 'id="turn-1"' in first and 'id="turn-201"' not in first


def test_a_turn_beyond_the_end_is_400(signed_in, corpus):
    dialogue = corpus.dialogues.first()
    assert signed_in.get(f"/dialogues/{dialogue.pk}/?turn=13").status_code == 400
    assert signed_in.get(f"/dialogues/{dialogue.pk}/?turn=zero").status_code == 400


def test_empty_turns_keep_their_number_and_are_shown_as_empty(signed_in, corpus):
    turns = [
        (r, t, "")
        for r, t in [
            ("user", "a"),
            ("assistant", "b"),
            ("user", ""),
            ("assistant", "   "),
            ("user", "c"),
        ]
    ]
    gaps = add_dialogue(corpus, None, "gaps", turns)
    page = body(signed_in.get(f"/dialogues/{gaps.pk}/"))
    assert [int(n) for n in re.findall(r'id="turn-(\d+)"', page)] == [1, 2, 3, 4, 5]
    assert page.count("(empty)") == 2


def test_a_dialogue_without_turns_says_so(signed_in, corpus):
    none = add_dialogue(corpus, None, "none", [])
    assert "stored without a turn" in body(signed_in.get(f"/dialogues/{none.pk}/"))


def test_markup_in_turns_and_identifiers_stays_text(signed_in, corpus):
    nasty = "</script><img src=x onerror=alert(1)>"
    odd = add_dialogue(corpus, None, nasty, [("assistant", nasty, "<lambda>"), ("user", nasty, "")])
    run_over(odd, [row(1, reason=nasty, node=nasty), row(2)])
    page = body(signed_in.get(f"/dialogues/{odd.pk}/"))
    assert "<img src=x" not in page and "<lambda>" not in page
    assert "&lt;img src=x" in page


def test_a_fork_shows_its_marker_its_instruction_and_its_source(signed_in, forked):
    dialogue = forked.dialogues.get(external_id="table_book-0.SSPC.3")
    fork = dialogue.forks.get()
    page = body(signed_in.get(f"/dialogues/{dialogue.pk}/"))
    marked = re.search(r'id="turn-(\d+)"[^>]*><span class="flag before">', page)
    assert int(marked.group(1)) == fork.fork_turn
    assert "From now on: May I have your name once more?" in page
    assert f'href="/dialogues/{fork.source_id}/"' in page
    siblings = forked.dialogues.filter(forks__source=fork.source_id).exclude(pk=dialogue.pk)
    assert siblings.count() == 15
    for sibling in siblings:
        assert f'href="/dialogues/{sibling.pk}/"' in page


def test_a_source_lists_its_forks(signed_in, forked):
    source = Dialogue.objects.get(external_id="table_book-0")
    page = body(signed_in.get(f"/dialogues/{source.pk}/"))
    assert "Forks of this dialogue" in page
    for fork in source.forked_into.all():
        assert f'href="/dialogues/{fork.dialogue_id}/"' in page


def test_the_surprisal_of_turns_is_drawn_and_told_in_a_table(signed_in, forked):
    dialogue = forked.dialogues.get(external_id="table_book-0.GR.2")
    rows = [row(i, 4.25 if i == 5 else 0.5) for i in range(1, 12)]
    rows.append({"number": 12, "node": None, "p": None, "surprisal": None, "reason": "blank_turn"})
    run = run_over(dialogue, rows)
    page = body(signed_in.get(f"/dialogues/{dialogue.pk}/"))
    assert "Turn 5 is the most surprising: 4.25 nats" in page
    assert 'id="figure"' in page and "blank turn" in page
    assert f"run {run.pk}</a>" in page and "encoder wordllama" in page


def test_the_run_can_be_chosen_and_an_unknown_one_is_400(signed_in, corpus):
    dialogue = corpus.dialogues.first()
    old = run_over(dialogue, [row(1, 2.0)])
    run_over(dialogue, [row(2, 3.0)], digest="e" * 64)
    assert "Turn 2 is the most" in body(signed_in.get(f"/dialogues/{dialogue.pk}/"))
    assert "Turn 1 is the most" in body(signed_in.get(f"/dialogues/{dialogue.pk}/?run={old.pk}"))
    assert signed_in.get(f"/dialogues/{dialogue.pk}/?run=999").status_code == 400


def test_what_conformant_dialogues_say_next_stands_beside_the_turn(signed_in, corpus):
    dialogue = corpus.dialogues.first()
    run = run_over(dialogue, [row(1, node="s0"), row(2, 3.0, node="u1")])
    node = {"role": "assistant", "size": 3, "keywords": [], "vector": ""}
    graph = {
        "nodes": [
            {**node, "name": "s0", "label": "Hello there"},
            {**node, "name": "u0", "label": "A table please", "role": "user"},
            {**node, "name": "u1", "label": "My bill please", "role": "user"},
        ],
        "counts": {"[start]": {"s0": 4}, "s0": {"u0": 3, "u1": 1}},
        "dialogues": 4,
    }
    FlowGraph.objects.create(run=run, workflow=dialogue.workflow, graph=graph)
    page = body(signed_in.get(f"/dialogues/{dialogue.pk}/?turn=2"))
    assert "Expected at turn 2" in page and "After “Hello there”" in page
    assert "A table please" in page and "75 %" in page and "1 of 4 times" in page
