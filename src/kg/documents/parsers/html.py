"""HTML, parsed as browsers do: what a reader would see of a page's content, with its headings, lists, tables and code."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kg.documents.decoding import clean, decode
from kg.documents.parsers.page import SPACE, Page
from kg.errors import Unreadable
from kg.parts import Parsed

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
#: Ends that may be left out do not count: a list of ten thousand `<li>` is flat.
_TAG = re.compile(
    r"<(/?)(?!(?:p|li|dt|dd|t[rdh]|thead|tbody|tfoot|option|br|hr|img|input|meta|link|col|wbr|area|source|base)\b)[a-zA-Z]"
)
#: The parser's time grows with the square of the depth: at this one it is a second.
DEEPEST = 20_000


class HtmlParser:
    media_types = ("text/html", "application/xhtml+xml")

    def parse(self, data: bytes, name: str) -> Parsed:
        named = _CHARSET.search(data[:4096])
        text, warnings = decode(data, named=named[1].decode("ascii") if named else "")
        _check_depth(text)
        tree = LexborHTMLParser(text)
        root, whole = _root(tree)
        page = Page(keep_footers=not whole)
        if root is not None:
            page.read(root)
        return Parsed(clean(page.text()), clean(_title(tree)), {}, tuple(warnings))


def _check_depth(text: str) -> None:
    depth = 0
    for tag in _TAG.finditer(text):
        depth += -1 if tag[1] else 1
        if depth > DEEPEST:
            raise Unreadable(f"its elements are nested more than {DEEPEST:,} deep", reason="too_deep")
        depth = max(depth, 0)


def _root(tree: LexborHTMLParser) -> tuple[LexborNode | None, bool]:
    """The main content if the page names it, else all of it."""
    for selector in ("main", "[role=main]", "article"):
        found = tree.css(selector)
        if len(found) == 1 and len(found[0].text(deep=True)) > 200:
            return found[0], False
    return tree.body or tree.root, True


def _title(tree: LexborHTMLParser) -> str:
    for selector in ("head > title", "title", "h1"):
        if (node := tree.css_first(selector)) and (said := SPACE.sub(" ", node.text(deep=True)).strip()):
            return said[:500]
    return ""
