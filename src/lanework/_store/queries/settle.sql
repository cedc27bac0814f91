select id, next::text, lane_id, extract(epoch from run_at - lanework.now())::float8
from lanework.settle(%(worker)s::bigint, %(ids)s::bigint[], %(attempts)s::int[], %(claims)s::uuid[], %(verdicts)s::jsonb[])
