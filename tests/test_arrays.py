"""Lists as parameters: whatever psycopg would have sent."""

from __future__ import annotations

import datetime
import math
from typing import Any

import psycopg
import pytest

from lanework._store.connect import connect
from lanework.config import Settings

TEXTS = [
    "",
    " ",
    "NULL",
    "null",
    'say "no"',
    "back\\slash",
    "{a,b}",
    "a,b",
    "tab\tline\n",
    "é 東 🐘",
    "'",
    "\x1f",
    '\\"',
    "\\x00",
    "%s",
    "$1",
]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("text", TEXTS),
        ("text", [None, "a", None]),
        ("text", []),
        ("text", [None]),
        ("bigint", [0, -1, 2**63 - 1, -(2**63), None]),
        ("bytea", [b"", b"\x00\xff\\", b'"', None]),
        ("float8", [0.1, -1e300, 1e-7, math.inf, -math.inf, None]),
        ("boolean", [True, False, None]),
        ("bigint", [[1, 2], [3, 4]]),
        ("text", [["a", 'b"'], ["c", "NULL"]]),
        ("timestamptz", [datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC), None]),
    ],
)
def test_a_list_comes_back_as_it_went(database: str, kind: str, values: list[Any]) -> None:
    with connect(database, Settings(), "test") as ours, psycopg.connect(database) as theirs:
        query = f"select %(values)s::{kind}[], %(values)s::{kind}[]::text"
        for _ in range(4):  # prepared, too
            found = ours.execute(query, {"values": values}).fetchone()
            assert found == theirs.execute(query, {"values": values}).fetchone()
            assert found is not None and found[0] == values


def test_what_text_cannot_have_is_refused(database: str) -> None:
    with connect(database, Settings(), "test") as conn:
        with pytest.raises(psycopg.DataError, match="NUL"):
            conn.execute("select %s::text[]", [["a\0b"]])
        with pytest.raises(UnicodeEncodeError):
            conn.execute("select %s::text[]", [["\ud800"]])
        assert conn.execute("select %s::text[]", [["whole"]]).fetchone() == (["whole"],)
