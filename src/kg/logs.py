"""How the platform's processes speak: lines with time and level, on stderr."""

from __future__ import annotations

import logging
import sys


def speak(*, engine: int = logging.INFO) -> None:
    """`engine`: from which level on the engine is heard."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("lanework").setLevel(engine)
