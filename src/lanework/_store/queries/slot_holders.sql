select lane, job_id, type, owner, attempt, worker_id, claimed_by, claimed_at, last_progress_at, fraction, message, cancel_requested from lanework.slot_holders(%(limit)s)
