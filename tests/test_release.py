"""A published version: complete, checked, frozen, the same bytes each time, and it comes back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from annotation.models import (
    Assignment,
    Commitment,
    Delivery,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Seat,
    Skip,
    SliderRating,
    StepTime,
    Study,
    Webhook,
    Withdrawal,
)
from benchmark.formats.building import dialogue, turn
from benchmark.importing import import_records, import_release
from benchmark.models import (
    Corpus,
    Dialogue,
    Fork,
    Release,
    Trajectory,
    Turn,
    Workflow,
)
from benchmark.records import BadRecord
from benchmark.release_tables import TABLES, sha256_of
from benchmark.releasing import ReleaseRefused, next_version, publish
from benchmark.splitting import store_split
from tests.small import make_trajectory

DATA = [f"{name}.{end}" for name in TABLES for end in ("jsonl", "parquet")]


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def rows(folder, table):
    return [json.loads(line) for line in (folder / f"{table}.jsonl").read_text().splitlines()]


def judge(assignment, slider, confirmation=None, turn=None, prefix=None):
    row = SliderRating.objects.create(assignment=assignment, value=slider)
    if confirmation:
        row = InstructionConfirmation.objects.create(slider=row, answer=confirmation)
        row = OnsetMark.objects.create(confirmation=row, turn=turn)
    if prefix:
        PrefixJudgement.objects.create(onset=row, answer=prefix)


@pytest.fixture
def study(forked, annotator):
    """A closed study: a person and a program, complete, partial and missing answers."""
    study = Study.objects.create(slug="s1", title="Tables", seed=3, state=Study.State.CLOSED)
    study.corpora.add(forked)
    person = Seat.objects.create(study=study, number=1, user=annotator)
    program = Seat.objects.create(study=study, number=2, simulated=True)
    forks = list(Fork.objects.filter(k__gt=1).select_related("dialogue").order_by("id")[:4])
    for rank, fork in enumerate(forks, start=1):
        item = Item.objects.create(
            study=study,
            dialogue=fork.dialogue,
            instruction=fork.instruction,
            instruction_type=fork.type,
            instruction_variant=fork.variant,
            is_foil=False,
        )
        for seat in (person, program):
            Assignment.objects.create(item=item, seat=seat, rank=rank)
    done, partial, declined, skipped = person.assignments.order_by("rank")
    Skip.objects.create(assignment=skipped, reason="language", note="Ann said so")
    at = done.item.dialogue.turns.get(number=forks[0].fork_turn)
    judge(done, 12, "yes", at, "mostly")
    judge(partial, 80)
    judge(declined, 50, "no")
    for row in program.assignments.all():
        judge(row, 30, "no")
    Assignment.objects.filter(pk=done.pk).update(finished_at="2026-01-01T00:00:00Z")
    return study


@pytest.fixture
def full(corpus, forked, study):
    """The corpus of forks, its sources, a study, a trajectory."""
    make_trajectory(forked)
    store_split(corpus)
    store_split(forked)
    forked.refresh_from_db()
    return forked


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def test_a_release_holds_every_table_twice_with_its_sums(full, out):
    publish(full, "1.0", out)
    assert sorted(p.name for p in out.iterdir()) == sorted([*DATA, "README.md", "MANIFEST.json"])
    manifest = json.loads((out / "MANIFEST.json").read_text())
    for name in (*DATA, "README.md"):
        assert manifest["files"][name]["sha256"] == sha256_of(out / name)
    counts = {name: len(rows(out, name)) for name in TABLES}
    assert manifest["counts"] == counts
    assert counts["dialogues"] == 4 + 64
    assert counts["turns"] == 68 * 12
    assert counts["forks"] == 64
    assert counts["annotations"] == 8
    for name in TABLES:
        table = pq.read_table(out / f"{name}.parquet")
        assert (table.num_rows, table.schema.names) == (counts[name], TABLES[name].names)


def test_the_manifest_says_how_it_came_about(full, out):
    manifest = publish(full, "1.0", out)
    assert manifest["split"]["rule"].startswith("train = floor(n/2)")
    assert [(c["corpus"], c["train"]) for c in manifest["corpora"]] == [
        ("small", 2),
        ("small-forks", 0),
    ]
    assert manifest["forking"]["types"] == {"WIC": 16, "SSPC": 16, "GR": 16, "CSC": 16}
    assert manifest["forking"]["generators"] == ["tests"]
    assert manifest["code"]["name"] == "dialfork"
    card = (out / "README.md").read_text()
    assert "8 judgements of 2 annotators, of which 1 are simulated" in card


def test_parquet_and_lines_say_the_same(full, out):
    publish(full, "1.0", out)
    for name in ("turns", "forks", "annotations"):
        for line, row in zip(
            rows(out, name), pq.read_table(out / f"{name}.parquet").to_pylist(), strict=True
        ):
            free = {k: json.loads(row[k]) for k in ("meta", "witness") if k in row}
            assert row | free == line


def test_nobody_is_named_and_missing_answers_are_null(full, out, annotator):
    publish(full, "1.0", out)
    everything = b"".join(bytes_of(out).values())
    assert annotator.username.encode() + b'"' not in everything
    found = [r for r in rows(out, "annotations") if not r["simulated"]]
    by_order = {r["order"]: r for r in found}
    assert sorted(by_order) == [1, 2, 3, 4]
    assert (by_order[4]["slider"], by_order[4]["skipped"]) == (None, "language")
    assert b"Ann said so" not in everything
    assert (by_order[1]["slider"], by_order[1]["confirmation"], by_order[1]["prefix"]) == (
        12,
        "yes",
        "mostly",
    )
    assert by_order[1]["onset_turn"] == 2 * by_order[1]["onset_assistant_turn"] - 1
    assert (by_order[2]["confirmation"], by_order[2]["onset_marked"]) == (None, False)
    assert (by_order[3]["onset_marked"], by_order[3]["onset_turn"]) == (True, None)
    assert b"2026-01-01" not in everything


def test_publishing_twice_gives_the_same_bytes(full, out, tmp_path):
    publish(full, "1.0", out)
    first = bytes_of(out)
    publish(full, "1.0", out)
    publish(full, "1.0", tmp_path / "elsewhere")
    assert bytes_of(out) == bytes_of(tmp_path / "elsewhere") == first
    assert Release.objects.count() == 1
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_published_version_stays_as_it_is(full, out):
    publish(full, "1.0", out)
    before = bytes_of(out)
    turn_ = Turn.objects.filter(dialogue__corpus=full).first()
    Turn.objects.filter(pk=turn_.pk).update(text="changed")
    with pytest.raises(ReleaseRefused, match=r"publish the data as they are now as 1\.1"):
        publish(full, "1.0", out)
    assert bytes_of(out) == before
    publish(full, "1.1", out.parent / "next")
    assert (out.parent / "next" / "turns.jsonl").read_bytes() != before["turns.jsonl"]


def test_a_new_title_does_not_change_a_published_version(full, out):
    publish(full, "1.0", out)
    before = bytes_of(out)
    Corpus.objects.filter(pk=full.pk).update(title="Another title")
    publish(Corpus.objects.get(pk=full.pk), "1.0", out)
    assert bytes_of(out) == before


@pytest.mark.parametrize(
    ("published", "following"),
    [([], "0.10"), (["1.0"], "1.1"), (["1.9", "1.10"], "1.11"), (["1.0.3"], "1.0.4")],
)
def test_the_next_version(corpus, published, following):
    for version in published:
        Release.objects.create(corpus=corpus, version=version, digest="x", manifest={})
    assert next_version(corpus) == following


def test_an_open_study_keeps_its_corpus_and_its_sources_back(full, corpus, study, out):
    Study.objects.update(state=Study.State.OPEN)
    with pytest.raises(ReleaseRefused, match="study s1 is open"):
        publish(full, "1.0", out)
    assert not out.exists()
    assert not Release.objects.exists()
    study.corpora.clear()
    with pytest.raises(ReleaseRefused, match="study s1 is open"):
        publish(full, "1.0", out)
    publish(full, "1.0", out, reveal=True)
    assert out.exists()


def test_a_source_corpus_in_an_open_study_is_kept_back(full, corpus, study, out):
    Study.objects.update(state=Study.State.OPEN)
    study.corpora.add(corpus)
    with pytest.raises(ReleaseRefused, match="study s1 is open"):
        publish(corpus, "1.0", out)


def test_a_folder_with_something_else_is_left_alone(full, out):
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(ReleaseRefused, match="not empty"):
        publish(full, "1.0", out)
    assert bytes_of(out) == {"thesis.txt": b"mine"}


def test_a_file_put_beside_a_release_is_not_swept_away(full, out):
    publish(full, "1.0", out)
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(ReleaseRefused, match=r"holds thesis\.txt"):
        publish(full, "1.0", out)
    assert (out / "thesis.txt").read_text() == "mine"


def test_the_folder_one_is_in_stays(full, out, monkeypatch):
    out.mkdir()
    monkeypatch.chdir(out)
    with pytest.raises(ReleaseRefused, match="the folder you are in"):
        publish(full, "1.0", Path("."))
    assert [p.name for p in out.parent.iterdir()] == ["out"]


def test_a_release_that_cannot_be_moved_leaves_the_old_one(full, out, monkeypatch):
    publish(full, "1.0", out)
    before = bytes_of(out)
    rename = Path.rename

    def once(path, target):
        if target == out and path.name != "old":
            raise OSError(16, "busy")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(OSError, match="busy"):
        publish(full, "1.0", out)
    assert bytes_of(out) == before
    assert [p.name for p in out.parent.iterdir()] == ["out"]


def test_an_empty_corpus_is_not_published(db, out):
    with pytest.raises(ReleaseRefused, match="nothing is empty"):
        publish(Corpus.objects.create(slug="nothing"), "1.0", out)
    assert not Release.objects.exists()


@pytest.mark.parametrize(
    "version", ["1", "v1.0", "1.0\n", "../1.0", "01.0", "1.\u0663", "1." + "9" * 40]
)
def test_a_version_is_two_or_three_numbers(full, out, version):
    with pytest.raises(ReleaseRefused, match="is no version"):
        publish(full, version, out)


def test_nothing_half_written_is_left_behind(full, out, monkeypatch):
    def fail(*args):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("benchmark.releasing._write_papers", fail)
    with pytest.raises(RuntimeError):
        publish(full, "1.0", out)
    assert list(out.parent.iterdir()) == []
    assert not Release.objects.exists()


def forget_everything():
    for model in (Skip, PrefixJudgement, OnsetMark, InstructionConfirmation, SliderRating):
        model.objects.all().delete()
    for model in (Study, Release, Fork, Dialogue, Trajectory, Workflow, Corpus):
        model.objects.all().delete()


@pytest.mark.parametrize("slug", ["small-forks", "another-name"])
def test_a_release_comes_back_and_is_published_the_same(full, out, tmp_path, slug):
    other = dialogue("b\u00e9", [turn("user", "x\u2028y")], where="w", meta={"b": 1, "a": [1.5]})
    import_records(full, "messages", [other])
    publish(full, "1.0", out)
    split = dict(Dialogue.objects.values_list("external_id", "split"))
    forget_everything()
    corpus = Corpus.objects.create(slug=slug)
    report = import_release(corpus, out)
    assert (report.rejected, report.new, report.annotations["new"]) == ([], 70, 8)
    assert dict(Dialogue.objects.values_list("external_id", "split")) == split
    again = tmp_path / "again"
    publish(Corpus.objects.get(slug=slug), "1.0", again)
    for name in DATA:
        assert (again / name).read_bytes() == (out / name).read_bytes(), name
    same_paper = (again / "MANIFEST.json").read_bytes() == (out / "MANIFEST.json").read_bytes()
    assert same_paper == (slug == full.slug)
    assert Study.objects.get().state == Study.State.CLOSED
    assert set(Seat.objects.values_list("user", flat=True)) == {None}


def test_a_release_imported_twice_changes_nothing(full, out):
    publish(full, "1.0", out)
    forget_everything()
    corpus = Corpus.objects.create(slug="back")
    import_release(corpus, out)
    report = import_release(corpus, out)
    assert (report.new, report.unchanged, report.rejected) == (0, 69, [])
    assert report.annotations == {"unchanged": 8}


def test_a_living_study_takes_no_judgements_from_a_copy(full, out, study):
    publish(full, "1.0", out)
    report = import_release(Corpus.objects.create(slug="copy"), out)
    assert report.new == 65
    assert "study s1 that was not imported is here already" in report.rejected[-1].reason
    assert study.items.count() == 4
    assert not Item.objects.filter(dialogue__corpus__slug="copy").exists()


def test_a_dry_run_of_a_release_writes_nothing(full, out):
    publish(full, "1.0", out)
    forget_everything()
    report = import_release(Corpus(slug="back"), out, dry_run=True)
    assert (report.new, report.rejected, dict(report.warnings)) == (69, [], {})
    assert not Corpus.objects.exists()


def test_a_file_that_was_changed_is_refused(full, out):
    publish(full, "1.0", out)
    path = out / "turns.jsonl"
    path.write_text(path.read_text().replace("Hello", "Hallo", 1))
    with pytest.raises(BadRecord, match=r"turns\.jsonl: is not the file that was published"):
        import_release(Corpus.objects.create(slug="back"), out)
    assert not Dialogue.objects.filter(corpus__slug="back").exists()


def forged(out, table, change):
    """Change the first row of a table and make the manifest agree."""
    path, paper = out / f"{table}.jsonl", out / "MANIFEST.json"
    first, *others = path.read_text().splitlines()
    row = json.loads(first)
    change(row)
    path.write_text("\n".join([json.dumps(row), *others]) + "\n")
    manifest = json.loads(paper.read_text())
    manifest["files"][path.name]["sha256"] = sha256_of(path)
    paper.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda row: row.update(slider=500), "out of range"),
        (lambda row: row.update(slider="much"), "out of range"),
        (lambda row: row.update(dialogue="gone"), "the dialogue gone is not there"),
        (lambda row: row.update(study="gone"), "does not tell of the study gone"),
        (lambda row: row.update(confirmation="yes", onset_marked=True, onset_turn=999), "turn 999"),
    ],
)
def test_judgements_that_cannot_be_are_rejected_as_a_whole(full, out, change, sentence):
    publish(full, "1.0", out)
    forged(out, "annotations", change)
    forget_everything()
    report = import_release(Corpus.objects.create(slug="back"), out)
    assert report.new == 69
    assert sentence in report.rejected[0].reason
    assert not SliderRating.objects.exists()


def test_a_table_without_a_column_is_a_sentence(full, out):
    publish(full, "1.0", out)
    forged(out, "turns", lambda row: row.pop("role"))
    forget_everything()
    with pytest.raises(BadRecord, match=r"turns\.jsonl:1: has no column role"):
        import_release(Corpus.objects.create(slug="back"), out)


def test_a_manifest_that_points_outside_is_refused(full, out):
    publish(full, "1.0", out)
    path = out / "MANIFEST.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["../secret"] = {"sha256": "x"}
    path.write_text(json.dumps(manifest))
    with pytest.raises(BadRecord, match="outside the folder"):
        import_release(Corpus.objects.create(slug="back"), out)


@pytest.mark.parametrize(("field", "value"), [("corpus", "a/b"), ("licence", "x" * 121)])
def test_a_manifest_with_a_corpus_that_cannot_be_is_refused(full, out, field, value):
    publish(full, "1.0", out)
    path = out / "MANIFEST.json"
    manifest = json.loads(path.read_text())
    manifest["corpora"][0][field] = value
    path.write_text(json.dumps(manifest))
    forget_everything()
    with pytest.raises(BadRecord, match=r"MANIFEST\.json, corpora"):
        import_release(Corpus.objects.create(slug="back"), out)


def test_the_commands(full, out, capsys):
    call_command("publish_release", full.slug, "1.0", "--out", str(out), "--json")
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["corpus"], said["version"], said["counts"]["forks"]) == (full.slug, "1.0", 64)
    forget_everything()
    call_command("import_corpus", "dialfork", str(out), "--corpus", "back", "--json")
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["new"], said["annotations"]) == (69, {"new": 8})
    with pytest.raises(CommandError, match="There is no corpus 'gone'; there are: back, small"):
        call_command("publish_release", "gone", "1.0", "--out", str(out))
    shutil.rmtree(out)
    with pytest.raises(CommandError, match="is no version"):
        call_command("publish_release", "back", "one", "--out", str(out))


def leave(study, *, mode):
    """The person of `study` withdraws, as far as tables tell of it."""
    seat = study.seats.get(number=1)
    if mode == "erase":
        for model in (PrefixJudgement, OnsetMark, InstructionConfirmation, SliderRating, Skip):
            path = {
                "PrefixJudgement": "onset__confirmation__slider__assignment__seat",
                "OnsetMark": "confirmation__slider__assignment__seat",
                "InstructionConfirmation": "slider__assignment__seat",
            }.get(model.__name__, "assignment__seat")
            model.objects.filter(**{path: seat}).delete()
        seat.assignments.update(ended="withdrawn", finished_at=None, opened_at=None)
    Withdrawal.objects.create(seat=seat, mode=mode, receipt="r")
    Seat.objects.filter(pk=seat.pk).update(state="withdrawn", user=None)
    return seat.pseudonym


def back(out, tmp_path, slug="small-forks"):
    """The release imported into an empty database and published again."""
    for model in (Commitment, Withdrawal, StepTime):
        model.objects.all().delete()
    forget_everything()
    report = import_release(Corpus.objects.create(slug=slug), out)
    assert report.rejected == []
    publish(Corpus.objects.get(slug=slug), "1.0", tmp_path / "again")
    return bytes_of(tmp_path / "again")


def test_every_judgement_says_how_far_it_came_and_how_long_it_took(full, out, study):
    first, second = study.seats.get(number=1).assignments.order_by("rank")[:2]
    Assignment.objects.filter(pk=second.pk).update(ended="expired")
    StepTime.objects.create(
        assignment=first,
        step="rate",
        opened_at="2026-01-01T00:00:00Z",
        submitted_at="2026-01-01T00:01:03.500Z",
        active_ms=41_000,
    )
    publish(full, "1.0", out)
    found = {r["order"]: r for r in rows(out, "annotations") if not r["simulated"]}
    assert {n: r["status"] for n, r in found.items()} == {
        1: "submitted",
        2: "expired",
        3: "in_progress",
        4: "skipped",
    }
    assert (found[1]["rate_wall_ms"], found[1]["rate_active_ms"]) == (63_500, 41_000)
    assert (found[2]["rate_wall_ms"], found[2]["rate_active_ms"]) == (None, None)
    assert {r["protocol_version"] for r in found.values()} == {1}


def test_practice_and_attention_items_are_no_judgements(full, out):
    Item.objects.filter(assignments__rank=1).update(kind="attention")
    Item.objects.filter(assignments__rank=2).update(kind="practice")
    manifest = publish(full, "1.0", out)
    assert {r["order"] for r in rows(out, "annotations")} == {3, 4}
    assert manifest["studies"][0]["judgements"] == 4


def test_a_reopened_attempt_is_marked_and_counted_apart(full, out, study, tmp_path):
    first = study.seats.get(number=1).assignments.get(rank=1)
    again = Assignment.objects.create(
        item=first.item, seat=first.seat, rank=9, attempt=2, post_reveal=True
    )
    judge(again, 66, "no")
    manifest = publish(full, "1.0", out)
    entry = manifest["studies"][0]
    assert (entry["judgements"], entry["reopened"]) == (8, 1)
    marked = [r for r in rows(out, "annotations") if r["post_reveal"]]
    assert [(r["attempt"], r["slider"], r["dialogue"]) for r in marked] == [
        (2, 66, first.item.dialogue.external_id)
    ]
    before = bytes_of(out)
    assert back(out, tmp_path) == before


def test_who_withdrew_and_left_their_answers_is_marked(full, out, study, tmp_path):
    name = leave(study, mode="keep")
    manifest = publish(full, "1.0", out)
    assert manifest["studies"][0]["withdrawn"] == {name: "keep"}
    told = {(r["annotator"], r["withdrawn"]) for r in rows(out, "annotations")}
    assert (name, True) in told and len(told) == 2
    assert "1 withdrew" in (out / "README.md").read_text()
    before = bytes_of(out)
    assert back(out, tmp_path) == before


def test_who_had_their_answers_erased_is_a_name_without_answers(full, out, study, tmp_path):
    publish(full, "0.9", out)
    name = leave(study, mode="erase")
    assert name.encode() in (out / "annotations.jsonl").read_bytes()
    manifest = publish(full, "1.0", tmp_path / "next")
    entry = manifest["studies"][0]
    assert (entry["withdrawn"], entry["judgements"]) == ({name: "erase"}, 4)
    for path in (tmp_path / "next").glob("annotations*"):
        assert name.encode() not in path.read_bytes()
    before = bytes_of(tmp_path / "next")
    assert back(tmp_path / "next", tmp_path) == before
    assert Seat.objects.get(pseudonym=name).state == "withdrawn"


def test_the_heads_of_the_chains_come_along_and_come_back(full, out, study, tmp_path):
    seat = study.seats.get(number=1)
    for ordinal in (1, 2):
        Commitment.objects.create(
            seat=seat, ordinal=ordinal, leaf="a" * 64, head=f"{ordinal}" * 64, payload="secret"
        )
    manifest = publish(full, "1.0", out)
    assert manifest["studies"][0]["commitments"] == {seat.pseudonym: {"links": 2, "head": "2" * 64}}
    assert b"secret" not in b"".join(bytes_of(out).values())
    before = bytes_of(out)
    assert back(out, tmp_path) == before
    assert back(out, tmp_path) == before


@pytest.mark.parametrize("form", [1, 2])
def test_a_version_published_in_an_older_form_stays_in_it(form, full, out, monkeypatch, tmp_path):
    monkeypatch.setattr("benchmark.releasing.FORMAT", form)
    publish(full, "1.0", out)
    first = bytes_of(out)
    assert ("attempt" in rows(out, "annotations")[0]) == (form == 2)
    assert "labels.jsonl" not in first
    monkeypatch.undo()
    publish(full, "1.0", out)
    assert bytes_of(out) == first
    manifest = publish(full, "1.1", tmp_path / "next")
    assert manifest["format"] == 3
    assert (tmp_path / "next" / "labels.jsonl").is_file()
    forget_everything()
    report = import_release(Corpus.objects.create(slug="back"), out)
    assert (report.rejected, report.annotations) == ([], {"new": 8})
    assert set(Assignment.objects.values_list("attempt", "ended")) == {(1, "")}


def test_a_form_that_is_not_known_is_a_sentence(full, out):
    publish(full, "1.0", out)
    path = out / "MANIFEST.json"
    path.write_text(path.read_text().replace('"format": 3', '"format": 4'))
    with pytest.raises(BadRecord, match="is 4; this software reads 1, 2, 3"):
        import_release(Corpus.objects.create(slug="back"), out)


def test_a_new_version_is_announced_once(full, out):
    Webhook.objects.create(url="https://example.org/", events=["release.published"])
    for _ in range(2):
        publish(full, "1.0", out)
    body = json.loads(Delivery.objects.get().body)
    assert body["data"]["version"] == "1.0"
    assert body["data"]["digest"] == Release.objects.get().digest
