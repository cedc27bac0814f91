"""What is wrong with a document for good: found out once, stored as a value, and the end of its job."""

from __future__ import annotations

from kg.errors import KgError
from lanework import Context, Fail


class Refusal(KgError):
    """`KG-214: the words`, as it was stored: told again with the code that it had."""

    def __init__(self, told: str) -> None:
        code, _, said = told.partition(": ")
        super().__init__(said)
        self.code = code  # type: ignore[misc] # each has its own
        self.mro_names = [code]  # in the place of a class: the code is what a user can look up

    @staticmethod
    def told(error: KgError) -> str:
        return f"{error.code}: {error}"


def asked_again(ctx: Context, status: str) -> bool:
    """Is this a run after one that ended with what was stored? Whoever redrives a job has mended something: an address, a limit."""
    return status == "processing" and ctx.attempt > 1


def failed(told: str, error_class: str = "invalid_input") -> Fail:
    return Fail(Refusal(told), error_class)
