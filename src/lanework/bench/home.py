"""Where the bench keeps what it installs and the data of its private server."""

from __future__ import annotations

import sys
from pathlib import Path


def home() -> Path:
    """`.bench` of the checkout that is the current folder, else a folder in the user's cache."""
    here = Path.cwd()
    folder = here / ".bench" if (here / "pyproject.toml").exists() else Path.home() / ".cache" / "lanework-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def say(text: str) -> None:
    """Talk goes to stderr; stdout has data only."""
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()
