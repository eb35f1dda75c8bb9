"""Fill the database with the demo: corpus, forks, scores, a study, three accounts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.enrolment import EnrolmentRefused, assign_seat, create_study
from annotation.models import Study
from annotation.rehearsal import simulate_study
from annotation.run_studies import create_run_study
from benchmark import demo, judge_prompts
from benchmark.generating import fork_corpus
from benchmark.importing import import_records
from benchmark.judge_answer_files import AnswerRow
from benchmark.judge_answer_imports import Import, import_answers
from benchmark.judge_raters import judge_rater
from benchmark.models import Corpus
from benchmark.records import BadRecord
from dialfork_site.demo_accounts import Account, AccountTaken, make_accounts, password_file
from scoring import encoders, runs, turn_surprisals
from scoring.models import Run
from scoring.trajectory_methods import JUDGED, KIND, LABEL_METHODS
from scoring.views.asking import comparisons
from scoring.views.naming import title

CORPUS, FORKS, STUDY = "demo", "demo-forks", "demo-study"
RUN_CORPUS, RUN_STUDY = "demo-runs", "demo-runs-study"
FORMAT, ENGINE = "scripted", "scripted"
# What fills the leaderboards within minutes: methods of every task with their baselines.
RUNS: dict[str, tuple[dict[str, Any], ...]] = {
    "task1": ({"method": "flow_kl"}, {"method": "turn_count"}),
    "task2": (
        {"method": "discounted_alignment"},
        {"method": "soft_lcs"},
        {"method": "flow_score"},
        {"method": "mean"},
        {"method": "flow_dtw"},
        {"method": "shared_prefix"},
        {"method": "turn_difference"},
    ),
    "task3": (
        {"method": "novelty"},
        {"method": "novelty_remaining"},
        {"method": "workflow_aware"},
        {"method": "ngram_it", "node_confidence": True},
        {"method": "first_turn"},
        {"method": "last_turn"},
        {"method": "random_turn"},
    ),
}
# Detectors of hallucinations in agent runs, with controls that read none of their words.
DETECTORS = (
    "step_classifier",
    "step_entailment",
    "long_context",
    "judge_hybrid",
    "judge_label",
    "run_length",
    "majority",
)
SEATS, SIMULATED = 14, 12
RUN_SEATS, RUN_SIMULATED, PER_RUN = 8, 6, 2
PHASES = ("consent", "instructions", "practice", "questionnaire")
PRACTICE, PASS_MARK, ATTENTION = 4, 2, 2
OTHER_VERSION = (
    "This database holds the demo of another version. Give the demo a new database, "
    "for example DATABASE_URL=sqlite:///var/demo.sqlite3 make demo."
)


class Command(BaseCommand):
    help = "Fill the database with the demo corpus, its forks, scores, a study and three accounts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--limit", type=int, metavar="N", help="fork only the first N dialogues (for tests)"
        )

    def handle(self, *args: Any, limit: int | None = None, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError(
                "The demo makes accounts whose passwords lie in a file. Say that you want it: "
                "set DEMO=1, or use make demo."
            )
        try:
            with self.step("Accounts"):
                accounts = make_accounts()
            self.fill(accounts, limit)
        except (AccountTaken, BadRecord, EnrolmentRefused, ValueError, runs.RunFailed) as error:
            raise CommandError(str(error)) from error
        self.introduce(accounts)

    def fill(self, accounts: list[Account], limit: int | None) -> None:
        corpus = self.corpus(CORPUS, "Demo: nine procedures")
        forks = self.corpus(FORKS, "Demo: forks of the nine procedures")
        with self.step("Dialogues and trajectories"):
            stored = import_records(corpus, FORMAT, demo.records())
            if stored.rejected:
                raise CommandError(f"{OTHER_VERSION} ({stored.rejected[0]})")
        with self.step("Forks"):
            fork_corpus(corpus, forks, ENGINE, demo.SEED, limit=limit)
        using = {"encoder": settings.ENCODER}
        scored = [
            self.score(kind, forks, {**given, **using})
            for kind, chosen in RUNS.items()
            for given in chosen
        ]
        self.score(turn_surprisals.KIND, forks, using)
        for each in comparisons(forks, scored):
            self.score(each.kind, forks, each.parameters)
        annotator = next(a.user for a in accounts if a.name == "annotator")
        with self.step("Study with simulated judgements"):
            self.study(forks, annotator)
        self.runs(annotator)

    def runs(self, annotator: Any) -> None:
        """Agent runs of three models, what a judge says of them, and people who review them."""
        corpus = self.corpus(RUN_CORPUS, "Demo: runs of three models")
        with self.step("Agent runs and what a judge says of them"):
            stored = import_records(corpus, FORMAT, demo.scripted_runs(demo.SEED))
            if stored.rejected:
                raise CommandError(f"{OTHER_VERSION} ({stored.rejected[0]})")
            for version in demo.VERSIONS:
                self.judge(corpus, version)
        for name in DETECTORS:
            method = LABEL_METHODS[name]
            given = {"method": name, "truth": demo.SOURCE}
            given |= {"encoder": settings.ENCODER} if method.encoder else {}
            given |= {"judge": demo.JUDGE} if name in JUDGED else {}
            self.score(KIND, corpus, given)
        with self.step("Study of runs with simulated reviews"):
            self.run_study(corpus, annotator)

    def judge(self, corpus: Corpus, version: int) -> None:
        """The demo's judge, asked with one version of its prompt."""
        prompt = judge_prompts.load(demo.PROMPT, version)
        name = demo.JUDGE if version == 1 else f"{demo.JUDGE}, prompt {version}"
        rater = judge_rater(name, model=demo.JUDGE_MODEL, prompt=prompt)
        answers = demo.judge_answers(demo.scripted_runs(demo.SEED), demo.SEED, version)
        rows = [AnswerRow(f"answer {n}", raw, run) for n, (run, raw) in enumerate(answers, 1)]
        report = import_answers(Import(corpus, rater), rows)
        if report.left_out:
            raise CommandError(f"{OTHER_VERSION} ({report.left_out[0]})")

    def run_study(self, corpus: Corpus, annotator: Any) -> None:
        """Six simulated seats are filled; the demo annotator's and a free one wait."""
        study = Study.objects.filter(slug=RUN_STUDY).first() or create_run_study(
            slug=RUN_STUDY,
            title="Runs of agent teams",
            corpora=[corpus],
            seed=demo.SEED,
            n_seats=RUN_SEATS,
            n_simulated=RUN_SIMULATED,
            per_item=PER_RUN,
            judge=judge_rater(demo.JUDGE),
            phases=("consent", "instructions", "questionnaire"),
        )
        assign_seat(study, annotator)
        simulate_study(study)

    def corpus(self, slug: str, title: str) -> Corpus:
        return Corpus.objects.get_or_create(slug=slug, defaults={"title": title, "is_demo": True})[
            0
        ]

    def score(self, kind: str, forks: Corpus, parameters: Mapping[str, Any]) -> Run:
        run = runs.start(kind, [forks], parameters)
        with self.step(title(run)):
            return runs.work_through(run)

    def study(self, forks: Corpus, annotator: Any) -> None:
        """Twelve simulated seats are filled; the demo annotator's and a free one wait.

        A person walks the whole way, from consent over practice to the questions at the end.
        """
        study = Study.objects.filter(slug=STUDY).first() or create_study(
            slug=STUDY,
            title="Conversations and procedures",
            forks=forks,
            seed=demo.SEED,
            n_seats=SEATS,
            n_simulated=SIMULATED,
            phases=PHASES,
            n_practice=PRACTICE,
            pass_mark=PASS_MARK,
            n_attention=ATTENTION,
        )
        assign_seat(study, annotator)
        simulate_study(study)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begin = time.monotonic()
        self.stdout.write(f"{name} … ", ending="")
        self.stdout.flush()
        yield
        self.stdout.write(f"{time.monotonic() - begin:.1f} s")

    def introduce(self, accounts: list[Account]) -> None:
        self.stdout.write("")
        if note := encoders.fallback_note(settings.ENCODER):
            self.stdout.write(note)
        self.stdout.write(f"Sign in at {settings.PUBLIC_URL} with one of:")
        for account in accounts:
            self.stdout.write(f"  {account.name:<12} {account.password}")
        self.stdout.write(
            f"The passwords were drawn on this machine and are kept in {password_file()}. "
            "They open nothing from other machines."
        )
