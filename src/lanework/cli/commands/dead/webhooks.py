"""`lanework dead webhooks`: who is told of dead letters. A secret comes from a file: arguments are for everybody to see."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lanework.cli.commands.dead.columns import MESSAGES, NOTIFIERS
from lanework.cli.output import add_output, say, show
from lanework.cli.session import application, who
from lanework.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", nargs=2, metavar=("NAME", "URL"), help="add a webhook, or change its address")
    parser.add_argument("--secret-file", metavar="FILE", help="with --set: the secret to sign with; - reads it from stdin")
    parser.add_argument("--every", type=int, metavar="S", help="with --set: tell of one group at most once in so many seconds")
    parser.add_argument("--enable", metavar="NAME")
    parser.add_argument("--disable", metavar="NAME", help="dead letters from now on are not told to it")
    parser.add_argument("--remove", metavar="NAME", help="what waits for it is given up")
    parser.add_argument("--messages", action="store_true", help="the messages: waiting, sent and given up")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    hooks_of = {"--enable": options.enable, "--disable": options.disable, "--remove": options.remove, "--set": options.set}
    if sum(value is not None for value in hooks_of.values()) > 1:
        raise ConfigError("say one of --set, --enable, --disable and --remove")
    with application(options) as app:
        hooks = app.dead.webhooks
        if options.set:
            hooks.set(*options.set, secret=_secret(options.secret_file), every=options.every, by=who())
        elif options.enable or options.disable:
            hooks.set(options.enable or options.disable, enabled=options.enable is not None, by=who())
        elif options.remove:
            hooks.remove(options.remove, by=who())
        if options.messages:
            show(options.output, app.dead.notifications(), MESSAGES, id_of=lambda it: it.id, none="no messages")
            return 0
        found = hooks.list()
    show(options.output, found, NOTIFIERS, id_of=lambda it: it.name, none="nobody is told")
    for one in found:
        if one.enabled and not one.served:
            say(f"no running worker can send to {one.name}")
    return 0


def _secret(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        return (sys.stdin.readline() if file == "-" else Path(file).read_text()).strip()
    except OSError as error:
        raise ConfigError(f"--secret-file: {error}") from None
