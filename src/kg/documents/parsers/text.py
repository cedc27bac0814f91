"""Plain text."""

from __future__ import annotations

import re

from kg.documents.decoding import clean, decode
from kg.parts import Parsed

#: A short first line with an empty one below it.
_TITLE = re.compile(r"\s*([^\n]{1,120})\n[ \t]*\n")
#: What a message begins with: lines of names and values, one of them its subject.
_SUBJECT = re.compile(r"\s*(?:[A-Z][A-Za-z-]{1,40}:[^\n]*\n(?:[ \t][^\n]*\n)*){0,50}?Subject:[ \t]*([^\n]{1,500})\n")


class TextParser:
    media_types = ("text/plain",)

    def parse(self, data: bytes, name: str) -> Parsed:
        text, warnings = decode(data)
        text = clean(text)
        if subject := _SUBJECT.match(text[:20_000]):
            return Parsed(text, subject[1].strip(), {}, tuple(warnings))
        found = _TITLE.match(text)
        title = found[1].strip() if found and found[1].strip()[-1:] not in (".", ",", ";") else ""
        return Parsed(text, title, {}, tuple(warnings))
