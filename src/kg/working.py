"""The worker of `kg up`. As a program it is the supervisor, which runs no job code; `work` is for the worker proper under it."""

from __future__ import annotations

import os
import sys
from typing import Any

from kg.parent import SUPERVISOR_PID, die_with_parent, end_without_supervisor


def __getattr__(name: str) -> Any:
    """`work` is made by whoever asks for it: the supervisor never does."""
    if name != "work":
        raise AttributeError(name)
    from kg.app import work  # noqa: PLC0415

    end_without_supervisor()
    return work


if __name__ == "__main__":
    from lanework import cli

    die_with_parent()
    os.environ[SUPERVISOR_PID] = str(os.getpid())
    sys.exit(cli.main(["worker", "kg.working:work"]))
