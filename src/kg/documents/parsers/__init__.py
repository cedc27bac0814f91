"""Who reads which media type. `register` adds your own, or replaces one of these.

A parser is sent to a child process (pickled), so its class stands in a module that can be imported there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from importlib import import_module

from kg.parts import Parser
from lanework.errors import ConfigError

logger = logging.getLogger("kg")

#: Entry points of other packages: each names a parser, or a function that calls `register`.
GROUP = "kg.parsers"

TEXT, MARKDOWN, HTML, PDF = "text/plain", "text/markdown", "text/html", "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

#: Where the parsers of this package stand: the child imports the one that it needs.
_OWN = {
    TEXT: "kg.documents.parsers.text:TextParser",
    MARKDOWN: "kg.documents.parsers.markdown:MarkdownParser",
    HTML: "kg.documents.parsers.html:HtmlParser",
    "application/xhtml+xml": "kg.documents.parsers.html:HtmlParser",
    PDF: "kg.documents.parsers.pdf:PdfParser",
    DOCX: "kg.documents.parsers.docx:DocxParser",
}
_SUFFIXES = {
    ".txt": TEXT, ".text": TEXT, ".log": TEXT, ".rst": TEXT, ".adoc": TEXT, ".org": TEXT, ".tex": TEXT,
    ".md": MARKDOWN, ".markdown": MARKDOWN, ".mdown": MARKDOWN,
    ".html": HTML, ".htm": HTML, ".xhtml": HTML,
    ".pdf": PDF, ".docx": DOCX, ".docm": DOCX, ".dotx": DOCX, ".dotm": DOCX,
}  # fmt: skip
_registered: dict[str, Parser] = {}
_registered_suffixes: dict[str, str] = {}
_loaded = False


def register(parser: Parser, *, suffixes: Iterable[str] = ()) -> Parser:
    """For all its media types, in place of whoever read them; names that end in `suffixes` have the first of them."""
    if isinstance(parser, type) or not isinstance(parser, Parser) or not parser.media_types:
        raise ConfigError(f"expected a parser (an object with media_types and parse), got {parser!r}")
    for suffix in suffixes:
        if not suffix.startswith("."):
            raise ConfigError(f"a suffix begins with a dot, got {suffix!r}")
        _registered_suffixes[suffix.lower()] = parser.media_types[0]
    for media_type in parser.media_types:
        _registered[media_type.lower()] = parser
    return parser


def find(media_type: str) -> Parser | None:
    _load()
    if media_type in _registered:
        return _registered[media_type]
    return _import(_OWN[media_type]) if media_type in _OWN else None


def own_path(media_type: str) -> str | None:
    """`module:class` of a parser of this package, unless somebody has put his own in its place."""
    _load()
    return None if media_type in _registered else _OWN.get(media_type)


def is_known(media_type: str) -> bool:
    _load()
    return media_type in _registered or media_type in _OWN


def suffixes() -> dict[str, str]:
    """Suffix → media type, of everything that can be read."""
    _load()
    return {**_SUFFIXES, **_registered_suffixes}


def media_types() -> list[str]:
    _load()
    return sorted({*_OWN, *_registered})


def _import(path: str) -> Parser:
    module, _, name = path.partition(":")
    found: Parser = getattr(import_module(module), name)()
    return found


def _load() -> None:
    """Parsers of other packages, once. One that cannot be imported is told and left out: the others still read."""
    global _loaded  # noqa: PLW0603 - once for the process
    if _loaded:
        return
    _loaded = True
    from importlib.metadata import entry_points  # noqa: PLC0415 - the child, which never gets here, need not pay for it

    for point in entry_points(group=GROUP):
        try:
            found = point.load()
            found() if callable(found) and not isinstance(found, Parser) else register(found)
        except Exception:
            logger.exception("the parser %s of %s cannot be used", point.name, point.value)
