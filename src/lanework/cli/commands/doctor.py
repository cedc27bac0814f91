"""`lanework doctor`: errors and warnings, each with what to do."""

from __future__ import annotations

import argparse

from lanework._words import count
from lanework.cli.output import as_json, plain, say, write
from lanework.cli.session import connection, settings_of
from lanework.cli.text import paint, safe
from lanework.diagnosis import ERROR, OK, WARNING, Finding, examine

_MARKS = {OK: ("ok     ", "green"), WARNING: ("WARNING", "yellow"), ERROR: ("ERROR  ", "red")}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--strict", action="store_true", help="warnings count as errors for the exit code")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="(default: table)")


def run(options: argparse.Namespace) -> int:
    with connection(options) as conn:
        findings = examine(conn, settings_of(options))
    errors, warnings = (sum(one.level == level for one in findings) for level in (ERROR, WARNING))
    if options.output == "json":
        write(as_json({"ok": not errors, "findings": plain(findings)}, indent=2))
    else:
        for finding in findings:
            _print(finding)
    say(f"{count(errors, 'error')}, {count(warnings, 'warning')}")
    return 1 if errors or (options.strict and warnings) else 0


def _print(finding: Finding) -> None:
    word, colour = _MARKS[finding.level]
    write(f"{paint(word, colour)}  {finding.check}: {safe(finding.what)}")
    if finding.remedy:
        write(f"         → {safe(finding.remedy)}")
