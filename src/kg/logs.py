"""How the platform's processes speak: lines with time and level, on stderr."""

from __future__ import annotations

import logging
import sys


def speak() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
