select q.lane, q.waiting from lanework.queues() q join lanework.lanes l on l.name = q.lane
where (not l.enabled or l.max_slots = 0 or l.worker_slots = 0) and q.waiting > 0 order by q.lane
