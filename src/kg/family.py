"""The processes of `kg serve` and `kg up`: started, watched, started again when they die, ended together."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lanework.errors import ConfigError

logger = logging.getLogger("kg")
#: Longer than a worker's grace and its last writes.
PATIENCE = 60.0
STEADY_AFTER = 10.0


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}; choose another port with --port") from None
    listening.listen(2048)
    listening.setblocking(False)
    return listening


@dataclass
class Member:
    name: str
    words: list[str]
    fds: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    failures: int = 0
    born: float = 0.0
    again_at: float = 0.0


@dataclass
class Family:
    """`start` what is wanted, then `watch` until SIGTERM or Ctrl-C."""

    members: list[Member] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def add(self, name: str, words: list[str], fds: tuple[int, ...] = ()) -> None:
        self.members.append(Member(name, [sys.executable, *words], fds))

    def watch(self, on_start: Callable[[], None] = lambda: None) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        try:
            for member in self.members:
                _start(member)
            on_start()
            while not self._stop.wait(0.2):
                for member in self.members:
                    _look_after(member)
        finally:
            self.end()
        return 0

    def end(self) -> None:
        for member in self.members:
            if member.process is not None:
                with contextlib.suppress(ProcessLookupError):
                    member.process.terminate()
        deadline = time.monotonic() + PATIENCE
        for member in self.members:
            if member.process is not None:
                try:
                    member.process.wait(max(deadline - time.monotonic(), 0.1))
                except subprocess.TimeoutExpired:
                    logger.error("%s did not end in time and is killed", member.name)
                    member.process.kill()
                    member.process.wait()


def _start(member: Member) -> None:
    # in a group of its own: Ctrl-C reaches this process alone, which ends the others in order
    member.process = subprocess.Popen(  # noqa: S603 - our own interpreter
        member.words, pass_fds=member.fds, env=dict(os.environ), start_new_session=True
    )
    member.born = time.monotonic()


def _look_after(member: Member) -> None:
    now = time.monotonic()
    if member.process is not None and member.process.poll() is not None:
        logger.error("%s ended with code %s and is started again", member.name, member.process.returncode)
        member.failures = 0 if now - member.born > STEADY_AFTER else member.failures + 1
        member.again_at = now + (min(0.2 * 2**member.failures, 10.0) if member.failures else 0.0)
        member.process = None
    if member.process is None and now >= member.again_at:
        _start(member)
