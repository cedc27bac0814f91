"""What a reader would see of a page's elements: headings, paragraphs, lists, tables and code, as blocks in order."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from kg.documents.parsers.ordinals import letters, roman
from kg.documents.parsers.visibility import declarations, is_hidden, text_is_shown

_OUT = frozenset(
    {
        "script", "style", "noscript", "noframes", "template", "svg", "math", "iframe", "object", "embed", "canvas", "audio",
        "video", "map", "select", "button", "input", "textarea", "datalist", "dialog", "nav", "head",
    }
)  # fmt: skip
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
#: A table in a cell of another one is read as a part of its row if it is no larger; else it stands for itself.
_SMALL_TABLE, _TABLES_LOOKED_INTO = 500, 4
#: Where a table begins that is read as a part of a row.
_FRESH = "  "
SPACE = re.compile(r"[ \t\n\r\f\xa0]+")


class _List:
    """A list that is open: what its items begin with."""

    def __init__(self, node: LexborNode) -> None:
        said = node.attributes
        self._numbered = node.tag == "ol"
        self._step = -1 if "reversed" in said else 1
        self._kind = said.get("type") or "1"
        first = _number(said.get("start"))
        if first is None and self._numbered:
            first = 1 if self._step == 1 else sum(1 for child in node.iter() if child.tag == "li")
        self._next = first or 0

    def mark(self, item: LexborNode) -> str:
        if not self._numbered:
            return "- "
        number = _number(item.attributes.get("value"))
        number = self._next if number is None else number
        self._next = number + self._step
        written = {"a": letters, "i": roman}.get(self._kind.lower(), str)(number) or str(number)
        return f"{written.upper() if self._kind in ('A', 'I') else written}. "


def _number(said: str | None) -> int | None:
    return int(said) if said and re.fullmatch(r"\s*[-+]?[0-9]{1,9}\s*", said) else None


class Page:
    """Blocks in order. A block is a paragraph, a heading, a table's row or a list's item; `_parts` is the one being read."""

    def __init__(self, *, keep_footers: bool) -> None:
        self._footers = keep_footers
        self._blocks: list[tuple[str, str]] = []  # kind and text; without one: rows of two tables are not one
        self._parts: list[str] = []
        self._prefix = ""
        self._kind = "p"
        self._pre = 0
        self._lists: list[_List] = []
        self._row = False
        self._tables: list[bool] = []  # those around us; whether their rows are lines
        self._inner = 0  # tables that are read as a part of a row
        self._shown = [(-1, (True, True))]  # elements that show or hide their letters, and how

    def text(self) -> str:
        """Items and rows on lines of their own, everything else with an empty line between."""
        pieces: list[str] = []
        before = ""
        for kind, text in self._blocks:
            if not text:
                before = ""
                continue
            tight = kind == before and kind in ("li", "tr")
            pieces += [("\n" if tight else "\n\n") if pieces else "", text]
            before = kind
        return "".join(pieces)

    def read(self, root: LexborNode) -> None:
        """In document order, without recursion: depth is the document's choice."""
        node: LexborNode | None = root
        top = root.mem_id
        while node is not None:
            entered = self._enter(node)
            if entered and (child := node.first_child) is not None:
                node = child
                continue
            if entered:
                self._leave(node)
            node = self._following(node, top)
        self._end()

    def _following(self, node: LexborNode, top: int) -> LexborNode | None:
        """The next one in the document that is not inside this one; those that end before it are left."""
        above: LexborNode | None = node
        while above is not None and above.mem_id != top:  # `==` compares the HTML of both
            if (following := above.next) is not None:
                return following
            above = above.parent
            if above is not None:
                self._leave(above)
        return None

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
        elif self._inner or (tag == "table" and self._row and self._is_small(node)):
            self._enter_inner(tag)
        elif tag in ("td", "th"):
            self._cell()
        elif tag in _BLOCKS and self._row and tag not in _LAYOUT:
            self._parts.append(" ")
        elif tag in _BLOCKS:
            self._end()
            self._begin(tag, node)
        return True

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if node.mem_id == self._shown[-1][0]:
            self._shown.pop()
        if self._inner:
            self._inner -= tag == "table"
            return
        if tag not in _BLOCKS or (self._row and tag != "tr"):
            return
        if tag == "pre":
            self._pre -= 1
            code = "".join(self._parts).strip("\n")
            self._parts = [f"```\n{code}\n```"] if code.strip() else []
        self._end(raw=tag == "pre")
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag == "tr":
            self._row = False
        if tag == "table":
            self._tables.pop()
            self._blocks.append(("table", ""))
        if not (tag in _PLAIN and self._kind == "li"):
            self._prefix, self._kind = "", "p"

    def _is_small(self, table: LexborNode) -> bool:
        """Whether its rows are a part of the cell it stands in."""
        if len(self._tables) > _TABLES_LOOKED_INTO or len(table.text(deep=True)) > _SMALL_TABLE:
            return False
        inside = (one.mem_id for one in table.css("h1, h2, h3, h4, h5, h6, pre, table"))
        return all(one == table.mem_id for one in inside)

    def _enter_inner(self, tag: str) -> None:
        """Cells with commas, rows with semicolons between them."""
        if tag == "table":
            self._inner += 1
            self._parts.append(_FRESH)
        if tag in ("td", "th", "tr"):
            self._separate("; " if tag == "tr" else ", ")
        elif tag in _BLOCKS:
            self._parts.append(" ")

    def _separate(self, mark: str) -> None:
        """Not at the beginning, and not twice."""
        before = next(one for one in reversed(self._parts) if one == _FRESH or not one.isspace())
        if before not in (_FRESH, "; ", ", "):
            self._parts.append(mark)

    def _begin(self, tag: str, node: LexborNode) -> None:
        if tag in _PLAIN and self._kind == "li":
            return  # a paragraph of the item
        self._prefix, self._kind = "", "p"
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._prefix, self._kind = "#" * int(tag[1]) + " ", "h"
        elif tag == "li":
            indent = "  " * min(max(len(self._lists) - 1, 0), 8)
            self._prefix, self._kind = indent + (self._lists[-1].mark(node) if self._lists else "- "), "li"
        elif tag in ("ul", "ol"):
            self._lists.append(_List(node))
        elif tag == "pre":
            self._pre += 1
        elif tag in ("tr", "caption") and self._tables and self._tables[-1]:
            self._kind, self._row = "tr", tag == "tr"
        if tag in _LAYOUT and self._row:
            self._row = False
            self._tables[-1] = tag == "table"  # only this row of it is no line
        if tag == "table":
            self._tables.append(True)
            self._blocks.append(("table", ""))

    def _cell(self) -> None:
        if not self._row:  # a table that is a page's layout: a cell is a block
            self._end()
        elif any(not one.isspace() for one in self._parts):
            self._parts.append(" | ")

    def _say(self, text: str) -> None:
        if self._shown[-1][1] != (True, True):
            return
        if self._pre > 0:
            self._parts.append(text)
        elif text:
            self._parts.append(SPACE.sub(" ", text))

    def _end(self, *, raw: bool = False) -> None:
        said = "".join(self._parts)
        self._parts = []
        if not raw:
            lines = (re.sub(" +", " ", line).strip() for line in said.split("\n"))
            said = ("\n" if self._kind == "p" else " ").join(line for line in lines if line)
            said = said.rstrip(" |") if self._kind == "tr" else said
        if said:
            self._blocks.append((self._kind, self._prefix + said))
            self._prefix = " " * len(self._prefix) if self._kind == "li" else ""  # a second paragraph of the same item

    def _is_hidden(self, node: LexborNode, tag: str) -> bool:
        if tag == "footer" and not self._footers:
            return True
        said = node.attributes
        if not said:
            return False
        style = declarations(said.get("style") or "")
        if is_hidden(said, style):
            return True
        around = self._shown[-1][1]
        if (shown := text_is_shown(style, around=around)) != around:
            self._shown.append((node.mem_id, shown))  # until it is left
        return False
