"""What a running job writes: progress, log lines, checkpoints, each under the guard."""

from __future__ import annotations

import pytest

from tests.sql.engine import Claim, Engine


def two_generations(engine: Engine) -> tuple[Claim, Claim]:
    """An old claim and the current one of the same job, both of the same worker."""
    lane, kind, worker = engine.lane("l"), engine.type("t", "l"), engine.worker()
    engine.enqueue("t")
    (old,) = engine.claim(worker, lane, kind)
    engine.settle(worker, old, action="release")
    (new,) = engine.claim(worker, lane, kind)
    return old, new


@pytest.fixture
def generations(engine: Engine) -> tuple[Claim, Claim]:
    return two_generations(engine)


def test_the_current_claim_writes_and_the_old_one_does_not(engine: Engine, generations: tuple[Claim, Claim]) -> None:
    old, new = generations
    for claim, accepted in ((new, {new.id}), (old, set[int]())):
        assert engine.progress(claim, message=str(claim.attempt)) == accepted
        assert engine.log(claim, text=str(claim.attempt)) == accepted
        assert engine.checkpoint(claim, {"attempt": claim.attempt}) is bool(accepted)
    assert engine.rows("select attempt, message from lanework.progress") == [{"attempt": 2, "message": "2"}]
    assert engine.rows("select attempt, text from lanework.logs") == [{"attempt": 2, "text": "2"}]
    assert engine.rows("select attempt, state from lanework.checkpoints") == [{"attempt": 2, "state": {"attempt": 2}}]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_batch_with_both_generations_writes_only_the_current(
    engine: Engine, generations: tuple[Claim, Claim], order: tuple[int, int]
) -> None:
    batch = [generations[n] for n in order]
    assert engine.progress(*batch) == {batch[0].id} == engine.log(*batch)
    for table in ("progress", "logs"):
        assert engine.rows(f"select attempt from lanework.{table}") == [{"attempt": 2}]


def test_a_checkpoint_is_found_by_the_next_attempt(engine: Engine, generations: tuple[Claim, Claim]) -> None:
    _, claim = generations
    assert engine.checkpoint(claim, {"page": 3})
    engine.settle(1, claim, action="retry")
    assert engine.one("select state from lanework.checkpoints where job_id = %s", claim.id) == {"page": 3}


def test_a_batch_keeps_the_order_of_lines(engine: Engine, generations: tuple[Claim, Claim]) -> None:
    _, claim = generations
    ids, attempts, claims = [claim.id], [claim.attempt], [claim.claim_id]
    texts = [f"line {n}" for n in range(50)]
    call = "lanework.write_logs(%s::bigint[], %s::int[], %s::uuid[], %s::bigint[], %s::int[], %s::text[], %s::text[])"
    engine.rows(f"select {call}",
                ids, attempts, claims, ids * 50, attempts * 50, ["stdout"] * 50, texts)  # fmt: skip
    assert [row["text"] for row in engine.rows("select text from lanework.logs order by job_id, id")] == texts
