"""Every permission there is, and what it allows. Roles are rows; this is what their rows may say."""

from __future__ import annotations

from kg.errors import InvalidAccess

#: Permission → what it allows. With scope `own` it reaches what is the caller's own.
PERMISSIONS = {
    "jobs:read": "see jobs, their logs, attempts, steps and events",
    "jobs:submit": "submit jobs of every type; `jobs:submit:<type>` of one type alone; with scope all also for other owners",
    "jobs:cancel": "cancel jobs, and delete those that have ended",
    "jobs:retry": "run a failed job again",
    "jobs:priority": "change the priority of waiting jobs",
    "jobs:approve": "approve or reject jobs that cost money",
    "workers:view": "lanes, slots, queues and worker processes",
    "workers:manage": "change lanes, drain workers, cancel and reprioritise any job",
    "dead:read": "see dead letters in groups",
    "dead:manage": "redrive, archive, give rules",
    "schedules:read": "see schedules and maintenance tasks",
    "schedules:manage": "create, change, pause and run them",
    "permits:read": "see permits and rates, who holds and who waits",
    "permits:manage": "change capacities and rates, release holds",
    "budgets:read": "see budgets and what was spent",
    "budgets:manage": "change budgets",
    "events:read": "follow the stream of events; with scope own those of the caller's jobs",
    "metrics:read": "read /metrics",
    "doctor:read": "ask for a diagnosis",
    "audit:read": "read the audit log",
    "users:manage": "users and everybody's tokens",
    "roles:manage": "roles and what they allow",
    "documents:read": "see documents",
    "documents:write": "add, replace and delete documents",
    "graph:read": "search and read the graph",
}
SUBMIT_ONE = "jobs:submit:"


def told(permission: str) -> str:
    """What it allows to, in words."""
    if permission.startswith(SUBMIT_ONE):
        return f"submit jobs of the type {permission.removeprefix(SUBMIT_ONE)}"
    return PERMISSIONS.get(permission, "")


def check(permission: str, scope: str) -> None:
    if permission not in PERMISSIONS and not (permission.startswith(SUBMIT_ONE) and len(permission) > len(SUBMIT_ONE)):
        known = ", ".join(PERMISSIONS)
        raise InvalidAccess(f"permission: there is no {permission!r}; there are {known}", field="permissions")
    if scope not in ("all", "own") and not (scope.startswith("ontology:") and len(scope) > len("ontology:")):
        raise InvalidAccess(f"scope: expected all, own or ontology:<name>, got {scope!r}", field="permissions")
