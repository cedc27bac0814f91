"""A child's stdout and stderr, as the worker reads them."""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
from collections import deque
from typing import Any

from lanework._capture import Sink

_LAST_LINES = 40

_log = logging.getLogger("lanework.child")


class Output:
    """The reading ends of two pipes. Bytes go to the current job's sink, and between jobs to the worker's own log."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fds: list[int], *, pid: int) -> None:
        self._loop = loop
        self._nobody = _Idle(pid)
        self._idle = Sink(self._nobody)
        self._sink = self._idle
        self._pipes = [_Pipe(fd, stream) for fd, stream in zip(fds, ("stdout", "stderr"), strict=True)]
        for pipe in self._pipes:
            os.set_blocking(pipe.fd, False)
            loop.add_reader(pipe.fd, self._read, pipe)

    def begin(self, sink: Sink) -> None:
        self.drain()
        self._sink = sink

    def end(self) -> None:
        """The job has flushed: what is in the pipes now is all of it."""
        self.drain()
        for pipe in self._pipes:
            self._sink.write(pipe.stream, pipe.rest())
        self._sink.flush()
        self._sink = self._idle

    @property
    def last_words(self) -> str:
        """What was last written between jobs, or before the first one."""
        return "\n".join(self._nobody.lines)

    def drain(self) -> None:
        for pipe in list(self._pipes):
            while self._read(pipe):
                pass

    def close(self) -> None:
        for pipe in list(self._pipes):
            self._close(pipe)

    def _read(self, pipe: _Pipe) -> bool:
        try:
            data = os.read(pipe.fd, 65536)
        except (BlockingIOError, InterruptedError):
            return False
        if data:
            self._sink.write(pipe.stream, pipe.decode(data))
        else:
            self._close(pipe)
        return bool(data)

    def _close(self, pipe: _Pipe) -> None:
        self._pipes.remove(pipe)
        self._loop.remove_reader(pipe.fd)
        os.close(pipe.fd)


class _Pipe:
    def __init__(self, fd: int, stream: str) -> None:
        self.fd = fd
        self.stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def decode(self, data: bytes) -> str:
        return self._decoder.decode(data)

    def rest(self) -> str:
        return self._decoder.decode(b"", final=True)


class _Idle:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.lines: deque[str] = deque(maxlen=_LAST_LINES)

    def tell(self, op: str, data: dict[str, Any]) -> None:
        self.lines.append(data["text"])
        _log.info("child %d, %s: %s", self._pid, data["stream"], data["text"])
