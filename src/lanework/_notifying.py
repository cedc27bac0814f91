"""Messages about dead letters are sent by jobs of the engine's own: claimed where the function is, and seen like all others."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanework import _webhook
from lanework._codec import clean_text
from lanework._store.dead import Taken, end_notification, take_notification
from lanework.context import Context
from lanework.errors import ConfigError
from lanework.handlers import Handler
from lanework.notifiers import Notifier, body_of, check_name, check_url, key_of, notification_of

if TYPE_CHECKING:
    from lanework.client import Lanework

logger = logging.getLogger("lanework")

TYPE = "lanework:notify"
LANE = "notifications"
#: Messages that one job sends; what is left is for the next one.
MOST = 100
#: For a function that hangs. A webhook has a limit of its own.
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Registered:
    """A notifier as code has declared it."""

    name: str
    function: Notifier | None
    url: str | None
    secret: str | None
    every: int

    def row(self) -> dict[str, Any]:
        kind = "webhook" if self.function is None else "python"
        return {"name": self.name, "kind": kind, "url": self.url, "secret": self.secret, "every_s": self.every}


def register(
    app: Lanework,
    name: str,
    *,
    function: Notifier | None = None,
    url: str | None = None,
    secret: str | None = None,
    every: int = 60,
) -> None:
    check_name(name)
    if name in app._notifiers:
        raise ConfigError(f"two notifiers are named {name!r}; give one another name")
    if not isinstance(every, int) or not 0 <= every <= 86_400:
        raise ConfigError(f"every: expected 0 to 86400 seconds, got {every!r}")
    if url is not None:
        check_url(url)
    if secret is not None:
        key_of(secret)
        app.secrets.add(secret)
    app._notifiers[name] = Registered(name, function, url, secret, every)
    declare(app, None if function is None else name)


def declare(app: Lanework, name: str | None = None) -> None:
    """The job type that sends: one for the functions of each name, and one, that every worker has, for webhooks."""
    type_name = TYPE if name is None else f"{TYPE}:{name}"
    if type_name in app.handlers:
        return

    async def notify(ctx: Context, notifier: int) -> int:
        return await _send_all(app, ctx, notifier)

    app._lane_values.setdefault(LANE, {"max_slots": 8, "poll_interval_ms": 5000})
    app.handlers.add(Handler.declare(notify, type_name, lane=LANE, timeout=MOST * PATIENCE_S, max_tries=10, backoff_base=5.0))


async def _send_all(app: Lanework, ctx: Context, notifier: int) -> int:
    sent = 0
    keeper = await ctx._link.adatabase()
    for _ in range(MOST):
        taken = await keeper.run(take_notification(notifier))
        if taken is None:
            break
        error = await _send(app, taken)
        await keeper.run(end_notification(taken.id, error))
        sent += error is None
    return sent


async def _send(app: Lanework, taken: Taken) -> str | None:
    """None, or what went wrong."""
    try:
        if taken.url is not None:
            at = int(taken.now.timestamp())
            await asyncio.to_thread(_webhook.post, taken.url, body_of(taken), secret=taken.secret, id=str(taken.id), timestamp=at)
        else:
            await asyncio.wait_for(_call(app._notifiers[taken.name].function, taken), PATIENCE_S)
    except Exception as error:
        text = clean_text(f"{type(error).__name__}: {error}", 1000)
        logger.warning("notifier %s: try %d of message %s failed: %s", taken.name, taken.tries, taken.id, app.secrets.mask(text))
        return app.secrets.mask(text)
    return None


async def _call(function: Notifier | None, taken: Taken) -> None:
    assert function is not None
    message = notification_of(taken)
    answer = await asyncio.to_thread(function, message) if not inspect.iscoroutinefunction(function) else function(message)
    if inspect.isawaitable(answer):
        await answer
