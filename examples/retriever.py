"""The platform's search as a retriever for your own RAG code: here over a collection, with vectors of your own making."""

import asyncio
import math
from collections.abc import Sequence

from kg._store.schema import prepare
from kg.adapters.retriever import Collection, KgRetriever
from kg.collections.vectors import PgVectorStore
from kg.parts import Embedded, Item
from lanework import Lanework

WORDS = ("claim", "worker", "lane", "expire", "slot", "retry")


class WordCount:
    """An `Embed`: any object with a name, a number of dimensions, and this method. Vectors have length one."""

    name = "word-count"
    dimensions = len(WORDS)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(tuple(self._vector(text.lower()) for text in texts))

    def _vector(self, text: str) -> list[float]:
        counts = [text.count(word) + 0.01 for word in WORDS]
        length = math.sqrt(sum(one * one for one in counts))
        return [one / length for one in counts]


TEXTS = {
    "claims.md": "A claim that nobody renews will expire; then another worker takes the job.",
    "lanes.md": "A lane has slots. A full lane delays no other lane.",
    "retries.md": "A retry waits longer each time.",
}


async def fill(store: PgVectorStore, embed: WordCount) -> None:
    vectors = (await embed.embed(list(TEXTS.values()))).vectors
    items = [Item(name, text, vector, {"document": name}) for (name, text), vector in zip(TEXTS.items(), vectors, strict=True)]
    await store.put("manual", embed.name, items)


async def main() -> None:
    async with Lanework() as work:
        await asyncio.to_thread(prepare, work)
        store, embed = PgVectorStore(work), WordCount()
        await fill(store, embed)
        # against a running platform: KgRetriever(Server("http://127.0.0.1:8000", token))
        retriever = KgRetriever(Collection(store, embed, "manual"))
        for found in await retriever.aretrieve("When does a claim expire?", limit=2):
            print(f"{found.score:.2f} {found.metadata['document']}: {found.text}")


if __name__ == "__main__":
    asyncio.run(main())
