"""Nothing that a step has not revealed leaves the server: not in a body, not in a header."""

from __future__ import annotations

import itertools
import re

import pytest
from django.urls import reverse

from annotation.enrolment import assign_seat
from annotation.titles import behaviour_of, revealing_word
from benchmark.corruption import VARIANTS, instruction
from tests.studies import item_at, make_study

# Words of the design, as whole words. The name of the product is not one of them.
DESIGN = (
    r"\b(WIC|SSPC|GR|CSC|forks?|forked|foils?|conformant|is_foil|fork_turn|splice|scripted|"
    r"generator|variant|witness|seed|replay|train|holdout|k ?= ?\d)\b"
)


@pytest.fixture
def seat(annotator):
    return assign_seat(make_study(), annotator)


@pytest.fixture
def visitor(client, annotator):
    client.force_login(annotator)
    return client


def whole(response) -> str:
    """Headers and body, without the random strings in which anything can occur by chance."""
    headers = "\n".join(f"{name}: {value}" for name, value in response.headers.items())
    cookies = response.cookies.output()
    text = "\n".join([headers, cookies, response.content.decode()])
    text = re.sub(r"/items/[\w-]{22}/", "/items/TOKEN/", text)
    text = re.sub(r'data-item="[\w-]{22}"', 'data-item="TOKEN"', text)
    return re.sub(r"(csrfmiddlewaretoken\" value|csrftoken|sessionid)=\"?\w+", "", text)


def before_rating(visitor, assignment):
    """Every response that can be had before the rating."""
    names = ("item", "rate", "instruction", "prefix", "skip")
    paths = [reverse(f"annotation:{name}", args=[assignment.token]) for name in names]
    paths += [reverse("home"), reverse("annotation:guidelines"), reverse("profile")]
    for path in paths:
        yield visitor.get(path)
    yield visitor.post(paths[1], {"rating": "far"})
    yield visitor.post(paths[2], {"appears": "yes", "onset": "3"})
    yield visitor.post(paths[3], {"prefix": "yes"})
    yield visitor.post(paths[4], {})


# A whole conversation (k = 0) is always shown a foil.
@pytest.mark.parametrize(
    ("k", "foil"), [(0, True), *((k, foil) for k in (1, 2, 3, 4) for foil in (True, False))]
)
def test_before_the_rating_nothing_tells_the_condition(visitor, seat, k, foil):
    assignment = item_at(seat, k=k, foil=foil if k else None)
    dialogue = assignment.item.dialogue
    secrets = [
        assignment.item.instruction,
        behaviour_of(assignment.item.instruction),
        assignment.item.instruction_variant,
        dialogue.external_id,
        dialogue.corpus.slug,
        dialogue.digest,
        dialogue.format,
        seat.study.slug,
    ]
    for fork in dialogue.forks.all():
        secrets += [fork.source.external_id, fork.generator, fork.instruction]
    for response in before_rating(visitor, assignment):
        text = whole(response)
        found = re.search(DESIGN, text.replace("DialFork", ""), re.IGNORECASE)
        assert found is None, text[max(0, found.start() - 80) : found.end() + 80]
        for secret in secrets:
            assert secret not in text


def test_the_pages_of_all_conditions_have_the_same_frame(visitor, seat):
    """Apart from token, number and the texts that are judged, every step-1 page is the same."""
    frames = set()
    for assignment in seat.assignments.select_related("item__dialogue"):
        url = reverse("annotation:rate", args=[assignment.token])
        html = whole(visitor.get(url))
        html = re.sub(r'<ol class="turns">.*?</ol>', "", html, flags=re.DOTALL)
        html = re.sub(r"Item \d+( of)?", "Item", html)
        html = re.sub(r"Content-Length: \d+|Vary: .*|Set-Cookie.*|Expires.*|expires.*", "", html)
        frames.add(html)
    assert len(frames) == 1


def test_row_ids_of_what_is_judged_are_not_on_the_page(visitor, seat):
    assignment = item_at(seat, k=2)
    html = whole(visitor.get(reverse("annotation:rate", args=[assignment.token])))
    ids = set(re.findall(r'(?:id|value|data-[\w-]+)="([^"]*)"', html))
    turn_ids = {str(pk) for pk in assignment.item.dialogue.turns.values_list("pk", flat=True)}
    numbers = {str(n) for n in assignment.item.dialogue.turns.values_list("number", flat=True)}
    assert not (turn_ids - numbers - {"0", "100"}) & ids


def test_step_two_shows_no_place_of_the_instruction(visitor, seat):
    assignment = item_at(seat, k=3)
    visitor.post(reverse("annotation:rate", args=[assignment.token]), {"rating": 40})
    html = whole(visitor.get(reverse("annotation:instruction", args=[assignment.token])))
    for word in ("cut", "judged", "after", "checked"):
        assert f'class="{word}"' not in html
        assert f" {word}>" not in html
    assert re.search(DESIGN, html.replace("DialFork", ""), re.IGNORECASE) is None


def test_true_instructions_and_foils_look_alike(visitor, seat):
    frames = set()
    for foil in (True, False):
        assignment = item_at(seat, k=2 if foil else 4, foil=foil)
        visitor.post(reverse("annotation:rate", args=[assignment.token]), {"rating": 40})
        html = whole(visitor.get(reverse("annotation:instruction", args=[assignment.token])))
        html = re.sub(r'<ol class="turns pick">.*?</ol>', "", html, flags=re.DOTALL)
        html = re.sub(r"<blockquote.*?</blockquote>", "", html, flags=re.DOTALL)
        html = re.sub(r"Item \d+( of)?|Content-Length: \d+|Set-Cookie.*", "", html)
        frames.add(html)
    assert len(frames) == 1


def test_the_code_of_a_type_is_not_part_of_what_people_are_asked():
    for variants in VARIANTS.values():
        for variant in variants:
            shown = behaviour_of(instruction(variant, task="table_book"))
            assert revealing_word(shown) is None
            assert variant.type not in shown


def test_a_system_turn_is_not_shown(visitor, seat):
    """Where an imported conversation carries its prompt, the prompt holds the instruction."""
    assignment = item_at(seat, k=2)
    dialogue = assignment.item.dialogue
    dialogue.turns.create(number=400, role="system", text="From now on sell carpets.")
    html = whole(visitor.get(reverse("annotation:rate", args=[assignment.token])))
    assert "carpets" not in html


def test_items_do_not_sort_by_condition(seat):
    """Neither rank nor row id puts whole conversations, foils or late forks together."""
    study = make_study("summer", n_seats=12, seed=11)
    kinds = [
        (item.dialogue.forks.count(), item.is_foil)
        for item in study.items.select_related("dialogue").order_by("id")
    ]
    assert kinds != sorted(kinds)
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    assert changes > 5
