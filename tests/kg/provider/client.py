"""A provider in a process of its own, as tests use it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.kg.provider.orders import Counts, Fault


@dataclass
class Provider:
    """A started one. `url` is what `KG_ANTHROPIC_URL` takes, `url + "/v1"` what `KG_OPENAI_URL` takes."""

    url: str

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"

    def _ask(self, path: str, value: Any = None, timeout: float = 30) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}{path}", data=None if value is None else json.dumps(value).encode())
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def set(self, **knobs: Any) -> None:
        self._ask("/control/set", knobs)

    def fail(self, *faults: Fault | str, **more: Any) -> None:
        """These faults, in this order, and no others."""
        self._ask("/control/faults", [asdict(Fault(one, **more) if isinstance(one, str) else one) for one in faults])

    def counts(self) -> Counts:
        return Counts(**self._ask("/control"))

    def wait(self, **least: int) -> Counts:
        """Until this many were counted: `wait(now=2)`, `wait(calls=5)`."""
        return Counts(**self._ask("/control/wait", least, timeout=300))

    def reset(self) -> None:
        self._ask("/control/reset", {})


@contextmanager
def started() -> Iterator[Provider]:
    """A provider in a process of its own."""
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kg.provider", "--port", "0"], stdout=subprocess.PIPE, cwd=root, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("provider: "), line
        yield Provider(line.split()[1])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
