"""Which vectors may be near: an answer that depends on the two of them alone.

The nearest k of a name change with every name that comes; an index that approximates them remembers in which order they came. So
neither can say which names are compared, if the graph is not to depend on the order of chunks. Instead each vector is cut by 1024
planes through the origin. Two vectors share a band of 16 with a chance that rises steeply with their cosine: of pairs at 0.75 about
two in three share one of the 64 bands, at 0.85 nineteen of twenty, at 0.9 nearly all; of unrelated ones a few in a thousand.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

BANDS, WIDTH, BITS = 64, 16, 256
#: Below this cosine a shared band is chance.
COSINE = 0.7
#: So many of the 256 bits may differ: at a cosine of 0.7 it is 65 on average, of unrelated vectors 110 to 125.
DIFFERENT = 96

_Plane = tuple[int, int, int, int]


@dataclass(frozen=True)
class Sketch:
    bits: str
    bands: list[int]


def sketch(vector: Sequence[float], *, ontology: int, space: int) -> Sketch:
    signs = [vector[a] + vector[b] > vector[c] + vector[d] for a, b, c, d in planes(len(vector))]
    text = "".join("1" if sign else "0" for sign in signs)
    salt = zlib.crc32(f"{ontology}:{space}".encode())  # ontologies do not meet in the index
    bands = [((band << WIDTH | int(text[band * WIDTH : (band + 1) * WIDTH], 2)) ^ salt) & 0x7FFFFFFF for band in range(BANDS)]
    return Sketch("".join(text[band * WIDTH : band * WIDTH + BITS // BANDS] for band in range(BANDS)), bands)


@cache
def planes(dimensions: int) -> list[_Plane]:
    """A plane's normal has four coordinates that are not zero: as good as a dense one for vectors that are dense, and cheap. They
    are stored with the rows: the same in every process, for ever."""
    return [_plane(number, dimensions) for number in range(BANDS * WIDTH)]


def _plane(number: int, dimensions: int) -> _Plane:
    drawn = hashlib.sha256(f"kg plane {number} of {dimensions}".encode()).digest()
    a, b, c, d = (int.from_bytes(drawn[at : at + 8], "big") % dimensions for at in (0, 8, 16, 24))
    return a, b, c, d
