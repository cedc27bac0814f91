"""The type checkers' view of the public interface: `declared.py` must pass, every ignore in `refused.py` must be needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = [str(HERE / name) for name in ("declared.py", "refused.py", "inside.py")]


def test_mypy_agrees() -> None:
    run = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *FILES]
    found = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.stdout == "" and found.returncode == 0, found.stdout + found.stderr


def pyright(tmp_path: Path, *files: str) -> list[str]:
    """What basedpyright says in pyright's strict mode: the same checker, but its wheel has all it needs to run."""
    settings = {
        "include": files,
        "extraPaths": [str(ROOT / "src"), str(ROOT)],
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": True,
        "reportUnusedFunction": False,
    }
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(settings))
    run = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", str(config), "--pythonpath", sys.executable]
    found = json.loads(subprocess.run(run, capture_output=True, text=True, check=False).stdout)
    assert found["summary"]["filesAnalyzed"] == len(files)
    return [f"{Path(each['file']).name}: {each['message']}" for each in found["generalDiagnostics"]]


def test_pyright_agrees(tmp_path: Path) -> None:
    assert pyright(tmp_path, *FILES) == []


def test_pyright_refuses(tmp_path: Path) -> None:
    """Without the ignores it complains about every line that has one: it has seen the types, and not only names it cannot find."""
    text = (HERE / "refused.py").read_text()
    (tmp_path / "bare.py").write_text(re.sub(r"  # type: ignore.*", "", text))
    found = [each for each in pyright(tmp_path, str(tmp_path / "bare.py")) if "unknown" not in each]
    assert len(found) >= text.count("# type: ignore"), found
