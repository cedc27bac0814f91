"""Applications that are scripts: children find their handlers again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.pools.children import LINUX, ROOT, application

pytestmark = LINUX

SCRIPT = """
import asyncio, os, sys
from lanework._loading import Target
from tests.pools.app import Application
from tests.pools.children import Pool

the_app = Application()

class Special(ValueError): ...

@the_app.job
def greet(ctx, whom):
    if not whom: raise Special("no name")
    return [f"hello {{whom}}", __name__]

async def main():
    pool = Pool(Target.of(the_app))
    await pool.pool.start()
    try:
        print(await pool("greet", whom="you", home=greet.__module__))
        try: await pool("greet", whom="", home=greet.__module__)
        except Exception as error: print(error.is_a(Special))
    finally:
        await pool.pool.stop()

{guard}asyncio.run(main())
"""


def run_script(tmp_path: Path, guard: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(guard=guard))
    return subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_script_whose_handlers_are_in_main(tmp_path: Path) -> None:
    ran = run_script(tmp_path, "if __name__ == '__main__': ")
    assert ran.stdout == "['hello you', '__lw_main__']\nTrue\n", ran.stderr


def test_a_script_that_was_loaded_by_path_is_found_again(tmp_path: Path) -> None:
    """`lanework worker script.py` loads the script itself, and its children load it from there."""
    found = "print(Target.of(Target.parse(sys.argv[1]).load()))"
    file = Path(application(tmp_path, "").main)
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; from lanework._loading import Target; {found}", str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == f"{file}:app\n", ran.stderr


def test_a_script_without_a_guard_is_told_so_and_starts_no_workers_in_children(tmp_path: Path) -> None:
    ran = run_script(tmp_path, "")
    assert ran.returncode == 1
    assert "put the start under `if __name__ == '__main__':`" in ran.stderr
