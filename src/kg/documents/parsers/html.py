"""HTML, parsed as browsers do: what a reader would see of a page's content, with its headings, lists, tables and code."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kg.documents.decoding import clean, decode
from kg.errors import Unreadable
from kg.parts import Parsed

_OUT = frozenset(
    {
        "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "embed", "canvas", "audio", "video", "map",
        "select", "button", "input", "textarea", "datalist", "dialog", "nav", "head",
    }
)  # fmt: skip
_ROLES_OUT = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar", "dialog", "alertdialog"})
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt", "fieldset",
        "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend",
        "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
    }
)  # fmt: skip
_PLAIN = frozenset({"p", "div", "section", "article"})
#: A table with these in its cells is the layout of a page, or of a part of it.
_LAYOUT = frozenset({"table", "pre", "h1", "h2", "h3", "h4", "h5", "h6"})
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
#: Ends that may be left out do not count: a list of ten thousand `<li>` is flat.
_TAG = re.compile(
    r"<(/?)(?!(?:p|li|dt|dd|t[rdh]|thead|tbody|tfoot|option|br|hr|img|input|meta|link|col|wbr|area|source|base)\b)[a-zA-Z]"
)
#: The parser's time grows with the square of the depth: at this one it is a second.
DEEPEST = 20_000
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")


class HtmlParser:
    media_types = ("text/html", "application/xhtml+xml")

    def parse(self, data: bytes, name: str) -> Parsed:
        named = _CHARSET.search(data[:4096])
        text, warnings = decode(data, named=named[1].decode("ascii") if named else "")
        _check_depth(text)
        tree = LexborHTMLParser(text)
        root, whole = _root(tree)
        page = _Page(keep_footers=not whole)
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
        if (node := tree.css_first(selector)) and (said := _SPACE.sub(" ", node.text(deep=True)).strip()):
            return said[:500]
    return ""


class _Page:
    """Blocks in order. A block is a paragraph, a heading, a table's row or a list's item; `_parts` is the one being read."""

    def __init__(self, *, keep_footers: bool) -> None:
        self._footers = keep_footers
        self._blocks: list[tuple[str, str]] = []  # kind and text
        self._parts: list[str] = []
        self._prefix = ""
        self._kind = "p"
        self._pre = 0
        self._lists = 0
        self._row = False
        self._tables: list[bool] = []  # those around us; whether their rows are lines

    def text(self) -> str:
        """Items and rows on lines of their own, everything else with an empty line between."""
        pieces: list[str] = []
        before = ""
        for kind, text in self._blocks:
            tight = kind == before and kind in ("li", "tr")
            pieces += [("\n" if tight else "\n\n") if pieces else "", text]
            before = kind
        return "".join(pieces)

    def read(self, root: LexborNode) -> None:
        """In document order, without recursion: depth is the document's choice."""
        node: LexborNode | None = root
        top = root.mem_id
        while node is not None:
            if self._enter(node) and (child := node.first_child) is not None:
                node = child
                continue
            while node is not None:
                self._leave(node)
                if node.mem_id == top:  # `==` compares the HTML of both
                    node = None
                    break
                if (following := node.next) is not None:
                    node = following
                    break
                node = node.parent
        self._end()

    def _enter(self, node: LexborNode) -> bool:
        """Whether what is inside is read."""
        tag = node.tag or ""
        if tag == "-text":
            self._say(node.text_content or "")
            return False
        if tag in _OUT or not node.is_element_node or self._is_hidden(node, tag):
            return False
        if tag == "br":
            self._parts.append("\n")
        elif tag in ("td", "th"):
            self._cell()
        elif tag in _BLOCKS and self._row and tag not in _LAYOUT:
            self._parts.append(" ")
        elif tag in _BLOCKS:
            self._end()
            self._begin(tag)
        return True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag not in _BLOCKS or self._is_hidden(node, tag) or (self._row and tag != "tr"):
            return
        if tag == "pre":
            self._pre -= 1
            code = "".join(self._parts).strip("\n")
            self._parts = [f"```\n{code}\n```"] if code.strip() else []
        self._end(raw=tag == "pre")
        if tag in ("ul", "ol"):
            self._lists -= 1
        if tag == "tr":
            self._row = False
        if tag == "table":
            self._tables.pop()
        if not (tag in _PLAIN and self._kind == "li"):
            self._prefix, self._kind = "", "p"

    def _begin(self, tag: str) -> None:
        if tag in _PLAIN and self._kind == "li":
            return  # a paragraph of the item
        self._prefix, self._kind = "", "p"
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._prefix, self._kind = "#" * int(tag[1]) + " ", "h"
        elif tag == "li":
            self._prefix, self._kind = "  " * min(max(self._lists - 1, 0), 8) + "- ", "li"
        elif tag in ("ul", "ol"):
            self._lists += 1
        elif tag == "pre":
            self._pre += 1
        elif tag in ("tr", "caption") and self._tables and self._tables[-1]:
            self._kind, self._row = "tr", tag == "tr"
        if tag in _LAYOUT and self._row:
            self._row = self._tables[-1] = False
        if tag == "table":
            self._tables.append(True)

    def _cell(self) -> None:
        if not self._row:  # a table that is a page's layout: a cell is a block
            self._end()
        elif "".join(self._parts).strip():
            self._parts.append(" | ")

    def _say(self, text: str) -> None:
        if self._pre > 0:
            self._parts.append(text)
        elif text:
            self._parts.append(_SPACE.sub(" ", text))

    def _end(self, *, raw: bool = False) -> None:
        said = "".join(self._parts)
        self._parts = []
        if not raw:
            lines = (re.sub(" +", " ", line).strip() for line in said.split("\n"))
            said = ("\n" if self._kind == "p" else " ").join(line for line in lines if line)
            said = said.rstrip(" |") if self._kind == "tr" else said
        if said:
            self._blocks.append((self._kind, self._prefix + said))
            self._prefix = "  " if self._kind == "li" else ""  # a second paragraph of the same item

    def _is_hidden(self, node: LexborNode, tag: str) -> bool:
        if tag == "footer" and not self._footers:
            return True
        if tag not in _BLOCKS and tag not in ("span", "a"):
            return False
        said = node.attributes
        if not said:
            return False
        return (
            said.get("role") in _ROLES_OUT
            or said.get("aria-hidden") == "true"
            or ("hidden" in said and said["hidden"] != "until-found")
        )
