"""Requests made after the OpenAPI document, good and bad ones: no answer is a 500, and each is what the document says."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import Any

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from kg.graph.exporting import FORMS
from lanework import testing
from tests.kg.house import House, open_house
from tests.kg.test_openapi import document

Operation = APIOperation[Any, Any, Any, Any]
#: Streams do not end by themselves; a login by a wrong link is tested elsewhere, and has no schema.
LEFT_OUT = {"/events", "/jobs/{job_id}/stream", "/login/{link}"}
#: The operations are dealt out to this many tests, which run side by side.
PARTS = 8
#: The long run begins no new round after so many seconds. One round takes one minute, and on a busy machine five.
LONG_S = 480
#: How many answers of each kind there were.
statuses: Counter[int] = Counter()
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
#: What a request has in its path, beside what is made up.
THERE: dict[str, list[Any]] = {
    "job_id": [1, 2, 3, 4], "concept_id": [1],
    "operation_id": [1], "redrive_id": [1], "rule_id": [1], "freeze_id": [1], "worker_id": [1],
    "name": ["interactive", "nightly", "gpu", "openai", "day", "prune", "a/b", "pager"], "group": ["x"],
}  # fmt: skip


@pytest.fixture
def lived_in(database: str) -> Iterator[House]:
    """With a job in every state, and one of each thing."""
    with open_house(database, submits_per_minute=1_000_000) as house:

        @house.work.job(approval="always")
        async def costly(ctx: Any, n: int = 1) -> int:
            return n

        @house.work.job(max_tries=1)
        async def broken(ctx: Any) -> None:
            raise ValueError("no")

        def ask(method: str, path: str, body: Any = None) -> None:
            answer = house.ask("platform_admin", method, path, json=body)
            assert answer.status_code < 300, answer.text

        ask("POST", "/jobs", {"type": "broken"})
        testing.drain(house.work)
        for type in ("costly", "add", "tidy"):
            ask("POST", "/jobs", {"type": type, "args": {"a": 1} if type == "add" else {}})
        ask("POST", "/admin/schedules", {"name": "nightly", "type": "tidy", "cron": "0 3 * * *"})
        ask("POST", "/admin/schedules", {"name": "a/b", "type": "tidy", "every": 3600})
        ask("PUT", "/admin/permits/gpu", {"capacity": 1})
        ask("PATCH", "/admin/rates/openai", {"requests": 60})
        ask("PUT", "/admin/budgets/day", {"amount": 10, "per": "day"})
        ask("PUT", "/admin/dead-letters/webhooks/pager", {"url": "https://example.com/x", "secret": "0123456789abcdef"})
        ask("POST", "/admin/workers/freezes", {"lanes": ["maintenance"]})
        house.act(house.access.add_user("fuzz", None, ["platform_admin"], by="test"))
        house.tokens["fuzz"] = house.act(house.access.create_token("fuzz", "test", by="test")).secret
        yield house


def _send(house: House, case: Any, role: str = "fuzz") -> Any:
    kwargs = case.as_transport_kwargs(base_url="http://testserver")
    if "json" in kwargs:
        kwargs["content"] = json.dumps(kwargs.pop("json"))  # escapes what UTF-8 cannot have
    elif kwargs.get("files"):
        form = requests.Request("POST", "http://testserver", files=kwargs.pop("files"), data=kwargs.pop("data", None)).prepare()
        kwargs["content"] = form.body  # a file may be a number here, which our client cannot send
        kwargs["headers"] = dict(kwargs.get("headers") or {}) | {"Content-Type": form.headers["Content-Type"]}
    elif "data" in kwargs:
        kwargs["content"] = kwargs.pop("data")
    kwargs.pop("cookies", None)
    kwargs["headers"] = dict(kwargs.get("headers") or {}) | {"Authorization": f"Bearer {house.tokens[role]}"}
    kwargs["headers"] = {name: str(value).encode("utf-8", "replace") for name, value in kwargs["headers"].items()}
    answer = house.client.request(**kwargs, follow_redirects=False)
    statuses[answer.status_code] += 1
    return answer


def _try(house: House, operation: Operation, mode: GenerationMode, examples: int, luck: int) -> list[str]:
    wrong: list[str] = []

    @seed(luck)
    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def one(case: Any, data: Any) -> None:
        for name in set(case.path_parameters or {}) & THERE.keys():
            if data.draw(st.integers(0, 3)):
                case.path_parameters[name] = data.draw(st.sampled_from(THERE[name]))
        try:
            answer = _send(house, case)
        except (httpx2.InvalidURL, httpx2.LocalProtocolError, ValueError):
            return  # no client can send it
        try:
            case.validate_response(answer, checks=CHECKS)
        except BaseExceptionGroup as error:
            what = f"{case.method} {case.formatted_path}: {answer.status_code} {answer.text[:200]}"
            wrong.append(f"{what}: {error.exceptions[0]}"[:1500])

    one()
    return wrong


@cache
def _operations() -> list[Operation]:
    schema = schemathesis.openapi.from_dict(document())
    found: list[Any] = list(schema.get_all_operations())
    return [one.ok() for one in found if one.ok().path not in LEFT_OUT]


def _check(house: House, operations: list[Operation], examples: int, luck: int = 5) -> None:
    statuses.clear()
    wrong: list[str] = []
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            if mode is GenerationMode.POSITIVE or operation.body or operation.query or operation.path_parameters:
                wrong += _try(house, operation, mode, examples, luck)
    assert not wrong, "\n\n".join(wrong)
    assert {200, 404, 422} <= statuses.keys()  # it came through to what it asks for
    assert house.ask("fuzz", "GET", "/me").status_code == 200  # it was not let out halfway


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_is_answered_with_500(lived_in: House, part: int) -> None:
    operations = _operations()
    assert len(operations) > 100
    _check(lived_in, operations[part::PARTS], 3)


def test_each_form_of_an_export_is_what_the_document_says(house: House) -> None:
    (operation,) = (one for one in _operations() if one.path == "/graph/export")
    for format in FORMS:
        case = operation.Case(query={"format": format})
        case.validate_response(_send(house, case, "read_only"), checks=CHECKS)


@pytest.mark.chaos
@pytest.mark.timeout(1800)
def test_many_requests_and_none_is_answered_with_500(lived_in: House) -> None:
    """Round after round, each with luck of its own, until its time is over. A busy machine makes fewer of them."""
    seen: Counter[int] = Counter()
    end = time.monotonic() + LONG_S
    for luck in count(100):
        _check(lived_in, _operations(), 12, luck)
        seen += statuses
        if time.monotonic() > end:
            break
    print(f"{luck - 99} rounds, {seen.total()} answers: {dict(seen)}")
    assert {200, 201, 404, 409, 422} <= seen.keys()
