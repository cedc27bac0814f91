"""A model provider for measurements, in a process of its own: every call takes as long as it is told, and is counted.

python -m kg.bench.fake SECONDS ALLOWED    prints its port; GET / tells what it has counted
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

_NAMES = re.compile(rb"Concept\d+")


def _answer(asked: bytes) -> str:
    """Eight of the names in what was asked, and six relations between them; the same for the same question."""
    names = sorted({one.decode() for one in _NAMES.findall(asked)})
    some = random.Random(asked).sample(names, min(8, len(names)))  # noqa: S311 - no secret
    concepts = [{"key": one, "label": one, "description": f"{one} is named in the text.", "search_terms": []} for one in some]
    pairs = list(itertools.pairwise(some[:7]))
    relations = [{"from_key": a, "to_key": b, "type": "RELATES_TO", "direction": "forward", "confidence": 0.8} for a, b in pairs]
    quotes = [{"concept_key": one, "quote": one} for one in some]
    return json.dumps({"concepts": concepts, "instances": quotes, "relationships": relations})


@dataclass
class Counted:
    """When calls began and ended, by the clock of the machine; those under way have not ended."""

    began: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    refused: int = 0


class Fake:
    def __init__(self, seconds: float, allowed: int) -> None:
        self._seconds, self._allowed, self.counted = seconds, allowed, Counted()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                asked = await reader.readexactly(_length(head))
                status, body = (200, asdict(self.counted)) if head.startswith(b"GET") else await self._call(asked)
                data = json.dumps(body).encode()
                writer.write(
                    f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _call(self, asked: bytes) -> tuple[int, dict[str, Any]]:
        counted = self.counted
        if len(counted.began) - len(counted.ended) >= self._allowed:
            counted.refused += 1
            return 429, {"error": {"message": "too many at a time"}}
        began = time.monotonic()
        counted.began.append(began)
        # in its time, and while nobody begins: of calls that come together one would wait for the others' answers for its place
        await asyncio.sleep(self._seconds * (0.25 + 0.5 * random.random()))  # noqa: S311 - no secret
        answer = _answer(asked)
        await asyncio.sleep(began + self._seconds - time.monotonic())
        counted.ended.append(time.monotonic())
        message = {"role": "assistant", "content": answer}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return 200, {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice], "usage": usage}


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def main(seconds: float, allowed: int) -> None:
    server = await asyncio.start_server(Fake(seconds, allowed).serve, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), int(sys.argv[2])))
