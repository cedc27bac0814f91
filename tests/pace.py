"""How much time things may take on a machine that has more to do than this.

A promise like "within two seconds" is one for a machine with a free core. The tests themselves keep more processes busy than a
small machine has cores, and then a bound is stretched by as much as there are too many.
"""

from __future__ import annotations

import os
from pathlib import Path

CORES = len(os.sched_getaffinity(0))


def stretch() -> float:
    """1 on a machine that has nothing else to do; 4 where four times as many want to run as there are cores."""
    now = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
    return max(1.0, os.getloadavg()[0] / CORES, now / CORES)


def bound(seconds: float) -> float:
    return seconds * stretch()
