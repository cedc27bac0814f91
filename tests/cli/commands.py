"""`lanework …`, in this process and in its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from lanework.cli import main

LANEWORK = [sys.executable, "-m", "lanework"]
NASTY = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202egnp.exe\r\n\x7f"
LOUD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


class Cli:
    """Runs commands in this process and keeps what they printed."""

    def __init__(self, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._dsn, self._capsys = dsn, capsys
        self.out, self.err = "", ""

    def __call__(self, *words: object) -> int:
        self._capsys.readouterr()
        code = main(["--dsn", self._dsn, *map(str, words)])
        self.out, self.err = self._capsys.readouterr()
        return code

    def json(self, *words: object) -> Any:
        assert self(*words, "-o", "json") == 0, self.err
        return json.loads(self.out)


def run(dsn: str | None, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **options.pop("env", {})} | ({"LANEWORK_DSN": dsn} if dsn else {})
    return subprocess.run([*LANEWORK, *words], env=environment, text=True, capture_output=True, timeout=60, check=False, **options)
