"""For the tests of applications that use lanework.

testing.run(digest, "https://…")              the handler here and now, with a context that remembers; no database
with testing.stub(app) as stub: …             submits are remembered, not stored; no database, no background work
stub.assert_submitted(digest, "https://…")
testing.drain(app, "interactive")             works what is queued, for real, until nothing is left
testing.estimate(digest, "https://…")         what its estimator says, here and now
testing.approve(app)                          approves what waits for it
testing.Clock(app).advance(hours=1)           moves the engine's time; nothing sleeps
"""

from lanework.testing.inline import arun, estimate, run, work
from lanework.testing.real import Clock, adrain, approve, drain
from lanework.testing.recording import RecordingContext, RecordingLink, SimulatedCrash
from lanework.testing.stubs import Stub, Submitted, stub

__all__ = [
    "Clock", "RecordingContext", "RecordingLink", "SimulatedCrash", "Stub", "Submitted", "adrain", "approve", "arun", "drain",
    "estimate", "run", "stub", "work",
]  # fmt: skip
