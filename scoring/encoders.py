"""Text encoders: every one maps texts to unit rows, and says which revision made them.

Three families: WordLlama (static vectors, the default), a lexical encoder of hashed character
n-grams that needs nothing but scikit-learn, and sentence-transformers models
(`scoring.sentence_encoders`), which load on first use by a worker or after an explicit pull.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring import sentence_encoders
from scoring.encoder_batches import encode_distinct
from scoring.sentence_encoders import EncoderUnavailable, no_loading

__all__ = [
    "Encoder",
    "EncoderUnavailable",
    "LexicalEncoder",
    "Registered",
    "UnknownEncoder",
    "WordLlamaEncoder",
    "check",
    "fallback_note",
    "get",
    "names",
    "no_loading",
    "pull",
    "registered",
    "registry",
    "revision_key",
    "revision_prefix",
]

DEFAULT = "wordllama"


@dataclass(frozen=True, slots=True)
class Registered:
    """One encoder of the registry as a table shows it.

    `revision` is "" where the weights are not on this machine, and `note` then says what to do.
    `source` is a hub id, a package, or "built in"; `max_tokens` is None where nothing is cut by
    tokens.
    """

    name: str
    source: str
    revision: str
    licence: str
    dim: int
    max_tokens: int | None
    max_characters: int
    note: str = ""


class UnknownEncoder(ValueError):
    """A name that is not in the registry; the message lists the names that are."""


class Encoder(Protocol):
    """What scoring asks of an encoder.

    `revision` names weights and preparation exactly: equal revisions give equal vectors, so it is
    the key under which vectors are stored. `encode` returns float32 rows of length one, shape
    (len(texts), dim); a blank text gives a zero row, never NaN. Texts are cut at `max_characters`
    and, where the encoder reads tokens one by one, at `max_tokens` (None: not at all).
    """

    name: str
    max_characters: int
    max_tokens: int | None

    @property
    def revision(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class LexicalEncoder:
    """Signed hashes of the character 2- to 4-grams inside words, damped by log(1 + count).

    Needs no weights and runs everywhere, so it stands in where WordLlama has no wheel. It sees
    shared spelling only: paraphrases without common words are unrelated to it.
    """

    name = "lexical"
    revision = "lexical-1"
    dim = 512
    max_characters = 20_000
    max_tokens = None
    licence = "MIT"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows (n, 512); blank texts give zero rows."""
        return encode_distinct(
            texts, dim=self.dim, embed=self._embed, max_characters=self.max_characters
        )

    def _embed(self, texts: list[str]) -> NDArray[np.float64]:
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(
            analyzer="char_wb", ngram_range=(2, 4), n_features=self.dim, norm=None
        )
        counts = hashing.transform(texts).toarray()
        return np.sign(counts) * np.log1p(np.abs(counts))


class WordLlamaEncoder:
    """WordLlama's 256-dimensional static token vectors, averaged over the text.

    The weights are inside the wheel; nothing is looked up on a network. The library pads every
    text of a batch to the longest and cuts none, hence the length-sorted batches and the cut.
    """

    name = "wordllama"
    dim = 256
    max_characters = 20_000
    max_tokens = None
    licence = "MIT"

    def __init__(self) -> None:
        self.revision = f"wordllama-{version('wordllama')}-l2_supercat_{self.dim}"
        self._model: Any = None
        self._loading = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows (n, 256); blank texts give zero rows."""
        return encode_distinct(
            texts, dim=self.dim, embed=self._embed, max_characters=self.max_characters
        )

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        with self._loading:
            if self._model is None:
                self._model = self._load()
        return self._model.embed(texts, batch_size=len(texts))

    def _load(self) -> Any:
        root = logging.getLogger()
        handlers, level = list(root.handlers), root.level
        import wordllama

        # The package configures the root logger when imported; the host program's choice stands.
        root.handlers[:], root.level = handlers, level
        return wordllama.WordLlama.load(
            dim=self.dim, cache_dir=Path(wordllama.__file__).parent, disable_download=True
        )


_EMBEDDED: dict[str, type[WordLlamaEncoder] | type[LexicalEncoder]] = {
    WordLlamaEncoder.name: WordLlamaEncoder,
    LexicalEncoder.name: LexicalEncoder,
}
_cache: dict[str, Encoder] = {}
_cache_lock = threading.Lock()


def names() -> tuple[str, ...]:
    """Every name `get` knows, the embedded ones first."""
    return (*_EMBEDDED, *sentence_encoders.MODELS)


def get(name: str = DEFAULT) -> Encoder:
    """The encoder of that name, one object per process; weights are loaded on first `encode`.

    "wordllama" gives the lexical encoder where WordLlama cannot be imported: `fallback_note` says
    so. Raises UnknownEncoder for a name outside `names()`.
    """
    check(name)
    resolved = _resolved(name)
    with _cache_lock:
        if resolved not in _cache:
            _cache[resolved] = _made(resolved)
        return _cache[resolved]


def check(name: str) -> None:
    """Raise UnknownEncoder unless `name` is in the registry. Loads nothing."""
    if name not in names():
        raise UnknownEncoder(f"Encoder {name!r} is not known. Use one of: {', '.join(names())}.")


def registry() -> list[Registered]:
    """Every encoder with its revision, licence, dimension and maximum length. Loads nothing."""
    return [registered(name) for name in names()]


def registered(name: str) -> Registered:
    """The row of one encoder. UnknownEncoder for a name that is not in the registry."""
    check(name)
    model = sentence_encoders.MODELS.get(name)
    if model is None:
        made = _EMBEDDED[name]
        source = "built in" if name == LexicalEncoder.name else f"package {name}"
        note, here = fallback_note(name), not fallback_note(name)
        revision = get(name).revision if here else ""
        length = (made.max_tokens, made.max_characters)
        return Registered(name, source, revision, made.licence, made.dim, *length, note)
    encoder = get(name)
    try:
        revision, note = encoder.revision, ""
    except EncoderUnavailable as error:
        revision, note = "", str(error)
    length = (encoder.max_tokens, encoder.max_characters)
    return Registered(name, model.source, revision, model.licence, model.dim, *length, note)


def revision_prefix(name: str) -> str:
    """What the revisions of encoder `name` begin with. UnknownEncoder for other names."""
    check(name)
    model = sentence_encoders.MODELS.get(name)
    return sentence_encoders.revision_prefix(model) if model else f"{name}-"


def revision_key(name: str, given: str) -> str:
    """The revision under which vectors made with the weights `given` are stored.

    `given` is a commit of the hub, a package version, or a whole revision as another machine
    names it. UnknownEncoder for a name that is not in the registry.
    """
    prefix = revision_prefix(name)
    if given.startswith(prefix):
        return given
    model = sentence_encoders.MODELS.get(name)
    return sentence_encoders.revision_key(model, given) if model else f"{prefix}{given}"


def fallback_note(name: str) -> str:
    """A sentence when another encoder stands in for `name`, else ""."""
    if _resolved(name) == name:
        return ""
    return (
        "WordLlama is not available on this machine; the built-in lexical encoder (hashed "
        "character n-grams) stands in for it."
    )


def pull(name: str) -> str:
    """Fetch the weights of a sentence-transformers encoder; returns its revision.

    Encoders whose weights come with a package need nothing. Raises EncoderUnavailable with the
    reason (offline, no safetensors weights, package missing).
    """
    check(name)
    if name in _EMBEDDED:
        return get(name).revision
    sentence_encoders.fetch(sentence_encoders.MODELS[name])
    return get(name).revision


def _resolved(name: str) -> str:
    if name == WordLlamaEncoder.name and importlib.util.find_spec("wordllama") is None:
        return LexicalEncoder.name
    return name


def _made(name: str) -> Encoder:
    if name in _EMBEDDED:
        return _EMBEDDED[name]()
    return sentence_encoders.SentenceEncoder(sentence_encoders.MODELS[name])
