"""`kg graph export`: the graph as a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kg.cli.remote import fetch
from lanework.cli.output import say
from lanework.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("graphml", "jsonld", "csv", "cypher"), default="graphml", help="(default: graphml)")
    parser.add_argument("--ontology", metavar="NAME", help="one ontology alone")
    parser.add_argument("-f", "--file", type=Path, metavar="FILE", help="into this file (default: stdout); csv is a zip")


def run(options: argparse.Namespace) -> int:
    params = {"format": options.format} | ({"ontology": options.ontology} if options.ontology else {})
    if options.file is None:
        if options.format == "csv" and sys.stdout.isatty():
            raise ConfigError("csv is a zip of two files: give it a name with --file")
        fetch("/graph/export", sys.stdout.buffer, params=params)
        return 0
    new = options.file.with_name(f"{options.file.name}.part")
    try:
        with new.open("wb") as file:
            fetch("/graph/export", file, params=params)
        new.replace(options.file)
    except OSError as error:
        raise ConfigError(f"--file: cannot write {str(options.file)!r}: {(error.strerror or str(error)).lower()}") from None
    finally:
        new.unlink(missing_ok=True)
    say(f"{options.file}: {options.file.stat().st_size:,} bytes")
    return 0
