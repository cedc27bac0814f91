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
    "jobs": "list, show, wait for, cancel and retry jobs",
    "dead": "dead letters: groups, retry, archive, rules, who is told",
    "lanes": "list, add, change, drain, freeze and remove lanes",
    "approvals": "who needs an approval: list, set and remove the rules",
    "schedules": "list, add, change, pause, run and remove schedules",
    "maintenance": "the engine's housekeeping: list, run, results",
    "permits": "locks and limits: who holds them, and how many there are",
    "rates": "requests and tokens in a window: list, change, pause",
    "budgets": "what jobs may spend",
    "workers": "list, drain and resume workers",
    "operations": "acts on many jobs: list, show, stop",
    "audit": "what operators did",
    "events": "what happens, as it happens",
    "metrics": "counts and times per lane and type",
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
        "explain": "why a job is not running now, and what would change it",
        "logs": "what a job has written",
        "wait": "wait until jobs have ended",
        "cancel": "cancel jobs, by id or by filter",
        "priority": "move waiting jobs in the queue, by id or by filter",
        "approve": "let jobs go that wait for an approval, by id or by filter",
        "reject": "cancel jobs that wait for an approval, with a reason",
        "retry": "send failed jobs back to the queue, by id or by filter",
    },
    "dead": {
        "list": "groups of the same error; --jobs for the jobs",
        "show": "a group and its newest traceback",
        "retry": "send a group back to the queue: one goes ahead",
        "archive": "take dead letters out of the groups, and keep them",
        "rule": "say what an error means: permanent, transient, throttled",
        "redrives": "how far those that were sent back are; stop one",
        "webhooks": "who is told of dead letters, and what was sent",
    },
    "lanes": {
        "list": "lanes with their slots and types",
        "add": "create a lane",
        "explain": "what keeps a lane from starting more",
        "set": "change a lane; acts within one poll",
        "drain": "start nothing more in a lane, or anywhere; running jobs finish",
        "resume": "start jobs in a lane, or everywhere, again",
        "freeze": "hold lanes for a time, whatever their settings",
        "thaw": "end a freeze",
        "remove": "remove a lane",
    },
    "schedules": {
        "list": "schedules with their times and state",
        "show": "all about a schedule, its next times and last ticks",
        "add": "create a schedule",
        "set": "change a schedule",
        "pause": "no more ticks until it is resumed",
        "resume": "go on from now",
        "run": "run now, as if its time had come",
        "next": "the times to come",
        "history": "ticks, those that made no job too",
        "reset": "as code declares it, whatever operators did",
        "remove": "remove a schedule; its jobs go on",
    },
    "maintenance": {
        "list": "tasks, when they run, how they went",
        "run": "run a task now",
        "enable": "let a task run when it is due",
        "disable": "keep a task from running",
        "results": "recent runs",
    },
    "permits": {
        "list": "permits with what is held of them",
        "show": "who holds a permit, and who waits",
        "set": "change a capacity; acts at once",
        "release": "take a hold with a token away",
    },
    "rates": {
        "list": "rates with their limits and pauses",
        "set": "change a rate",
        "pause": "grant nothing for some time",
        "resume": "end a pause",
    },
    "budgets": {
        "list": "budgets with what is spent",
        "set": "create or change a budget",
        "remove": "remove a budget: no limit any more",
    },
    "workers": {
        "list": "who works, for which lanes, last heard of when",
        "drain": "claim nothing more in a worker; running jobs finish",
        "resume": "let a drained worker claim again",
    },
    "operations": {
        "list": "acts on many jobs, newest first",
        "show": "how far an act is",
        "stop": "go no further; what is done stays done",
    },
    "approvals": {
        "rules": "the rules, those of operators first",
        "set": "set the rule of a type, an owner, both, or all",
        "remove": "remove a rule",
    },
}
EPILOG = """exit codes:
  0  done                        5  no such job, lane, …
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
            found, unknown = super().parse_known_args(args, namespace)
            if unknown:  # said here, with this command's usage beside it
                self.error(f"unrecognized arguments: {' '.join(unknown)}")
            return found, []
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
