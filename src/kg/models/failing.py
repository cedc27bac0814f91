"""What an exception of a provider's client means for us. The clients of OpenAI and Anthropic raise alike."""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Callable
from typing import Any

from kg.errors import ModelAway, ModelDenied, ModelError, ModelGarbled, ModelRejected, ModelThrottled
from lanework.retries import mro_names, status_of

LONGEST_PAUSE = 3600.0
#: These never left this machine.
_UNSENT = {
    "ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError", "ClientConnectorError",
    "ClientHttpProxyError",
}  # fmt: skip


def meaning(error: Exception, provider: str, mask: Callable[[str], str]) -> ModelError:
    """The same as one of ours; `mask` takes secrets out of the provider's words."""
    if isinstance(error, ModelError):
        return error
    if (status := status_of(error)) is not None and _broken(error) is None:
        return _by_status(error, status, f"{provider} answered {status}: {mask(_words(error))}")
    return _without_answer(error, provider, mask)


def _without_answer(error: Exception, provider: str, mask: Callable[[str], str]) -> ModelError:
    words, names = mask(_words(error)), _names(error)
    causes = {name for cause in _causes(error) for name in _names(cause)}
    if (broken := _broken(error)) is not None:
        words = mask(" ".join(f"{type(broken).__name__} {broken}".split())[:500])
        return ModelAway(f"{provider} cannot be reached, or hung up: {words}", sent=not _names(broken) & _UNSENT)
    if "APITimeoutError" in names or isinstance(error, TimeoutError):
        return ModelAway(f"{provider} did not answer in time", sent=not causes & _UNSENT, slow=True)
    if "APIConnectionError" in names:
        return ModelAway(f"{provider} cannot be reached, or hung up: {words}", sent=not causes & _UNSENT)
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError)) or "APIResponseValidationError" in names:
        garbled = ModelGarbled(f"{provider} sent something that is no answer: {words}")
        garbled.billed = None
        return garbled
    return ModelAway(f"the call of {provider} failed: {type(error).__name__}: {words}", sent=True)


def _names(error: BaseException) -> set[str]:
    return {name.rpartition(".")[2] for name in mro_names(error)}


def _broken(error: Exception) -> BaseException | None:
    """aiohttp's word for a connection that could not be made, or broke, or on which no HTTP came. The layer above it calls the
    first two timeouts, and the last one has a status that nobody has sent."""
    for one in (error, *_causes(error)):
        names = _names(one)
        if names & {"ClientConnectionError", "ClientResponseError"} and "ServerTimeoutError" not in names:
            return one
    return None


def _by_status(error: Exception, status: int, words: str) -> ModelError:
    body = _body(error)
    if status in (429, 529):
        if body.get("code") == "insufficient_quota" or body.get("type") == "insufficient_quota":
            return ModelDenied(f"{words}; no pause helps: the account has no credit left")
        return ModelThrottled(words, retry_after=_retry_after(error))
    if status in (401, 402, 403):
        return ModelDenied(f"{words}; look at the key, its rights and the account")
    if status >= 500 or status in (408, 409, 425):
        return ModelAway(words, slow=status in (408, 504), retry_after=_retry_after(error))
    rejected = ModelRejected(words, field=str(body.get("param") or ""))
    if status in (404, 405, 410):
        rejected.error_class = "permanent"
    return rejected


def _body(error: Exception) -> dict[str, Any]:
    found: Any = getattr(error, "body", None)
    if isinstance(found, dict) and isinstance(found.get("error"), dict):
        found = found["error"]
    return found if isinstance(found, dict) else {}


def _words(error: Exception) -> str:
    text = str(_body(error).get("message") or error) or type(error).__name__
    if str(error) == "Connection error." and error.__cause__ is not None:
        text = f"{type(error.__cause__).__name__} {error.__cause__}".strip()
    return text[:500]


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    while (cause := error.__cause__ or error.__context__) is not None and len(found) < 10:
        found.append(cause)
        error = cause
    return found


def _retry_after(error: Exception) -> float | None:
    """Seconds, from whichever way it is said; a date counts from now."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return _bounded(float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        return _bounded(email.utils.parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError, TypeError):
        return None


def _bounded(seconds: float) -> float | None:
    return min(max(seconds, 0.0), LONGEST_PAUSE) if not math.isnan(seconds) else None
