"""The processes of `kg serve` and `kg up`: started, watched, started again when they die, ended together and in order."""

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kg.parent import PARENT_FD
from lanework._guard.supervisor import describe_exit
from lanework.errors import ConfigError, SchemaError

logger = logging.getLogger("kg")
#: Longer than a worker's grace and its last writes.
PATIENCE = 60.0
STEADY_AFTER = 10.0
#: A child that ends like this at its first start would do so again and again.
HOPELESS = (ConfigError.exit_code, SchemaError.exit_code)


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        why = (error.strerror or str(error)).lower()
        raise ConfigError(f"cannot listen on {host}:{port}: {why}; choose another address with --host or --port") from None
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
    steady: bool = False


@dataclass
class Family:
    """`add` what is wanted, then `watch` until SIGTERM or Ctrl-C. The last added is ended first. A second signal
    ends all at once."""

    members: list[Member] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _hurry: threading.Event = field(default_factory=threading.Event)

    def add(self, name: str, words: Sequence[str], fds: tuple[int, ...] = ()) -> None:
        self.members.append(Member(name, [sys.executable, *words], fds))

    def watch(self, ready: Callable[[], bool] = lambda: True, greet: Callable[[], None] = lambda: None) -> int:
        """The exit code: 0 after a stop that was asked for. `greet` is called once, when `ready` says so."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked)
        parent, ours = os.pipe()
        threading.Thread(target=self._wait_until, args=(ready, greet), daemon=True, name="ready").start()
        try:
            while not self._stop.is_set():
                for member in self.members:
                    if (code := _look_after(member, parent)) is not None:
                        return code
                self._stop.wait(0.1)
        finally:
            self.end()
            os.close(parent)
            os.close(ours)
        return 0

    def _asked(self, *_: object) -> None:
        (self._hurry if self._stop.is_set() else self._stop).set()

    def _wait_until(self, ready: Callable[[], bool], greet: Callable[[], None]) -> None:
        while not ready():
            if self._stop.wait(0.1):
                return
        greet()

    def end(self) -> None:
        deadline = time.monotonic() + PATIENCE
        names: dict[str, list[Member]] = {}
        for member in reversed(self.members):
            names.setdefault(member.name.rstrip(" 0123456789"), []).append(member)
        for like in names.values():  # those of a kind together
            for member in like:
                _signal(member, signal.SIGTERM)
            for member in like:
                self._wait_for(member, deadline)

    def _wait_for(self, member: Member, deadline: float) -> None:
        hurried = False
        while member.process is not None and member.process.poll() is None:
            if time.monotonic() > deadline:
                logger.error("%s did not end in time and is killed", member.name)
                _signal(member, signal.SIGKILL)
            elif self._hurry.is_set() and not hurried:
                hurried = True
                _signal(member, signal.SIGINT)  # a second signal: no more patience
            time.sleep(0.02)


def _signal(member: Member, number: int) -> None:
    if member.process is not None:
        with contextlib.suppress(ProcessLookupError):
            member.process.send_signal(number)


def _start(member: Member, parent: int) -> None:
    # in a session of its own: Ctrl-C reaches this process alone, which ends the others in order
    member.process = subprocess.Popen(  # noqa: S603 - our own interpreter
        member.words, pass_fds=(*member.fds, parent), env={**os.environ, PARENT_FD: str(parent)}, start_new_session=True
    )
    member.born = time.monotonic()


def _look_after(member: Member, parent: int) -> int | None:
    """Starts it if it does not run. An exit code, if there is no point in that."""
    now = time.monotonic()
    member.steady = member.steady or (member.process is not None and now - member.born > STEADY_AFTER)
    if member.process is not None and (code := member.process.poll()) is not None:
        if code in HOPELESS and not member.steady:
            logger.error("%s cannot start (exit code %s); see above", member.name, code)
            return code
        member.failures = 0 if now - member.born > STEADY_AFTER else member.failures + 1
        pause = min(0.1 * 2**member.failures, 10.0) if member.failures > 1 else 0.0
        again = f"in {pause:.1f} s" if pause else "at once"
        logger.error("%s ended (%s) and is started again %s", member.name, describe_exit(code), again)
        member.again_at = now + pause
        member.process = None
    if member.process is None and now >= member.again_at:
        _start(member, parent)
    return None
