"""Messages between a worker and its child: one JSON array a line, the first element says what it is.

    worker → child    boot told · run number told · cancel number reason lost · answer number id ok value · known n · stop
    child → worker    ready · failed text · tell number op data · ask number id op data · done number clean answer · secrets n texts

`number` is the job's, per child: what belongs to an earlier one is dropped.

`done` may bring two file descriptors: the reading ends of new pipes for the child's stdout and stderr.
"""

from __future__ import annotations

import json
from typing import Any

#: Far above every limit of the codec. What is larger is a mistake, and would only fill the worker's memory.
MESSAGE_LIMIT = 32 * 1024 * 1024

_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Raw(str):
    """Text that is JSON already."""

    __slots__ = ()


def pack(*parts: Any) -> bytes:
    text = ",".join(part if type(part) is Raw else _encode(part) for part in parts)
    return f"[{text}]\n".encode()


class Unpacker:
    """Bytes in, whole messages out."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[list[Any]]:
        lines = data.split(b"\n")
        if len(lines) == 1:
            self._keep(data)
            return []
        lines[0] = b"".join((*self._rest, lines[0]))
        self._rest, self._size = [], 0
        self._keep(lines.pop())
        return [json.loads(line) for line in lines]

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MESSAGE_LIMIT:
            raise ValueError(f"a message of more than {MESSAGE_LIMIT:,} bytes")
        if data:
            self._rest.append(data)
