"""The documents in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kg.documents import parsers
from kg.documents.names import suffix_of

#: Not hidden by a dot, and nobody's documents.
_SKIPPED = frozenset({"CVS", "_darcs", "node_modules", "__pycache__"})


def walk(folder: Path) -> Iterator[Path]:
    """Files of types that are read here, by name, those of a folder before its folders. What is hidden is left out; links are
    followed to files in the same folder only, never to folders; a file that is found twice is told once."""
    root = folder.resolve(strict=True)
    known = parsers.suffixes()
    seen: set[Path] = set()
    for place, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(files):
            if name.startswith(".") or suffix_of(name) not in known:
                continue
            real = _real(Path(place, name), root)
            if real is not None and real not in seen:
                seen.add(real)
                yield Path(place, name)


def _real(path: Path, root: Path) -> Path | None:
    """The file itself; None for what leads out of the folder, leads nowhere, or is no file."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return None
    return real if real.is_file() and real.is_relative_to(root) else None
