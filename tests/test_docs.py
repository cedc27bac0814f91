"""The documentation says what the code does. `python -m tests.test_docs` writes the generated tables again."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kg.config import KgSettings
from lanework import migrate, retries
from lanework._declaration import Declaration
from lanework._options import OptionValues
from lanework._schedule_values import ScheduleValues
from lanework.config import Settings
from lanework.lanes import BOUNDS
from tests.doc_tables import EXIT_CODES, GENERATED, JOB_CODES, ROOT, all_errors, between, write_tables

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"(?:<!-- example: (?P<file>\S+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```", re.DOTALL)
#: Names of the environment that are no settings: they are for tests and fault injection.
OTHER_NAMES = {"LANEWORK_CHAOS", "LANEWORK_TEST_PG", "LANEWORK_SHRINK"}


# The tables that are generated


@pytest.mark.parametrize("name", GENERATED)
def test_generated_tables_are_current(name: str) -> None:
    page, make = GENERATED[name]
    found = between(name).search((ROOT / page).read_text())
    assert found is not None
    assert found[2].strip() == make(), f"{page} is not what the code says: run `python -m tests.test_docs`"


# What is written by hand


def test_every_exit_code_has_a_meaning() -> None:
    assert {kind.exit_code for kind in all_errors()} <= EXIT_CODES.keys()


def test_every_error_code_is_used_once() -> None:
    codes = [kind.code for kind in all_errors()] + [getattr(retries, name) for name in JOB_CODES]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"LW-\d{3}", code) for code in codes)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("docs/guides/submitting.md", [*Declaration.__annotations__, *OptionValues.__annotations__]),
        ("docs/guides/errors.md", [*retries.ERROR_CLASSES, "Done", "Snooze", "Cancel", "Fail"]),
        ("docs/guides/lanes.md", [*BOUNDS, "enabled"]),
        ("docs/guides/schedules.md", [*ScheduleValues.__annotations__]),
    ],
)
def test_nothing_is_left_out(page: str, words: list[str]) -> None:
    text = (ROOT / page).read_text()
    assert [word for word in words if f"`{word}`" not in text and f"`{word}(" not in text] == []


def test_the_schema_page_has_what_the_schema_has() -> None:
    sql = migrate.render()
    made = set(re.findall(r"create (?:table|view|function|procedure) (?:if not exists )?\"?(lanework)\"?\.(\w+)", sql))
    text = (ROOT / "docs/reference/schema.md").read_text()
    told = set(re.findall(r"(lanework)\.(\w+)", text))
    assert made - told == set()
    assert told - made == set()


def test_named_tests_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs/promises.md").read_text())
    assert len(named) > 20
    for file, test in named:
        assert (ROOT / file).is_file(), f"docs/promises.md names {file}"
        assert re.search(rf"def {test}\b", (ROOT / file).read_text()), f"docs/promises.md names {file}::{test}"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_code_is_code(page: Path) -> None:
    """An example is its file, word for word; other Python at least parses."""
    for block in FENCE.finditer(page.read_text()):
        if block["file"]:
            assert block["text"] == (ROOT / block["file"]).read_text(), f"{page.name} differs from {block['file']}"
        elif block["language"] == "python":
            compile(block["text"], str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_names_of_the_environment_exist(page: Path) -> None:
    known = {row["env"] for row in Settings.describe()} | OTHER_NAMES
    named = set(re.findall(r"\bLANEWORK_[A-Z_]+\b(?!<)", page.read_text()))
    assert {name for name in named if name not in known and not name.startswith("LANEWORK_LANE_")} == set()
    others = {row["env"] for row in KgSettings.describe()} | {"KG_URL", "KG_TOKEN"}  # the last two are the command line's
    assert set(re.findall(r"\bKG_[A-Z_]+\b", page.read_text())) <= others


def _modules_named(page: Path) -> Iterator[str]:
    yield from re.findall(r"`((?:_?\w+/)*_?\w+\.py|_\w+/)`", page.read_text())


def test_the_architecture_names_files_that_exist() -> None:
    page = ROOT / "docs/architecture.md"
    source = ROOT / "src/lanework"
    assert [name for name in _modules_named(page) if not (source / name.rstrip(os.sep)).exists()] == []


if __name__ == "__main__":
    write_tables()
