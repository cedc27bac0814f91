"""The tables of the documentation that are made from the code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from kg.access.permissions import PERMISSIONS
from kg.app import make_api
from kg.cli import parser as platform
from kg.config import KgSettings
from kg.errors import KgError
from kg.errors import __doc__ as platform_error_tree
from lanework import Lanework, retries
from lanework.api import Policy, routes_of
from lanework.cli.parser import COMMANDS, GROUPS
from lanework.config import Settings
from lanework.errors import LaneworkError
from lanework.errors import __doc__ as error_tree

ROOT = Path(__file__).parents[1]


def settings_table() -> str:
    rows = [f"| `{row['name']}` | `{row['env']}` | {_default(row)} | {_cell(row['help'])} |" for row in Settings.describe()]
    return "\n".join(["| setting | environment | default | meaning |", "|---|---|---|---|", *rows])


def _default(row: dict[str, object]) -> str:
    value = row["default"]
    if row["name"] == "max_children":
        return "one per core"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        value = f"{value:g}"
    return "none" if value is None else f"{value} {row['unit']}".strip()


def platform_settings_table() -> str:
    rows = [f"| `{row['env']}` | {_default(row) or 'none'} | {_cell(row['help'])} |" for row in KgSettings.describe()]
    return "\n".join(["| environment | default | meaning |", "|---|---|---|", *rows])


def permissions_table() -> str:
    rows = [f"| `{name}` | {_cell(what)} |" for name, what in PERMISSIONS.items()]
    return "\n".join(["| permission | allows to |", "|---|---|", *rows])


def roles_table() -> str:
    """From the migration that makes them: what each role adds to the roles that it includes."""
    sql = (ROOT / "src/kg/_store/migrations/0001_access.sql").read_text()
    described = dict(re.findall(r"\('(\w+)', '([^']+)', true\)", sql))
    parts = {name: re.findall(r"\w+", inside) for name, inside in re.findall(r"\('(\w+)', array\[([^\]]+)\]\)", sql)}
    given: dict[str, list[str]] = {name: [] for name in described}
    for part, permission, scope in re.findall(r"\('(\w+)', '([a-z]+:[a-z]+)', '(all|own)'\)", sql):
        given[part].append(f"`{permission}`" + (" (own)" if scope == "own" else ""))
    rows = [
        f"| `{name}` | {what} | {', '.join(f'`{one}`' for one in parts[name] if one != name)} | {', '.join(given[name])} |"
        for name, what in described.items()
    ]
    return "\n".join(["| role | | has all of | and |", "|---|---|---|---|", *rows])


def codes_table(of: str = "lanework.") -> str:
    rows = [
        f"| {kind.code} | `{kind.__name__}` | {kind.exit_code} | {kind.http_status} | {_cell(_meaning(kind))} |"
        for kind in all_errors(of)
    ]
    return "\n".join(["| code | exception | exit code | HTTP | meaning |", "|---|---|---|---|---|", *rows])


def platform_codes_table() -> str:
    return codes_table("kg.")


def all_errors(of: str = "lanework.") -> list[type[LaneworkError]]:
    found, queue = [], [LaneworkError]
    while queue:
        kind = queue.pop()
        found.append(kind)
        queue += kind.__subclasses__()
    # but for those that the command line makes of a server's answer: they are there once somebody has asked one
    made = "kg.cli.remote"
    ours = [
        kind
        for kind in found
        if kind.__module__.startswith(of) and kind.__module__ != made and kind not in (LaneworkError, KgError)
    ]
    return sorted(ours, key=lambda kind: kind.code)


def _meaning(kind: type[LaneworkError]) -> str:
    """From the tree in the module's docstring, else the first sentence of the class's own."""
    line = re.search(rf"{kind.__name__} +{kind.code} *(.*)", f"{error_tree}\n{platform_error_tree}")
    if line and line[1]:
        return line[1].strip()
    said = kind.__doc__ if kind.__doc__ != LaneworkError.__doc__ else None
    return (said or "").strip().partition("\n")[0].rstrip(".")


JOB_CODES = {
    "HANDLER_RAISED": "the handler raised an exception",
    "WORKER_LOST": "its worker died, was stopped or lost the database",
    "TIMED_OUT": "it ran longer than its `timeout`, or was not finished within its `max_age`",
    "STALLED": "it reported no progress for too long",
    "HANDLER_FAILED": "the handler returned `Fail`",
}


def job_codes_table() -> str:
    rows = sorted(f"| {getattr(retries, name)} | {meaning} |" for name, meaning in JOB_CODES.items())
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def commands_table(
    program: str = "lanework", commands: Mapping[str, str] = COMMANDS, groups: Mapping[str, Mapping[str, str]] = GROUPS
) -> str:
    rows = []
    for name, what in commands.items():
        rows += [f"| `{program} {name}` | {_cell(what)} |"] if name not in groups else []
        rows += [f"| `{program} {name} {part}` | {_cell(does)} |" for part, does in groups.get(name, {}).items()]
    return "\n".join(["| command | |", "|---|---|", *rows])


def platform_commands_table() -> str:
    return commands_table("kg", platform.COMMANDS, platform.GROUPS)


EXIT_CODES = {
    0: "done",
    1: "failed; `lanework doctor` and `lanework verify` have found errors",
    2: "wrong usage, setting, argument, lane or schedule",
    3: "no database, or one that can lose committed jobs",
    4: "the schema is not the one this version needs",
    5: "no such job, lane, worker, operation, freeze, schedule or task",
    6: "not finished in time; the job goes on",
    7: "the job failed",
    8: "the job was cancelled",
    130: "interrupted",
    143: "terminated, where a command does not stop by itself",
}


def exit_codes_table() -> str:
    rows = [f"| {code} | {meaning} | {_raised(code)} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(["| code | meaning | errors |", "|---|---|---|", *rows])


def _raised(code: int) -> str:
    return ", ".join(kind.code for kind in all_errors() if kind.exit_code == code and code > 1)


def routes_table() -> str:
    api = make_api(KgSettings.load(), Lanework("postgresql://nobody@127.0.0.1:1/nothing"))
    rows = [f"| `{one.method} {one.path.replace(':path', '')}` | {_needs(one.policy)} |" for one in routes_of(api)]
    return "\n".join(["| route | permission |", "|---|---|", *rows])


def _needs(policy: Policy | None) -> str:
    assert policy is not None
    return "–" if policy.permission is None else f"`{policy.permission}`" if policy.permission else "known"


def role_permissions() -> dict[str, set[tuple[str, str]]]:
    """As the migration has them; tests/kg/test_access.py compares it with the rows."""
    sql = (ROOT / "src/kg/_store/migrations/0001_access.sql").read_text()
    parts: dict[str, set[tuple[str, str]]] = {}
    for part, permission, scope in re.findall(r"\('(\w+)', '(\w+:\w+)', '(\w+)'\)", sql):
        parts.setdefault(part, set()).add((permission, scope))
    roles = re.findall(r"\('(\w+)', array\[([^\]]*)\]\)", sql)
    return {role: {one for part in re.findall(r"\w+", has) for one in parts.get(part, ())} for role, has in roles}


def grants_table() -> str:
    roles = role_permissions()
    reach = {name: " | ".join(_reach(grants, name) for grants in roles.values()) for name in PERMISSIONS}
    rows = [f"| `{name}` | {_cell(what)} | {reach[name]} |" for name, what in PERMISSIONS.items()]
    heads = " | ".join(f"`{role}`" for role in roles)
    return "\n".join([f"| permission | allows | {heads} |", "|---|---|" + "---|" * len(roles), *rows])


def _reach(grants: set[tuple[str, str]], permission: str) -> str:
    scopes = {scope for name, scope in grants if name == permission}
    return "all" if "all" in scopes else "own" if scopes else ""


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|")


GENERATED: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("docs/reference/settings.md", settings_table),
    "settings of the platform": ("docs/reference/settings.md", platform_settings_table),
    "permissions": ("docs/guides/access.md", permissions_table),
    "roles": ("docs/guides/access.md", roles_table),
    "codes": ("docs/guides/errors.md", codes_table),
    "codes of the platform": ("docs/guides/errors.md", platform_codes_table),
    "job codes": ("docs/guides/errors.md", job_codes_table),
    "commands": ("docs/reference/cli.md", commands_table),
    "routes": ("docs/reference/http.md", routes_table),
    "what roles allow": ("docs/reference/http.md", grants_table),
    "commands of the platform": ("docs/reference/cli.md", platform_commands_table),
    "exit codes": ("docs/reference/cli.md", exit_codes_table),
}


def between(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- generated: {name} -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def write_tables() -> None:
    for name, (page, make) in GENERATED.items():
        before, start, _, end, after = between(name).split((ROOT / page).read_text())
        (ROOT / page).write_text(f"{before}{start}{make()}\n{end}{after}")
