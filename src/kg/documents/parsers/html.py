"""HTML, parsed as browsers do: what a reader would see of a page's content, with its headings, lists, tables and code."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kg.documents.decoding import clean, decode
from kg.documents.parsers.page import SPACE, Page
from kg.errors import Unreadable
from kg.parts import Parsed

_CHARSET = re.compile(
    rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})|<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})",
    re.IGNORECASE,
)
#: What is written as XML may end an element where it begins. Browsers know that of XML alone: in HTML, `<title/>` has no end.
_XML = re.compile(r"\s*<\?xml\b|.{0,2000}?<html\b[^>]{0,500}xmlns", re.IGNORECASE | re.DOTALL)
_ENDED = re.compile(r"<([a-zA-Z][\w:.-]{0,30})((?:\s[^<>]{0,2000})?)/>")
_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"})
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
        text, warnings = decode(data, named=(named[1] or named[2]).decode("ascii") if named else "")
        if _XML.match(text):
            text = _ENDED.sub(_with_its_end, text)
        _check_depth(text)
        tree = LexborHTMLParser(text)
        root, whole = _root(tree)
        page = Page(keep_footers=not whole)
        if root is not None:
            page.read(root)
        said = clean(page.text())
        if not said.strip() and (why := _why_nothing(tree)):
            raise Unreadable(f"there is no text in it: {why}", reason="no_text")
        return Parsed(said, clean(_title(tree)), {}, tuple(warnings))


def _with_its_end(found: re.Match[str]) -> str:
    return found[0] if found[1].lower() in _VOID else f"<{found[1]}{found[2]}></{found[1]}>"


def _why_nothing(tree: LexborHTMLParser) -> str:
    if frames := [said for node in tree.css("frame, iframe") if (said := node.attributes.get("src"))]:
        return f"it shows other pages in frames: {', '.join(frames[:5])[:500]}"
    return "it is a page that scripts write when somebody looks at it" if tree.css_first("script") is not None else ""


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
