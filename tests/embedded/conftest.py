from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lanework.embedded import acquire
from tests.embedded.holders import Holder, stopped
from tests.servers import data_folder as temporary_folder


@pytest.fixture(scope="session")
def seed() -> Iterator[Path]:
    """A data folder that was used and left: most tests begin there, and save the time of a creation."""
    with temporary_folder() as folder:
        acquire(folder / "data").release()
        yield folder / "data"


@pytest.fixture
def fresh_folder() -> Iterator[Path]:
    with temporary_folder() as folder:
        yield folder / "data"


@pytest.fixture
def data_folder(seed: Path, fresh_folder: Path) -> Path:
    subprocess.run(["cp", "-a", str(seed), str(fresh_folder)], check=True)
    return fresh_folder


@pytest.fixture
def hold(fresh_folder: Path) -> Iterator[Callable[..., Holder]]:
    """Starts holders of the test's folder; none of them, and no server, is left after the test."""
    with ExitStack() as stack:
        stack.callback(_sweep, fresh_folder)

        def start(then: str = "") -> Holder:
            holder = Holder(fresh_folder, then)
            stack.callback(holder.close)
            return holder

        yield start


def _sweep(folder: Path) -> None:
    """Come and go as the last, so that no server outlives a failed test."""
    if (folder / "postgres/server.lock").exists() and not stopped(folder):
        acquire(folder).release()
