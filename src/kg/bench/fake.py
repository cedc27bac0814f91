"""A model provider for measurements, in a process of its own: every call takes as long as it is told, and is counted.

python -m kg.bench.fake SECONDS ALLOWED    prints its port; GET / tells what it has counted
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

_ANSWER = json.dumps({"concepts": [], "instances": [], "relationships": []})


@dataclass
class Counted:
    calls: int = 0
    refused: int = 0
    now: int = field(default=0)
    busy: float = 0.0
    first: float = 0.0
    last: float = 0.0


class Fake:
    def __init__(self, seconds: float, allowed: int) -> None:
        self._seconds, self._allowed, self.counted = seconds, allowed, Counted()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(_length(head))
                status, body = (200, asdict(self.counted)) if head.startswith(b"GET") else await self._call()
                data = json.dumps(body).encode()
                writer.write(
                    f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _call(self) -> tuple[int, dict[str, Any]]:
        counted = self.counted
        if counted.now >= self._allowed:
            counted.refused += 1
            return 429, {"error": {"message": "too many at a time"}}
        began = time.monotonic()
        counted.first = counted.first or began
        counted.now += 1
        await asyncio.sleep(self._seconds)
        counted.now -= 1
        counted.calls += 1
        counted.last = time.monotonic()
        counted.busy += counted.last - began
        message = {"role": "assistant", "content": _ANSWER}
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
