"""Users of an embedded server, and what is to be seen of it from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import psycopg

from lanework._embedded.lock import is_free
from lanework.embedded import Lease

HOLD = """
import os, sys
from lanework.embedded import acquire
lease = acquire(sys.argv[1])
{then}
print("held", flush=True)
sys.stdin.readline()
"""


class Holder:
    """Another process with a lease, until it is told to leave, or killed."""

    def __init__(self, folder: Path, then: str = "") -> None:
        command = [sys.executable, "-c", HOLD.format(then=then), str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def holds(self) -> Self:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"
        return self

    def leave(self) -> None:
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        os.killpg(self.process.pid, number) if number != signal.SIGKILL else self.process.kill()
        self.process.wait(60)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def pid_file(folder: Path) -> Path:
    return folder / "postgres/data/postmaster.pid"


def server_pid(folder: Path) -> int:
    return int(pid_file(folder).read_text().splitlines()[0])


def stopped(folder: Path) -> bool:
    return is_free(folder / "postgres/server.lock")


def ask(lease: Lease, question: str) -> object:
    with psycopg.connect(lease.dsn, autocommit=True) as connection:
        cursor = connection.execute(question.encode())
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def show(lease: Lease, setting: str) -> object:
    return ask(lease, f"select current_setting('{setting}')")
