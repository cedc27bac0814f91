"""The worker of `kg up`: `lanework worker kg.app:work`, ended with its parent."""

from __future__ import annotations

import sys

from kg.parent import die_with_parent
from lanework import cli

if __name__ == "__main__":
    die_with_parent()
    sys.exit(cli.main(["worker", "kg.app:work"]))
