"""The tree of commands. A command's module is imported only when the command is used."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from lanework.cli.text import redact

#: Command → what it does; a command with commands of its own has them in GROUPS.
COMMANDS = {
    "worker": "work jobs until told to stop",
    "status": "lanes, queues, running jobs and workers on one screen",
    "jobs": "list, show, wait for and cancel jobs",
    "lanes": "list, add, change, drain and remove lanes",
    "workers": "list workers",
    "migrate": "bring the database's schema up to date",
    "doctor": "look for trouble, and say what to do about it",
    "verify": "prove that the database's rows keep the engine's promises",
    "config": "every setting, its value, and where that came from",
    "bench": "measure the engine, with its peers beside it",
}
GROUPS = {
    "jobs": {
        "list": "jobs, newest first",
        "show": "all about one or more jobs",
        "logs": "what a job has written",
        "wait": "wait until jobs have ended",
        "cancel": "cancel jobs, by id or by filter",
    },
    "lanes": {
        "list": "lanes with their slots and types",
        "add": "create a lane",
        "set": "change a lane; acts within one poll",
        "drain": "start nothing more in a lane; running jobs finish",
        "resume": "start jobs in a lane again",
        "remove": "remove a lane",
    },
}
EPILOG = """exit codes:
  0  done                        5  no such job or lane
  1  failed; or doctor and       6  not finished in time
     verify found errors         7  the job failed
  2  wrong usage or setting      8  the job was cancelled
  3  no (safe) database        130  interrupted
  4  not the right schema

The database is --dsn, else LANEWORK_DSN, else an embedded PostgreSQL in the
folder LANEWORK_DATA. NO_COLOR turns colours off; without a terminal there are
none, and no questions."""


class LazyParser(argparse.ArgumentParser):
    """`module` has `configure(parser)` and `run(options) -> exit code`; with `RAW`, it parses its words itself."""

    module = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.module:
            command = import_module(self.module)
            self.module = ""
            if getattr(command, "RAW", False):
                return argparse.Namespace(run=command.run, words=list(args)), []
            command.configure(self)
            self.set_defaults(run=command.run)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        super().error(redact(message))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    return build().parse_args(argv)


def build() -> LazyParser:
    parser = LazyParser(
        "lanework", description="Durable jobs in worker lanes on PostgreSQL.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--dsn", metavar="ADDRESS", help="the PostgreSQL to use, before or after the command")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    add_commands(parser, COMMANDS, "lanework.cli.commands", GROUPS)
    return parser


def add_commands(
    parser: argparse.ArgumentParser, commands: Mapping[str, str], package: str, groups: Mapping[str, Mapping[str, str]]
) -> None:
    places = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=LazyParser)
    for name, help in commands.items():
        place = places.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        place.add_argument("--dsn", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        if name in groups:
            add_commands(place, groups[name], f"{package}.{name}", {})
        else:
            place.module = f"{package}.{name}"


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from importlib.metadata import version  # noqa: PLC0415 - only who asks pays for it

        sys.stdout.write(f"lanework {version('lanework')}\n")
        parser.exit()
