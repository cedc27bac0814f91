"""Errors as RFC 9457 problems: one table from exceptions to answers. Clients never see a stack trace."""

from __future__ import annotations

import logging
import math
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from lanework.api.gate import Forbidden
from lanework.errors import LaneworkError

logger = logging.getLogger("lanework")
MEDIA_TYPE = "application/problem+json"
#: Seconds after which a client may ask again when the database is away.
RETRY_AFTER = 5
WRONG_HERE = "something went wrong here; the server's log says what"


def problem(status: int, detail: str, *, code: str = "", headers: dict[str, str] | None = None, **more: Any) -> JSONResponse:
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    if code:
        body["code"] = code
    return JSONResponse(body | more, status_code=status, headers=headers, media_type=MEDIA_TYPE)


def route_of(request: Request) -> str:
    """For logs: the route as it is declared. A path can have a secret in it."""
    return str(getattr(request.scope.get("route"), "path", "(no route)"))


async def ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, LaneworkError)
    if error.http_status == 500:  # ours to mend, and ours to know: not a client's
        logger.error("%s %s: %s: %s", request.method, route_of(request), error.code, error)
        return problem(error.http_status, WRONG_HERE, code=error.code)
    headers = {}
    if error.http_status in (429, 503):
        headers["Retry-After"] = str(math.ceil(getattr(error, "retry_after", None) or RETRY_AFTER))
    if error.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    # what an error knows beside its words
    more = {name: value for name in ("field", "suggestions") if (value := getattr(error, name, None))}
    return problem(error.http_status, str(error), code=error.code, headers=headers, **more)


async def forbidden(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Forbidden)
    return problem(403, str(error), permission=error.permission)


async def invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    wrong = [{"at": ".".join(str(part) for part in one["loc"]), "message": one["msg"]} for one in error.errors()]
    return problem(422, "; ".join(f"{one['at']}: {one['message']}" for one in wrong), errors=wrong)


async def plain(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail), headers=dict(error.headers or {}))


async def unexpected(request: Request, error: Exception) -> JSONResponse:
    logger.error("%s %s failed", request.method, route_of(request), exc_info=error)
    return problem(500, WRONG_HERE)


def install(app: FastAPI) -> None:
    app.add_exception_handler(LaneworkError, ours)
    app.add_exception_handler(Forbidden, forbidden)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)
    app.add_exception_handler(Exception, unexpected)
