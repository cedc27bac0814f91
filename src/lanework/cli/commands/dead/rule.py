"""`lanework dead rule GROUP permanent|transient|throttled`: what such an error means from now on. Without words: the rules."""

from __future__ import annotations

import argparse

from lanework.cli.commands.dead.columns import RULES
from lanework.cli.options import positive
from lanework.cli.output import add_output, say, show
from lanework.cli.session import application, who
from lanework.dead import RULE_CLASSES
from lanework.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", metavar="[GROUP] CLASS", nargs="*", help=f"a group, and one of {', '.join(RULE_CLASSES)}")
    parser.add_argument("--pattern", metavar="TEXT", help="instead of a group: a normalised message, with %% for any text")
    parser.add_argument("--type", metavar="TYPE", help="with --pattern: of this job type (default: of all)")
    parser.add_argument("--remove", type=positive, metavar="RULE", help="remove this rule")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    wanted = 1 if options.pattern else 2
    if options.words and (len(options.words) != wanted or options.words[-1] not in RULE_CLASSES):
        raise ConfigError(f"expected a GROUP (or --pattern) and one of {', '.join(RULE_CLASSES)}, got {' '.join(options.words)!r}")
    with application(options) as app:
        if options.remove:
            app.dead.remove_rule(options.remove, by=who())
            say(f"rule {options.remove} is removed")
            return 0
        number = None
        if options.words:
            group = None if options.pattern else options.words[0]
            number = app.dead.rule(group, options.words[-1], type=options.type, pattern=options.pattern, by=who())
        rules = [one for one in app.dead.rules() if number in (None, one.id)]
    show(options.output, rules, RULES, id_of=lambda it: it.id, none="no rules")
    return 0
