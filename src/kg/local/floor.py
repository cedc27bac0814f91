"""The floor: how fast text can be embedded and extracted here with nothing around it. The pipeline is measured against it."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

from kg.parts import Embed, Extractor

_PASSAGE = 950
SAMPLE = (
    "A worker claims a job from its lane and runs the handler. While it runs, a heartbeat tells PostgreSQL that the worker lives."
    " When the process dies, the rescuer gives the job back within two seconds, and another worker goes on after the last step.\n\n"
    "The scheduler submits jobs at their times. Maria Keller wrote the first version in Zurich in 2019; the Lanework Foundation"
    " publishes it since. Permits limit how many jobs use a provider at once, and a budget ends a run before it costs too much.\n\n"
) * 8


@dataclass(frozen=True)
class Floor:
    """Characters a core-second."""

    characters: int
    embed: float
    extract: float

    @property
    def together(self) -> float:
        return 1 / (1 / self.embed + 1 / self.extract)


async def measure(embed: Embed, extractor: Extractor, text: str = SAMPLE) -> Floor:
    """By processor time, so that other programs do not count. The models are warm before it begins."""
    await extractor.extract(text[:500])
    await embed.embed([text[:500]])
    begun = time.process_time()
    await extractor.extract(text)
    extracted = time.process_time()
    await embed.embed([text[start : start + _PASSAGE] for start in range(0, len(text), _PASSAGE)])
    embedded = time.process_time()
    return Floor(len(text), len(text) / (embedded - extracted), len(text) / (extracted - begun))


def memory() -> float:
    """The most memory that this process has had, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)
