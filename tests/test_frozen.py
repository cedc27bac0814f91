"""A migration that has left the house is never edited: there are databases that have it, and they would refuse ours.

`python -m tests.test_frozen` writes down what is new. It changes no line that is there.
"""

from __future__ import annotations

from pathlib import Path

from kg._store import schema
from lanework import migrate

LIST = Path(__file__).with_name("frozen.txt")


def present() -> dict[str, str]:
    folders = {"lanework": migrate.load(), "kg": migrate.load(schema.FOLDER)}
    return {f"{name}/{one.file}": one.checksum for name, found in folders.items() for one in found}


def frozen() -> dict[str, str]:
    pairs = (line.split() for line in LIST.read_text().splitlines())
    return {name: checksum for checksum, name in pairs}


def test_no_migration_was_edited_and_each_is_written_down() -> None:
    now, then = present(), frozen()
    edited = [name for name, checksum in then.items() if now.get(name) != checksum]
    assert not edited, f"edited or gone: {edited}; changes go in a new file"
    assert not now.keys() - then.keys(), "new ones: write them down with `python -m tests.test_frozen`"


if __name__ == "__main__":
    then = frozen() if LIST.exists() else {}
    new = {name: checksum for name, checksum in present().items() if name not in then}
    LIST.write_text("".join(f"{checksum}  {name}\n" for name, checksum in (then | new).items()))
