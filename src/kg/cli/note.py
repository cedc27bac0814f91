"""The note that `kg up` leaves for the command line of the same user: where it is, and a token for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lanework.embedded import default_folder


def note_file() -> Path:
    return default_folder() / "kg.json"


def write_note(url: str, token: str) -> None:
    path = note_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - its mode
        json.dump({"url": url, "token": token}, file)
    new.replace(path)


def read_note() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(note_file().read_text(encoding="utf-8"))
        return found
    except (OSError, ValueError):
        return {}


def drop_note(url: str) -> None:
    """It has ended: nobody is sent there any more. Another one's note stays."""
    if read_note().get("url") == url:
        note_file().unlink(missing_ok=True)
