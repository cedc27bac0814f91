"""LightRAG with a model that answers after a while: python lightrag_driver.py DOCUMENTS WORDS SECONDS ALLOWED

Runs in an environment of its own. Its model is in its process, so no call of it costs a connection. Prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import random
import sys
import tempfile
import time
from importlib.metadata import version
from typing import Any

import numpy as np
from lightrag import LightRAG
from lightrag.kg.shared_storage import initialize_pipeline_status
from lightrag.utils import EmbeddingFunc, Tokenizer

WORDS = [f"Concept{n}" for n in range(400)]


class Characters:
    """Its tokenizer would be downloaded; chunks are measured in characters instead."""

    def encode(self, text: str) -> list[int]:
        return [ord(one) for one in text]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


class Model:
    def __init__(self, seconds: float) -> None:
        self.seconds, self.calls = seconds, 0

    async def answer(self, prompt: str, **_: Any) -> str:
        self.calls += 1
        await asyncio.sleep(self.seconds)
        names = random.Random(prompt).sample(WORDS, 8)
        lines = [f"entity<|#|>{name}<|#|>concept<|#|>{name} is named in the text." for name in names]
        lines += [f"relation<|#|>{a}<|#|>{b}<|#|>relates<|#|>{a} stands beside {b}." for a, b in itertools.pairwise(names[:7])]
        return "\n".join([*lines, "<|COMPLETE|>"])


async def embed(texts: list[str], **_: Any) -> Any:
    return np.random.default_rng(len(texts)).random((len(texts), 16), dtype="float32")


async def main(documents: int, words: int, seconds: float, allowed: int) -> None:
    logging.disable(logging.CRITICAL)
    model = Model(seconds)
    with tempfile.TemporaryDirectory() as folder:
        rag = LightRAG(
            working_dir=folder, llm_model_func=model.answer, llm_model_max_async=allowed, max_parallel_insert=allowed,
            entity_extract_max_gleaning=0, tokenizer=Tokenizer("characters", Characters()), chunk_token_size=2400,
            chunk_overlap_token_size=200, embedding_func_max_async=allowed,
            embedding_func=EmbeddingFunc(embedding_dim=16, max_token_size=8192, func=embed),
        )  # fmt: skip
        await rag.initialize_storages()
        await initialize_pipeline_status()
        texts = [" ".join(random.Random(n).choices(WORDS, k=words)) for n in range(documents)]
        begun = time.perf_counter()
        await rag.ainsert(texts)
        wall = time.perf_counter() - begun
    sys.stdout.write(json.dumps({"version": version("lightrag-hku"), "calls": model.calls, "wall": wall}) + "\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
