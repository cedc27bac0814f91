"""One POST of a signed message, with the standard library alone. Redirects are not followed: a signature is for one address."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any
from urllib.parse import urlsplit

from lanework.notifiers import check_url, sign

TIMEOUT_S = 10.0
_ANSWER_BYTES = 500


class WebhookRefused(Exception):
    """The receiver did not say 2xx."""


def post(url: str, message: dict[str, Any], *, secret: str | None, id: str, timestamp: int, timeout: float = TIMEOUT_S) -> int:
    """The status, if it is a 2xx. Raises `WebhookRefused`, or what went wrong on the way."""
    check_url(url)
    body = json.dumps(message, separators=(",", ":")).encode()
    headers = {
        "content-type": "application/json", "user-agent": "lanework", "webhook-id": id, "webhook-timestamp": str(timestamp),
    }  # fmt: skip
    if secret is not None:
        headers["webhook-signature"] = sign(secret, id, timestamp, body)
    parts = urlsplit(url)
    connection = _connection(parts.scheme, parts.netloc, timeout)
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
        answer = connection.getresponse()
        said = answer.read(_ANSWER_BYTES).decode(errors="replace")
    finally:
        connection.close()
    if not 200 <= answer.status < 300:
        raise WebhookRefused(f"HTTP {answer.status}: {said}".strip(": "))
    return answer.status


def _connection(scheme: str, place: str, timeout: float) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(place, timeout=timeout, context=ssl.create_default_context())
    return http.client.HTTPConnection(place, timeout=timeout)
