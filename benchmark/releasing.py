"""Freeze a version of a corpus: its rows and what people said of them, with checksums.

A version is published once. The same data may be written out again and gives the same files; other
data need another version.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import Counter
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from annotation import announcing, release_judgements, release_reviews
from annotation.models import Study
from benchmark import release_rows, release_run_rows
from benchmark.models import Corpus, Dialogue, Fork, Release, Trajectory, Turn
from benchmark.records import FORK_TYPES, digest_of
from benchmark.release_card import card
from benchmark.release_rows import Scope
from benchmark.release_tables import FORMAT, Table, sha256_of, tables_of
from benchmark.splitting import RULE
from benchmark.variants import VARIANTS_VERSION

MANIFEST, CARD = "MANIFEST.json", "README.md"
_NUMBER = r"(0|[1-9][0-9]{0,8})"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}(\.{_NUMBER})?\Z")


class ReleaseRefused(ValueError):
    """A release that must not be made; the message says why and what to do."""


def publish(corpus: Corpus, version: str, out: Path, *, reveal: bool = False) -> dict[str, Any]:
    """Write version `version` of `corpus` to the folder `out`; the manifest, with where it lies.

    Everything is written beside `out` first and moved there when it is complete. `reveal` allows
    what an open study would be spoilt by.

    Raises
    ------
    ReleaseRefused
        If the version is no version or was published with other data, if an open study uses the
        corpus, if `out` holds something else, or if the data changed meanwhile.
    """
    if not _VERSION.match(version):
        raise ReleaseRefused(f"{version!r} is no version; write it like 1.0 or 1.0.2")
    if not any(rows.exists() for rows in (corpus.dialogues, corpus.trajectories, corpus.workflows)):
        raise ReleaseRefused(f"{corpus.slug} is empty: there is nothing to publish")
    scope = release_rows.scope_of(corpus)
    if not reveal:
        _refuse_open_studies(scope)
    out = out.resolve()
    _refuse_foreign_folder(out, corpus, version)
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        before = _state(scope)
        counts = _write_tables(scope, work, _format_of(corpus, version))
        if _state(scope) != before:
            raise ReleaseRefused("the data changed while they were written out; publish again")
        manifest = _manifest(scope, version, counts, work)
        with transaction.atomic():
            manifest = _frozen(corpus, version, manifest)
            _write_papers(manifest, work)
            _move(work, out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def _format_of(corpus: Corpus, version: str) -> int:
    """The form `version` was first published in, so that it gives the same bytes again."""
    held = Release.objects.filter(corpus=corpus, version=version).first()
    return held.manifest.get("format", FORMAT) if held else FORMAT


def _refuse_open_studies(scope: Scope) -> None:
    using = Q(corpora__in=scope.corpora) | Q(items__dialogue__corpus__in=scope.corpora)
    using |= Q(items__trajectory__corpus__in=scope.corpora)
    studies = Study.objects.filter(using, state=Study.State.OPEN).order_by("slug").distinct()
    slugs = list(studies.values_list("slug", flat=True))
    if slugs:
        raise ReleaseRefused(
            f"the study {', '.join(slugs)} is open and uses these data: a release would tell "
            "annotators what they are to judge blind. Close the study first, or publish with "
            "--reveal."
        )


def _refuse_foreign_folder(out: Path, corpus: Corpus, version: str) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise ReleaseRefused(f"{out} is a file; --out must be a folder")
    if Path.cwd().is_relative_to(out):
        raise ReleaseRefused(f"{out} is the folder you are in; name another")
    names = {path.name for path in out.iterdir()}
    if not names:
        return
    try:
        held = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
        same = (held["corpus"], held["version"]) == (corpus.slug, version)
        foreign = sorted(names - {MANIFEST, *held["files"]})
    except (OSError, ValueError, KeyError, TypeError):
        same, foreign = False, []
    if not same:
        raise ReleaseRefused(
            f"{out} is not empty and does not hold {corpus.slug} {version}; name another folder"
        )
    if foreign:
        raise ReleaseRefused(
            f"{out} holds {foreign[0]}, which is no file of the release; name another folder"
        )


def _state(scope: Scope) -> tuple[Any, ...]:
    """What a write elsewhere would change; read before and after."""
    mine = Q(corpus__in=scope.corpora)
    return (
        list(Dialogue.objects.filter(mine).order_by("id").values_list("id", "digest", "split")),
        Turn.objects.filter(dialogue__corpus__in=scope.corpora).count(),
        Fork.objects.filter(dialogue__corpus__in=scope.corpora).count(),
        list(Trajectory.objects.filter(mine).order_by("id").values_list("id", "digest")),
        release_run_rows.state(scope),
        release_judgements.state(scope),
        release_reviews.state(scope),
    )


def _write_tables(scope: Scope, folder: Path, format: int) -> dict[str, int]:
    tables = {name: Table(folder, name, format) for name in tables_of(format)}
    try:
        tables["workflows"].add(release_rows.workflow_rows(scope))
        for dialogues, turns, forks in release_rows.dialogue_parts(scope):
            tables["dialogues"].add(dialogues)
            tables["turns"].add(turns)
            tables["forks"].add(forks)
        for part in release_run_rows.run_parts(scope):
            for name, rows in part.items():
                if name in tables:
                    tables[name].add(rows)
        tables["annotations"].add(release_judgements.judgement_rows(scope))
        if "reviews" in tables:
            tables["prompts"].add(release_run_rows.prompt_rows(scope))
            tables["raters"].add(release_run_rows.rater_rows(scope))
            tables["reviews"].add(release_reviews.review_rows(scope))
    finally:
        for table in tables.values():
            table.close()
    return {name: table.rows for name, table in tables.items()}


def _manifest(scope: Scope, version: str, counts: dict[str, int], folder: Path) -> dict[str, Any]:
    corpus = scope.own
    return {
        "format": FORMAT,
        "corpus": corpus.slug,
        "version": version,
        "title": corpus.title,
        "description": corpus.description,
        "licence": corpus.licence,
        "code": {"name": "dialfork", "version": code_version()},
        "counts": counts,
        "corpora": [_corpus_entry(c) for c in scope.corpora],
        "split": {"rule": RULE},
        "forking": _forking(scope),
        "studies": [
            *release_judgements.study_entries(scope),
            *release_reviews.study_entries(scope),
        ],
        "files": {
            path.name: {"sha256": sha256_of(path), "bytes": path.stat().st_size}
            for path in sorted(folder.iterdir())
        },
    }


def _corpus_entry(corpus: Corpus) -> dict[str, Any]:
    names = ("title", "description", "licence", "split_seed", "meta")
    return {
        "corpus": corpus.slug,
        **{name: getattr(corpus, name) for name in names},
        "dialogues": corpus.dialogues.count(),
        "conformant": corpus.dialogues.conformant().count(),
        "train": corpus.dialogues.fitting_half().count(),
        "trajectories": corpus.trajectories.count(),
    }


def _forking(scope: Scope) -> dict[str, Any]:
    forks = Fork.objects.filter(dialogue__corpus__in=scope.corpora).order_by()

    def values(name: str) -> list[Any]:
        return sorted(forks.values_list(name, flat=True).distinct())

    types = Counter(forks.values_list("type", flat=True))
    return {
        "variants_version": VARIANTS_VERSION,
        "generators": values("generator"),
        "rules": values("rule"),
        "seeds": sorted({c.meta["forking"]["seed"] for c in scope.corpora if "forking" in c.meta}),
        "types": {name: types[name] for name in FORK_TYPES},
    }


def _frozen(corpus: Corpus, version: str, manifest: dict[str, Any]) -> dict[str, Any]:
    """`manifest`, now the only one of its version, or the one it was first published with."""
    lines = {n: f["sha256"] for n, f in manifest["files"].items() if n.endswith(".jsonl")}
    digest = digest_of(lines)
    held = Release.objects.filter(corpus=corpus, version=version).first()
    if held is None:
        try:
            with transaction.atomic():
                Release.objects.create(
                    corpus=corpus, version=version, digest=digest, manifest=manifest
                )
                announcing.announce(
                    "release.published",
                    {"corpus": corpus.slug, "version": version, "digest": digest},
                )
        except IntegrityError:
            held = Release.objects.get(corpus=corpus, version=version)
    if held is None:
        return manifest
    if held.digest != digest:
        raise ReleaseRefused(
            f"{corpus.slug} {version} was published with other data and stays as it is; "
            f"publish the data as they are now as {next_version(corpus)}"
        )
    return {**held.manifest, "files": manifest["files"]}


def next_version(corpus: Corpus) -> str:
    """The highest published version of `corpus` with its last number raised."""
    published = [
        tuple(map(int, v.split("."))) for v in corpus.releases.values_list("version", flat=True)
    ]
    *head, last = max(published, default=(0, 9))
    return ".".join(map(str, [*head, last + 1]))


def code_version() -> str:
    """The version of this software: as installed, else as its pyproject.toml says."""
    try:
        return installed_version("dialfork")
    except PackageNotFoundError:
        text = (settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8")
        found = re.search(r'^version = "([^"]+)"', text, re.MULTILINE)
        return found[1] if found else "unknown"


def _write_papers(manifest: dict[str, Any], folder: Path) -> None:
    path = folder / CARD
    path.write_text(card(manifest), encoding="utf-8", newline="\n")
    entry = {"sha256": sha256_of(path), "bytes": path.stat().st_size}
    manifest["files"] = dict(sorted({**manifest["files"], CARD: entry}.items()))
    text = json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")


def _move(work: Path, out: Path) -> None:
    """Put the finished folder in place of `out`, which is absent, empty, or this same version."""
    work.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-old-", dir=out.parent) as place:
        aside = Path(place) / "old"
        if out.exists():
            out.rename(aside)
        try:
            work.rename(out)
        except OSError:
            if aside.exists():
                aside.rename(out)
            raise
