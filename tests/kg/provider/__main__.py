from __future__ import annotations

import argparse
import asyncio
import sys

from tests.kg import provider
from tests.kg.provider.server import serve


def main() -> None:
    parser = argparse.ArgumentParser(description=provider.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    try:
        asyncio.run(serve(parser.parse_args().port))
    except KeyboardInterrupt:
        sys.exit(0)


main()
