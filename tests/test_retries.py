"""What an error means, how long to wait, and what a verdict says. No database."""

from __future__ import annotations

from typing import Any

import pytest

from lanework.errors import InvalidJob, InvalidResult, ProcessDied
from lanework.retries import (
    BY_STATUS,
    ERROR_CLASSES,
    FINAL_CLASSES,
    LONGEST_DELAY,
    ErrorClass,
    Retryable,
    Verdict,
    backoff,
    classify,
    describe,
    judge,
)


class HttpError(Exception):
    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"HTTP {status}")
        self.response = type("Response", (), {"status_code": status, "headers": headers or {}})()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_delays_double_up_to_an_hour_and_are_spread_over_the_upper_half() -> None:
    least = [backoff(n, 1.0, jitter=lambda: 0.0) for n in range(14)]
    most = [backoff(n, 1.0, jitter=lambda: 1.0) for n in range(14)]
    assert most[:5] == [1, 2, 4, 8, 16]
    assert [2 * delay for delay in least] == most
    assert most[12:] == [3600, 3600]
    assert backoff(10_000, 5.0, jitter=lambda: 1.0) == 3600  # 2.0 ** 10_000 would not fit a float
    assert {round(backoff(3, 1.0), 6) for _ in range(50)} != {8.0}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), "timeout"),
        (ConnectionResetError(), "transient"),
        (MemoryError(), "transient"),
        (InvalidJob("x", field="y"), "invalid_input"),
        (InvalidResult("x"), "permanent"),
        (ProcessDied("signal 11"), "worker_lost"),
        (HttpError(429), "throttled"),
        (HttpError(503), "transient"),
        (HttpError(404), "permanent"),
        (HttpError(422), "invalid_input"),
        (HttpError(418), "unknown"),
        (ValueError("timeout, 429, connection reset"), "unknown"),  # words in a message mean nothing
        (Retryable(error_class="permanent"), "permanent"),
        (Retryable(), "transient"),
    ],
)
def test_the_class_comes_from_the_type_then_the_status(error: BaseException, expected: str) -> None:
    assert classify(error) == expected


def test_classifiers_are_asked_last_and_in_order() -> None:
    asked: list[str] = []

    def shy(error: BaseException) -> ErrorClass | None:
        asked.append("shy")
        return None

    def sure(error: BaseException) -> ErrorClass | None:
        asked.append("sure")
        return "permanent"

    assert classify(ValueError(), [shy, sure, shy]) == "permanent"
    assert asked == ["shy", "sure"]
    assert classify(TimeoutError(), [sure]) == "timeout"


def test_a_classifier_that_fails_or_makes_up_a_class_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    # Red with the call left bare: the run had no verdict, and its job stayed `running`.
    def broken(error: BaseException) -> ErrorClass | None:
        raise RuntimeError("broken")

    def inventive(error: BaseException) -> Any:
        return "catastrophic"

    assert classify(ValueError(), [broken, inventive]) == "unknown"
    assert classify(ValueError(), [broken, inventive, lambda _: "transient"]) == "transient"
    assert ["broken" in caplog.text, "catastrophic" in caplog.text] == [True, True]


def test_what_each_class_does() -> None:
    for kind in ERROR_CLASSES:
        verdict = judge(Retryable("x", error_class=kind), tries_used=2, base=1.0)  # type: ignore[arg-type]
        if kind in FINAL_CLASSES:
            assert verdict.action == "fail", kind
        elif kind in ("throttled", "budget"):
            assert (verdict.action, verdict.uses_try) == ("snooze", False)
        else:
            assert (verdict.action, verdict.uses_try) == ("retry", kind not in ("worker_lost",)), kind
            assert 2 <= verdict.delay_s <= 4
        assert verdict.error_class == kind


def test_a_throttle_waits_as_long_as_it_was_told_and_at_most_a_minute_otherwise() -> None:
    assert judge(HttpError(429, {"retry-after": "17"}), tries_used=0, base=1.0).delay_s == 17
    assert judge(Retryable(error_class="throttled", retry_after=0.2), tries_used=0, base=1.0).delay_s == 0.2
    for odd in ("Wed, 21 Oct 2026 07:28:00 GMT", "-5", "nan", "1e99"):
        assert judge(HttpError(429, {"retry-after": odd}), tries_used=30, base=1.0).delay_s <= 60
    assert judge(Retryable(retry_after=9), tries_used=5, base=1.0).delay_s == 9


def test_a_death_of_the_process_is_a_loss_and_uses_no_try() -> None:
    verdict = judge(ProcessDied("out of memory"), tries_used=0, base=1.0)
    assert (verdict.action, verdict.loss, verdict.uses_try, verdict.cause) == ("release", True, False, "out of memory")


@pytest.mark.parametrize("error", [ValueError("a\0b"), ValueError("\ud800"), ValueError("x" * 100_000), Unspeakable()])
def test_any_error_can_be_told_and_stored(error: BaseException) -> None:
    # Red with `str(error)` left bare: an exception without a text left its job `running`.
    told = describe(error)
    for text in judge(error, tries_used=0, base=1.0).as_json().values():
        assert "\0" not in str(text).encode().decode()  # and no lone surrogate, which UTF-8 cannot have
    assert len(told["error"].encode()) <= 4000
    assert len(told["traceback"].encode()) <= 32_000
    assert type(error).__name__ in told["error"]


@pytest.mark.parametrize("delay", [float("nan"), float("inf"), -1.0, 1e300])
def test_a_verdict_is_storable_whatever_a_handler_put_in(delay: float) -> None:
    # Red with the values passed on as they are: PostgreSQL refuses the whole batch of verdicts, again and again.
    verdict = Verdict("snooze", delay_s=delay, reason="\0", error_class="\ud800", error=7)  # type: ignore[arg-type]
    stored = verdict.as_json()
    assert 0 <= stored["delay_s"] <= LONGEST_DELAY
    assert (stored["reason"], stored["error_class"], stored["error"]) == ("\\x00", "\\ud800", "7")


def test_every_status_has_a_class() -> None:
    assert set(BY_STATUS.values()) <= set(ERROR_CLASSES)
