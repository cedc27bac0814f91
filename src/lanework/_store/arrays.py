"""Lists as parameters: what statements are given most of, and what psycopg writes element by element, a microsecond or four each.

Lists of the plain types are written here in one go, as text whose type the statement's cast says. All others are psycopg's.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.adapt import PyFormat
from psycopg.types.array import ListDumper

_PLAIN = {int, str, bytes, float, bool, type(None)}


class PlainListDumper(ListDumper):
    def get_key(self, obj: list[Any], format: PyFormat) -> Any:
        return self.cls if _PLAIN.issuperset(map(type, obj)) else super().get_key(obj, format)

    def dump(self, obj: list[Any]) -> Any:
        if self.sub_dumper is not None:
            return super().dump(obj)
        text = f"{{{','.join(map(_written, obj))}}}"
        if "\0" in text:
            raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
        return text.encode()


def _written(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    return str(value)
