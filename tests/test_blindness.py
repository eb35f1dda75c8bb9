"""Nothing that a step has not revealed leaves the server: not in a body, not in a header."""

from __future__ import annotations

import itertools
import re

import pytest
from django.db.models.functions import Coalesce
from django.urls import reverse
from scipy import stats

from annotation.enrolment import EnrolmentRefused, assign_seat
from annotation.models import Assignment, Item, Seat
from annotation.titles import behaviour_of, revealing_word
from benchmark.corruption import VARIANTS, instruction
from tests.studies import item_at, make_study
from tests.test_access import every_address
from tests.walks import ALL, make_walk

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
    seat = assignment.seat
    for name in ("problem", "withdraw", "seat"):
        whose = assignment.token if name == "problem" else seat.pseudonym
        yield visitor.get(reverse(f"annotation:{name}", args=[whose]))
    for step in ("rate", "instruction", "prefix", "skip"):
        for name, verb in (("draft", visitor.put), ("time", visitor.post)):
            path = reverse(f"annotation:{name}", args=[assignment.token, step])
            for sent in ('{"values": {}, "revision": 0, "active_ms": 5}', '{"values": 3}', "{"):
                yield verb(path, sent, content_type="application/json")
            yield visitor.get(path)
    yield visitor.post(reverse("annotation:problem", args=[assignment.token]), {"text": ""})
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
    assert_blind(before_rating(visitor, assignment), secrets_of(assignment))


def secrets_of(assignment) -> list[str]:
    """What no page may hold before the rating: what is asked, where it comes from, who made it."""
    dialogue = assignment.item.dialogue
    secrets = [
        assignment.item.instruction,
        behaviour_of(assignment.item.instruction),
        assignment.item.instruction_variant,
        dialogue.external_id,
        dialogue.corpus.slug,
        dialogue.digest,
        dialogue.format,
        assignment.seat.study.slug,
    ]
    for fork in dialogue.forks.all():
        secrets += [fork.source.external_id, fork.generator, fork.instruction]
    return secrets


def assert_blind(responses, secrets) -> int:
    """Not a word of the design and none of `secrets` in any response; how many were looked at."""
    n = 0
    for response in responses:
        n += 1
        text = whole(response)
        found = re.search(DESIGN, text.replace("DialFork", ""), re.IGNORECASE)
        assert found is None, text[max(0, found.start() - 80) : found.end() + 80]
        for secret in secrets:
            assert secret not in text
    return n


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


def test_no_address_of_the_whole_site_tells_the_condition(visitor, annotator):
    """Pages, API, exports, administration: every address is asked, by reading and by sending."""
    addresses = every_address(annotator)
    assignment = Assignment.objects.select_related("item__dialogue__corpus", "seat__study").get(
        token=re.search(r"/items/([^/]+)/rate/", addresses["annotation:rate"]).group(1)
    )
    # A page that changes the seat comes last.
    paths = sorted(addresses.items(), key=lambda entry: "withdraw" in entry[0])
    asked = (
        getattr(visitor, verb)(path)
        for name, path in paths
        for verb in ("get", "post")
        if name not in {"login", "logout", "admin:logout"}
    )
    hidden = [secret for secret in secrets_of(assignment) if secret not in str(paths)]
    assert len(hidden) >= 4
    assert assert_blind(asked, hidden) > 150


def test_every_address_of_the_api_is_closed_to_annotators(visitor, annotator):
    api = [path for path in every_address(annotator).values() if path.startswith("/api/")]
    assert len(api) > 10
    for path in api:
        for verb in ("get", "post", "put", "patch", "delete", "options"):
            assert getattr(visitor, verb)(path).status_code in (403, 404), (verb, path)


def test_no_script_and_no_style_of_a_blind_page_hangs_on_the_item(visitor, seat):
    """What a page loads beside itself is the same for every item, and so can tell nothing."""
    loaded = set()
    for assignment in seat.assignments.all():
        html = visitor.get(reverse("annotation:rate", args=[assignment.token])).content.decode()
        loaded.add(tuple(re.findall(r'(?:src|href)="(/static/[^"]+)"', html)))
    assert len(loaded) == 1
    assert loaded.pop()


def bare(html: str) -> str:
    """The page without what it is about: conversation, procedure, token and place."""
    for element in ('<ol class="turns">.*?</ol>', "<aside.*?</aside>", "<dialog.*?</dialog>"):
        html = re.sub(element, "", html, flags=re.DOTALL)
    html = re.sub(r"/items/[\w-]{22}/|data-item=\"[\w-]{22}\"", "TOKEN", html)
    html = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", html)
    return re.sub(r"\d+", "0", html)


def test_sizes_tell_nothing_beyond_the_conversation(visitor, seat):
    """Byte for byte the same page for a whole conversation, every fork, a foil, an altered text:
    somebody who sees only how long answers are learns how long the conversation is."""
    altered = item_at(seat, k=2)
    number = altered.item.dialogue.turns.filter(role="assistant").last().number
    Item.objects.filter(pk=altered.item_id).update(
        kind="attention", altered={str(number): "Rate 37."}, expected={"rating": [37, 37]}
    )
    pages, frames = set(), set()
    for assignment in seat.assignments.all():
        response = visitor.get(reverse("annotation:rate", args=[assignment.token]))
        assert response.status_code == 200
        pages.add(bare(response.content.decode()))
        frames.add(tuple(sorted(set(response.headers) - {"Content-Length"})))
    assert len(pages) == 1
    assert len(frames) == 1


def test_the_answer_to_a_draft_is_of_one_size_for_every_item(visitor, seat):
    sizes = set()
    for assignment in seat.assignments.all():
        path = reverse("annotation:draft", args=[assignment.token, "rate"])
        sent = '{"values": {"rating": "40"}, "revision": 0, "active_ms": 0}'
        response = visitor.put(path, sent, content_type="application/json")
        assert response.status_code == 200
        sizes.add(re.sub(r"\d", "0", response.content.decode())[:60])
    assert len(sizes) == 1


def spread(values: list[str], groups: list[int]) -> float:
    """p of the Kruskal-Wallis test: whether the groups take different places when sorted."""
    places = {value: place for place, value in enumerate(sorted(values))}
    samples: dict[int, list[int]] = {}
    for value, group in zip(values, groups, strict=True):
        samples.setdefault(group, []).append(places[value])
    return float(stats.kruskal(*samples.values()).pvalue)


def n_runs(groups: list[int]) -> float:
    """Standard score of the number of runs of equal neighbours against shuffled order."""
    n = len(groups)
    shares = [groups.count(group) for group in set(groups)]
    same = sum(share * (share - 1) for share in shares) / (n * (n - 1))
    found = sum(a == b for a, b in itertools.pairwise(groups))
    expected = (n - 1) * same
    return (found - expected) / max(1.0, ((n - 1) * same * (1 - same)) ** 0.5)


def test_neither_ids_nor_tokens_nor_places_cluster_by_condition(db):
    """Sorted by row id, by token or by place in the seat, the five conditions lie as shuffled.

    Tokens are drawn anew each time, so the limits are those of one accident in ten thousand.
    """
    study = make_study("autumn", n_seats=40, seed=5)
    rows = list(
        Assignment.objects.filter(seat__study=study)
        .order_by("pk")
        .annotate(k=Coalesce("item__dialogue__forks__k", 0))
        .values_list("item_id", "token", "rank", "k", "item__is_foil")
    )
    assert len(rows) == 200
    ids, tokens, ranks, ks, foils = zip(*rows, strict=True)
    for groups in (list(ks), [int(foil) for foil in foils]):
        assert spread(list(tokens), groups) > 1e-4
        assert spread([f"{pk:09}" for pk in ids], groups) > 1e-4
        assert spread([f"{rank:03}{n:04}" for n, rank in enumerate(ranks)], groups) > 1e-4
        by_token = [group for _, group in sorted(zip(tokens, groups, strict=True))]
        assert abs(n_runs(by_token)) < 4
        items = dict(zip(ids, groups, strict=True))
        assert abs(n_runs([items[pk] for pk in sorted(items)])) < 4


def test_who_made_a_study_cannot_sit_in_it(annotator, other_annotator):
    """Also without the researcher role: they have seen how it was drawn."""
    study = make_study("spring", created_by=annotator)
    with pytest.raises(EnrolmentRefused):
        assign_seat(study, annotator)
    assert assign_seat(study, other_annotator).user == other_annotator
    assert not study.seats.filter(user=annotator).exists()


def test_no_phase_of_the_way_tells_anything_of_the_items(visitor, annotator):
    """Consent, instructions with their examples, practice, questions, thanks, home and help."""
    study = make_walk(phases=ALL, n_practice=1, n_attention=1)
    seat = assign_seat(study, annotator)
    items = seat.assignments.main().select_related("item__dialogue__corpus", "seat__study")
    secrets = {secret for assignment in items for secret in secrets_of(assignment)}
    # Names of variants are words that examples may use; whole texts and addresses are not.
    secrets = {secret for secret in secrets if len(secret) > 10}
    assert len(secrets) > 10
    page = reverse("annotation:seat", args=[seat.pseudonym])
    paths = (page, reverse("home"), reverse("annotation:guidelines"), reverse("profile"))

    def responses():
        for phase in Seat.Phase.values:
            state = "finished" if phase == Seat.Phase.DONE else "active"
            Seat.objects.filter(pk=seat.pk).update(phase=phase, state=state)
            for path in paths:
                yield visitor.get(path)
        for state in Seat.State.values:
            Seat.objects.filter(pk=seat.pk).update(phase="main", state=state)
            yield visitor.get(page)
            yield visitor.get(items[0].get_absolute_url())

    assert assert_blind(responses(), secrets) > 30


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
