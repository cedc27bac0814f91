"""What the provider is told to do, which faults there are, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass, field

STATUS = {"400", "401", "403", "404", "408", "409", "422", "429", "500", "502", "503", "504", "529"}
#: What a fault does to a call; a status above as well.
FAULTS = {
    "hang": "no answer until a reset",
    "close": "the connection is closed before the first byte",
    "reset": "the connection is reset in the middle of the answer",
    "html": "status 200 and a page instead of JSON",
    "garbage": "status 200 and half a JSON document as the body",
    "empty": "no choices, no content, no vectors",
    "no_usage": "the answer does not say what it cost",
    "truncated": "the text ends in the middle, and says so",
    "invalid_json": "the text is no JSON",
    "fenced": "the JSON stands in a markdown fence, with words before it",
    "violation": "the text is JSON of another shape",
    "false_quotes": "quotes that stand nowhere in the text",
    "unknown_ends": "relationships between concepts that are not there",
    "refusal": "the model says no",
    "no_schema": "status 400 for an answer format with a schema",
    "no_format": "status 400 for any answer format",
    "slow": "the answer comes in bits, `seconds` apart",
    "vector_count": "one vector too few",
    "vector_size": "one vector is shorter than the others",
    "nan": "a vector with a NaN in it",
    "zero": "a vector of zeros",
}


@dataclass
class Knobs:
    latency: float = 0.0  # seconds that each call takes
    allowed: int = 0  # calls at a time; one more is answered with 429; 0: any number
    dimensions: int = 64
    key: str = ""  # the only key that is taken; none: any


@dataclass
class Fault:
    fault: str
    times: int | None = 1  # None: always
    every: int = 1  # each so-manieth call that fits
    path: str = ""  # calls whose path has this in it
    match: str = ""  # calls whose body has this in it
    retry_after: str | float | None = None  # for a status: the header
    seconds: float = 0.05
    seen: int = 0

    def fits(self, path: str, body: str) -> bool:
        if self.path not in path or self.match not in body or self.times == 0:
            return False
        self.seen += 1
        if self.seen % self.every:
            return False
        self.times = None if self.times is None else self.times - 1
        return True


@dataclass
class Counts:
    calls: int = 0
    ok: int = 0
    now: int = 0
    most: int = 0  # at a time
    gone: int = 0  # callers who left before their answer
    again: int = 0  # chats about a text that one before has had an answer about: paid twice
    paths: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    tokens_in: int = 0  # of all answers that were made, whether or not they arrived: what is on the bill
    tokens_out: int = 0
    busy: float = 0.0  # seconds, summed over the calls under way
    span: float = 0.0  # seconds from the first call's start to the last one's end
