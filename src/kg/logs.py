"""How the platform's processes speak: lines with time and level, on stderr."""

from __future__ import annotations

import logging
import sys


def speak(*, engine: int = logging.INFO) -> None:
    """`engine`: from which level on the engine is heard."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("lanework").setLevel(engine)
    quiet()


def quiet() -> None:
    """Not a line for every request to a provider: the ledger has them."""
    for name in ("httpx", "httpx2", "httpcore", "openai", "anthropic"):
        logging.getLogger(name).setLevel(logging.WARNING)
