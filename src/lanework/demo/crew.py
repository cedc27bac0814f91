"""The tour's workers: real `lanework worker` processes, ended and cleaned up whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from lanework._guard.processes import children_of, kill_group
from lanework.demo import diary

APP = Path(__file__).with_name("app.py")
#: How long the workers get to leave by themselves.
PATIENCE = 10.0


class Crew:
    """`with Crew(folder, dsn, ["north", "south"]) as crew:`"""

    def __init__(self, folder: Path, dsn: str, names: Sequence[str]) -> None:
        self._folder, self._names = folder, names
        self._environment = {**os.environ, "LANEWORK_DATA": str(folder), diary.DSN: dsn}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for name in self._names:
                self._start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def _start(self, name: str) -> None:
        command = [sys.executable, "-m", "lanework", "worker", str(APP), "--name", name, "--grace", "1"]
        with self._log(name).open("wb") as log:
            # a session of its own: Ctrl-C at the terminal is ours, and we end the workers in good order
            self._processes[name] = subprocess.Popen(  # noqa: S603 - our own command
                command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def stop(self) -> dict[str, int]:
        """Asks all, waits, kills who does not go. The exit codes, by name."""
        for process in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        return {name: _end(process) for name, process in self._processes.items()}

    def dead(self) -> list[str]:
        return [name for name, process in self._processes.items() if process.poll() is not None]

    def last_words(self, lines: int = 6) -> list[str]:
        """What the workers logged last, for a tour that went wrong."""
        found = []
        for name in self._processes:
            text = self._log(name).read_text(errors="replace").splitlines()[-lines:]
            found += [f"{name}: {line}" for line in text]
        return found

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


def _end(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        for pid in (*children_of(process.pid), process.pid):
            kill_group(pid)
        return process.wait()
