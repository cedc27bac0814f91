"""`lanework`, the command line: data on stdout, talk on stderr, exit codes as in `lanework --help`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from lanework.cli.parser import parse
from lanework.cli.text import redact
from lanework.errors import LaneworkError

__all__ = ["main"]

INTERRUPTED = 130
TERMINATED = 143


def main(argv: Sequence[str] | None = None, parse: Callable[[Sequence[str]], argparse.Namespace] = parse) -> int:
    """Runs one command and answers its exit code. Expected errors are one line, never a traceback."""
    if argv is None:
        _own_the_process()
    try:
        options = parse(sys.argv[1:] if argv is None else argv)
        code: int = options.run(options)
        sys.stdout.flush()
    except LaneworkError as error:
        return _say(f"{error.code}: {error}", error.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:
        if not _is_from_database(error):
            raise
        return _say(f"LW-000: the database refused: {str(error).strip()}", 3)
    return code


def _own_the_process() -> None:
    """No character that a terminal cannot show ends a command, and SIGTERM leaves through the doors."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _leave)


def _leave(*_: object) -> NoReturn:
    raise SystemExit(TERMINATED)


def _say(text: str, code: int) -> int:
    sys.stderr.write(f"{redact(' '.join(text.split()))}\n")
    return code


def _reader_left() -> int:
    """`| head` has read enough. What is still in the buffer goes nowhere, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _is_from_database(error: Exception) -> bool:
    driver = sys.modules.get("psycopg")
    return driver is not None and isinstance(error, driver.Error)
