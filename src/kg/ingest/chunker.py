"""Text to chunks with exact offsets, in time that grows with the text and nothing else."""

from __future__ import annotations

import re
from functools import lru_cache

from kg.ingest import seams
from kg.parts import Chunk
from lanework.errors import ConfigError


class WordChunker:
    """Chunks of about `target` words, `least` to `most` of it, of which `overlap` words stand in the chunk before too. No
    chunk has more than `characters` characters, whatever a word is. Cut at a heading or paragraph, then sentence, then
    pause, then hard."""

    def __init__(
        self, target: int = 1000, *, least: float = 0.8, most: float = 1.5, overlap: int = 200, characters: int = 12_000
    ) -> None:
        self.target, self.overlap, self.characters = target, overlap, characters
        self._least, self._most = int(target * least), int(target * most)
        if not (0 < self._least <= target <= self._most) or not 0 <= overlap * 2 <= self._least or characters < 100:
            raise ConfigError(
                f"chunks of {target} words: expected least ≤ 1 ≤ most, an overlap of at most half of the least "
                f"({self._least // 2} words) and at least 100 characters, got {least}, {most}, {overlap} and {characters}"
            )

    def chunks(self, text: str) -> list[Chunk]:
        found: list[Chunk] = []
        start = own = 0
        while own < len(text):
            end = self._end(text, start)
            found.append(Chunk(len(found), start, own, end, text[start:end]))
            start, own = self._overlap_start(text, own, end), end
        return found

    def _end(self, text: str, start: int) -> int:
        """Where the chunk that begins at `start` ends. All that is looked at are the next few chunks' characters."""
        far = min(len(text), start + 2 * self.characters)
        edge = min(len(text), start + self.characters)
        most = after_words(text, start, edge, self._most)
        if edge == len(text) and (most == edge or not text[most:edge].strip()):
            return edge
        low = min(after_words(text, start, edge, self._least), start + self.characters // 2)
        wanted = min(after_words(text, start, edge, self.target), start + self.characters * 3 // 4)
        if far == len(text):
            most = max(low, min(most, self._before_tail(text, low, far)))
        return seams.nearest(text, low - 1, most, min(wanted, most))

    def _before_tail(self, text: str, low: int, end: int) -> int:
        """The last place that leaves enough for a chunk after it: no crumbs at the end."""
        places = [found.start() for found in seams.words.finditer(text, low, end)]
        left = self._least - self.overlap
        return places[-left] if len(places) >= left else low

    def _overlap_start(self, text: str, own: int, end: int) -> int:
        """`overlap` words before `end`, at the beginning of a sentence if there is one about there; within the chunk's own part."""
        if not self.overlap or end == len(text):
            return end
        low = max(own, end - self.characters // 5)
        places = [found.start() for found in seams.words.finditer(text, low, end)]
        if not places:
            return end
        wanted = places[-min(self.overlap, len(places))]
        first = places[-min(self.overlap * 5 // 4, len(places))]
        latest = places[-min(max(self.overlap * 3 // 4, 1), len(places))]
        return seams.nearest(text, first - 1, latest, wanted, (seams.BLOCK, seams.SENTENCE)) if first else wanted


def after_words(text: str, start: int, edge: int, count: int) -> int:
    """The place behind `count` words from `start`, at most `edge`."""
    found = _words(count).match(text, start, edge)
    return found.end() if found else edge


@lru_cache(maxsize=64)
def _words(count: int) -> re.Pattern[str]:
    """One match in C instead of a loop over words; possessive, so that it never tries again."""
    return re.compile(rf"(?:\s*+{seams.WORD}){{{count}}}+")
