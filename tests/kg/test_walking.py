"""Folders, and the loader for other code."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from kg.adapters.loader import KgLoader
from kg.documents.walking import walk
from kg.errors import Unreadable, Unsupported
from tests.kg import files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    outside = tmp_path / "secret.txt"
    outside.write_text("outside")
    for name in (
        "b.md",
        "a.TXT",
        "sub/c.html",
        "sub/deep/d.txt",
        ".hidden.txt",
        ".git/x.txt",
        "node_modules/y.md",
        "z.bin",
        "README",
    ):
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    (made / "out.txt").symlink_to(outside)
    (made / "within.md").symlink_to(made / "b.md")
    (made / "nowhere.txt").symlink_to(made / "no such file")
    (made / "ring.txt").symlink_to(made / "ring.txt")
    (made / "parent").symlink_to(tmp_path)
    (made / "again").symlink_to(made / "sub")
    os.mkfifo(made / "pipe.txt")
    return made


def test_a_folder(folder: Path) -> None:
    assert [str(path.relative_to(folder)) for path in walk(folder)] == ["a.TXT", "b.md", "sub/c.html", "sub/deep/d.txt"]


def test_a_folder_that_is_a_link_itself(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert [path.name for path in walk(tmp_path / "link")] == ["a.TXT", "b.md", "c.html", "d.txt"]


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(walk(tmp_path / "nothing"))


def test_the_loader(folder: Path) -> None:
    found = KgLoader(folder).load()
    assert [one.page_content for one in found] == ["text of a.TXT", "text of b.md", "text of sub/c.html", "text of sub/deep/d.txt"]
    assert found[1].metadata == {"source": str(folder / "b.md"), "title": "", "media_type": "text/markdown"}


def test_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(files.pdf(["One", ""], title="Report"))
    [found] = asyncio.run(KgLoader().aload(str(path)))
    assert found.page_content == "One"
    assert found.metadata == {
        "source": str(path), "title": "Report", "media_type": "application/pdf", "pages": 2,
        "warnings": ["1 of 2 pages have no text (scanned?): 2"],
    }  # fmt: skip
    assert next(KgLoader(path).lazy_load()) == found


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"no PDF")
    (tmp_path / "b.txt").write_bytes(b"")
    (tmp_path / "c.txt").write_bytes(b"good")
    with pytest.raises(Unsupported):
        KgLoader(tmp_path).load()
    loader = KgLoader(tmp_path, skip_errors=True)
    assert [one.page_content for one in loader.load()] == ["good"]
    assert [type(error) for error in loader.errors.values()] == [Unsupported, Unreadable]
    with pytest.raises(ValueError, match="what to load"):
        KgLoader().load()
