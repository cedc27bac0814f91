"""Being told of dead letters: by a function of one's own, or by a signed webhook.

Every dead letter is in exactly one message to each notifier. A message is sent at least once, and always under the same id: a
receiver that remembers ids acts once.
"""

from __future__ import annotations

import base64
import binascii
import builtins
import hashlib
import hmac
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from lanework._store import dead as store
from lanework._store.verb import Row
from lanework.errors import InvalidDeadLetters

if TYPE_CHECKING:
    from lanework.client import Lanework

_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
#: How far the time in a signature may be from the receiver's clock.
TOLERANCE_S = 300.0


@dataclass(frozen=True, slots=True)
class NotifiedGroup:
    """Dead letters of one group that a message tells of. `job_ids` has the first hundred; `error` is the newest one's."""

    fingerprint: str
    type: str
    error_class: str
    error_code: str | None
    message: str
    error: str
    count: int
    first_seen: datetime
    last_seen: datetime
    sample: int
    job_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Notification:
    """A message about dead letters. `id` stays the same however often it is sent; `tries` counts that."""

    id: str
    notifier: str
    at: datetime
    count: int
    groups: tuple[NotifiedGroup, ...]
    tries: int = 1


class Notifier(Protocol):
    """Public: a function, sync or async, that passes a message on. What it raises is tried again, with backoff."""

    def __call__(self, notification: Notification, /) -> Awaitable[None] | None: ...


@dataclass(frozen=True, slots=True)
class NotifierInfo:
    """`waiting`: dead letters that wait for its next message. `served`: a living worker can send to it."""

    name: str
    kind: str
    url: str | None
    signed: bool
    enabled: bool
    every: int
    max_tries: int
    set_by: str
    waiting: int
    served: bool


@dataclass(frozen=True, slots=True)
class NotificationInfo:
    """A message as it is stored."""

    id: str
    notifier: str | None
    state: str
    count: int
    groups: builtins.list[dict[str, Any]]
    tries: int
    created_at: datetime
    ended_at: datetime | None
    last_error: str | None


class Webhooks:
    """`app.dead.webhooks`: whom to tell, as rows that operators own. Functions of code are in the list, too."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def list(self) -> builtins.list[NotifierInfo]:
        return self._app._run(store.list_notifiers(lambda row: NotifierInfo(*row)))

    async def alist(self) -> builtins.list[NotifierInfo]:
        return await self._app._arun(store.list_notifiers(lambda row: NotifierInfo(*row)))

    def set(
        self, name: str, url: str | None = None, *, secret: str | None = None, enabled: bool | None = None,
        every: int | None = None, by: str = "operator",
    ) -> None:  # fmt: skip
        """Adds one, or changes what is given. `every`: seconds in which one group is told of at most once."""
        _check(name, url, secret)
        self._app._run(store.set_notifier(name, url=url, secret=secret, enabled=enabled, every=every, by=by))

    async def aset(
        self, name: str, url: str | None = None, *, secret: str | None = None, enabled: bool | None = None,
        every: int | None = None, by: str = "operator",
    ) -> None:  # fmt: skip
        _check(name, url, secret)
        await self._app._arun(store.set_notifier(name, url=url, secret=secret, enabled=enabled, every=every, by=by))

    def remove(self, name: str, *, by: str = "operator") -> None:
        """What waits for it is given up."""
        self._app._run(store.remove_notifier(name, by))

    async def aremove(self, name: str, *, by: str = "operator") -> None:
        await self._app._arun(store.remove_notifier(name, by))


def check_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidDeadLetters(
            f"name: expected small letters, digits, '_', '.' or '-', at most 63 of them, got {name!r}", field="name"
        )


def check_url(url: str) -> None:
    """http and https, with a host, and no password: addresses are shown."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidDeadLetters(
            "url: expected http://… or https://… with a host, and without a user or password in it", field="url"
        )


def _check(name: str, url: str | None, secret: str | None) -> None:
    check_name(name)
    if url is not None:
        check_url(url)
    if secret is not None:
        key_of(secret)


def key_of(secret: str) -> bytes:
    """The bytes of a secret: as it is, or after `whsec_` in base64, as in the Standard Webhooks specification."""
    if not isinstance(secret, str) or len(secret) < 16:
        raise InvalidDeadLetters("secret: expected at least 16 characters", field="secret")
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidDeadLetters("secret: what follows whsec_ is not base64", field="secret") from None


def sign(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over id, time and body, in the form of Standard Webhooks: `v1,…`."""
    signed = f"{id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()


def verify(secret: str, headers: Mapping[str, str], body: bytes, *, now: float | None = None) -> bool:
    """For receivers: did somebody who knows the secret send this, now? Remember `webhook-id` to act once."""
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, timestamp = given["webhook-id"], int(given["webhook-timestamp"])
    except (KeyError, ValueError):
        return False
    if abs((datetime.now(UTC).timestamp() if now is None else now) - timestamp) > TOLERANCE_S:
        return False
    expected = sign(secret, id, timestamp, body)
    return any(hmac.compare_digest(expected, one) for one in given.get("webhook-signature", "").split())


def notification_row(row: Row) -> NotificationInfo:
    return NotificationInfo(str(row[0]), *row[1:])


def notification_of(taken: store.Taken) -> Notification:
    groups = tuple(
        NotifiedGroup(**{
            **group,
            "first_seen": datetime.fromisoformat(group["first_seen"]),
            "last_seen": datetime.fromisoformat(group["last_seen"]),
            "job_ids": tuple(group["job_ids"]),
        })
        for group in taken.groups
    )  # fmt: skip
    return Notification(str(taken.id), taken.name, taken.created_at, taken.size, groups, taken.tries)


def body_of(taken: store.Taken) -> dict[str, Any]:
    """What a webhook is sent: the same, try after try."""
    return {
        "type": "dead_letters", "id": str(taken.id), "notifier": taken.name, "count": taken.size, "groups": taken.groups,
        "created_at": taken.created_at.astimezone(UTC).isoformat(),
    }  # fmt: skip
