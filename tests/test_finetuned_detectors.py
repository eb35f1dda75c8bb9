"""Fine-tuned transformers: the path from runs to scores, with tiny models of random weights."""

from __future__ import annotations

import numpy as np
import pytest

from scoring import finetuned_detectors as tuned
from scoring.encoders import EncoderUnavailable
from scoring.linear_detectors import ONE_CLASS
from scoring.roc_areas import roc_auc
from scoring.trajectory_detectors import NO_STEP
from scoring.trajectory_features import CONTRADICTED, ENTAILED, NEUTRAL, OTHERWISE
from tests.test_trajectory_detectors import SETTINGS, pool, seen

QUICK = {"epochs": 6, "rate": 3e-3, "batch": 16}
WORDS = "the sensor table holds 12 rows for pump look invented moon reactor exploded yesterday"


@pytest.fixture
def load():
    """Tiny models of random weights instead of the fetched ones; the rest is the product's own."""
    torch = pytest.importorskip("torch", reason="needs the extra encoders (torch)")
    transformers = pytest.importorskip("transformers", reason="needs the extra encoders")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS.split()]
    inner = Tokenizer(models.WordLevel({w: n for n, w in enumerate(names)}, unk_token="[UNK]"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", truncation_side="left"
    )
    size = {
        "vocab_size": len(names),
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "pad_token_id": 0,
    }

    def made(method):
        with torch.random.fork_rng():
            torch.manual_seed(1)
            heads = 3 if method == "nli_cross_encoder" else 2
            if method == "longformer":
                config = transformers.LongformerConfig(
                    **size, num_labels=heads, attention_window=[8], max_position_embeddings=140
                )
                model = transformers.LongformerForSequenceClassification(config)
            else:
                config = transformers.BertConfig(
                    **size, num_labels=heads, max_position_embeddings=140
                )
                model = transformers.BertForSequenceClassification(config)
        classes = (CONTRADICTED, ENTAILED, NEUTRAL) if heads == 3 else (0, 1)
        return tuned.Loaded(tokenizer, model, classes, 128)

    return made


def scores(method, runs, tested, load, **changes):
    settings = SETTINGS[method] | QUICK | changes
    found = tuned.out_of_fold(method, settings, runs, np.asarray(tested, bool), load=load)
    return {each.key: each for each in found}


@pytest.mark.encoders
@pytest.mark.parametrize("method", ["bert", "nli_cross_encoder", "longformer"])
def test_a_tiny_transformer_learns_a_plain_difference(method, load):
    runs = pool(24)
    tested = [run.key < 8 for run in runs]
    changes = {"epochs": 20} if method == "longformer" else {}
    found = scores(method, runs, tested, load, **changes)
    assert sorted(found) == list(range(8))
    values = [found[key].value for key in range(8)]
    assert roc_auc(values, [run.present for run in runs[:8]]) == 1.0
    steps = 0 if method == "longformer" else 4
    assert all(len(each.steps) == steps for each in found.values())


@pytest.mark.encoders
def test_the_same_seed_gives_the_same_scores_whatever_was_drawn_before(load):
    import torch

    runs = pool(12)
    tested = [run.key < 4 for run in runs]
    one = scores("bert", runs, tested, load, epochs=1)
    torch.rand(7)
    two = scores("bert", runs, tested, load, epochs=1)
    assert [one[key].value for key in one] == [two[key].value for key in two]


@pytest.mark.encoders
def test_without_training_an_entailment_model_answers_as_it_comes(load):
    runs = [seen(key, True) for key in range(3)]
    found = scores("nli_cross_encoder", runs, [True] * 3, load, epochs=0)
    assert all(0 < each.value < 1 for each in found.values())


@pytest.mark.encoders
def test_labels_of_the_tested_question_train_nothing(load):
    runs = pool(16)
    tested = [run.key == 0 for run in runs]
    blind = [seen(r.key, None, question=r.question) if r.question == "q0" else r for r in runs]
    for run, other in zip(runs, blind, strict=True):
        object.__setattr__(other, "steps", run.steps)
    one = scores("bert", runs, tested, load, epochs=1)[0]
    assert one.value == scores("bert", blind, tested, load, epochs=1)[0].value


def test_training_with_one_class_has_a_reason_and_loads_nothing():
    runs = [seen(key, True, steps=1, faulty=1) for key in range(4)]
    found = scores("bert", runs, [True, False, False, False], lambda method: 1 / 0)
    assert (found[0].value, found[0].reason) == (None, ONE_CLASS)


@pytest.mark.encoders
def test_a_run_without_a_step_has_a_reason(load):
    runs = [*pool(8), seen(50, True, steps=0)]
    found = scores("bert", runs, [run.key == 50 for run in runs], load, epochs=1)
    assert (found[50].value, found[50].reason) == (None, NO_STEP)


def test_a_history_holds_what_was_said_before_and_keeps_its_end():
    run = seen(1, True)
    texts = tuned.texts_of("nli_cross_encoder", SETTINGS["nli_cross_encoder"], [run])
    assert texts.first[0] == run.task and list(texts.second) == [s.said for s in run.steps]
    assert texts.first[2].splitlines() == [run.task, run.steps[0].said, run.steps[1].said]
    long = seen(2, False, task="x" * 9000)
    found = tuned.texts_of("nli_cross_encoder", SETTINGS["nli_cross_encoder"], [long])
    assert max(map(len, found.first)) <= 512 * tuned.CHARACTERS_PER_TOKEN + 200
    assert found.first[1].endswith(long.steps[0].said)


def test_a_fault_without_a_head_of_its_own_allows_every_head_but_the_clean_one():
    held = tuned.Loaded(None, None, (CONTRADICTED, ENTAILED, NEUTRAL), 8)
    allowed = tuned._allowed(held, np.array([ENTAILED, NEUTRAL, OTHERWISE]))
    assert allowed.tolist() == [[False, True, False], [False, False, True], [True, False, True]]


def test_heads_are_known_by_their_names():
    names = {0: "contradiction", 1: "ENTAILMENT", 2: "neutral"}
    assert tuned.head_classes(names) == (CONTRADICTED, ENTAILED, NEUTRAL)
    with pytest.raises(EncoderUnavailable, match="no head of an entailment model"):
        tuned.head_classes({0: "LABEL_0"})


def test_without_the_packages_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(tuned.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EncoderUnavailable, match="EXTRAS=encoders"):
        tuned.weights_of("bert")
