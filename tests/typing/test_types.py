"""The type checkers' view of the public interface: `declared.py` must pass, every ignore in `refused.py` must be needed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = [str(HERE / name) for name in ("declared.py", "refused.py", "inside.py")]


def test_mypy_agrees() -> None:
    run = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *FILES]
    found = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout == "" and found.returncode == 0, found.stdout + found.stderr


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_agrees(tmp_path: Path) -> None:
    settings = {
        "include": FILES,
        "extraPaths": [str(ROOT / "src"), str(ROOT)],
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": True,
        "reportUnusedFunction": False,
        "venvPath": str(Path(sys.prefix).parent),
        "venv": Path(sys.prefix).name,
    }
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    run = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(config)]
    found = subprocess.run(run, capture_output=True, text=True, check=False)
    problems = [each["message"] for each in json.loads(found.stdout)["generalDiagnostics"]]
    assert problems == []
