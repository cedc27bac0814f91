select f.id, array_agg(f.lane order by f.lane), min(f.job_id), min(f.by), min(f.reason), min(f.since), min(f.until)
from lanework.freezes f where lanework.holds(f) group by f.id order by f.id
