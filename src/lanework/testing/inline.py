"""Handlers and estimators, run here and now."""

from __future__ import annotations

import asyncio
from typing import Any

from lanework._codec import RESULT_LIMIT, decode, encode
from lanework.errors import ConfigError, InvalidResult
from lanework.estimates import Estimate
from lanework.job import Job
from lanework.outcomes import ItemError, Partial
from lanework.retries import judge
from lanework.testing.recording import RecordingContext, SimulatedCrash


def run(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Any:
    """Runs one attempt of a handler inline. Arguments go through the same checks and the same JSON as in a real submit, and so
    does the result; an outcome (`Snooze`, `Fail`, …) comes back as it is, an exception is raised. If items of a map failed,
    a `Partial` comes back, as it would be stored."""
    return asyncio.run(arun(job, *args, ctx=ctx, **kwargs))


async def arun(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Any:
    context = ctx or RecordingContext.make(job.name)
    handler = job.handler
    arguments = handler.load(decode(handler.bind(*args, **kwargs)), handler.version)
    if handler.is_async:
        value = await handler.fn(context, **arguments)
    else:  # in a thread, as a worker would: sync handlers may block
        value = await asyncio.to_thread(handler.fn, context, **arguments)
    if type(value).__module__ == "lanework.outcomes":
        return value
    result = decode(encode(value, field="result", limit=RESULT_LIMIT, error=InvalidResult))
    errors = [ItemError(**error) for error in context.record.item_errors]
    return Partial(result, errors) if errors else result


def estimate(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Estimate:
    """Runs a job's estimator inline. With a `ctx`, its steps are there for a run with `ctx.next_attempt()`."""
    estimator = job.handler.estimator
    if estimator is None:
        raise ConfigError(f"job {job.name!r} has no estimator; declare one with @{job.name}.estimator")
    return Estimate(**run(Job(job._app, estimator), *args, ctx=ctx or RecordingContext.make(estimator.name), **kwargs))


def work(job: Job[..., Any], /, *args: Any, ctx: RecordingContext | None = None, **kwargs: Any) -> Any:
    """Runs a handler as a worker would: again after a crash or an error that is tried again, with its stored steps, until it
    ends, its tries are used up (the last error is raised), or its error is final. Nothing waits: no backoff."""
    context = ctx or RecordingContext.make(job.name)
    tries = 0
    while True:
        try:
            return run(job, *args, ctx=context, **kwargs)
        except SimulatedCrash:
            context = context.next_attempt()
        except Exception as error:
            verdict = judge(error, tries_used=tries, base=job.handler.backoff_base)
            tries += verdict.uses_try
            if verdict.action == "fail" or tries >= job.handler.max_tries:
                raise
            context = context.next_attempt()
