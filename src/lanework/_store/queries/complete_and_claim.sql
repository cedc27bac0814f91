select id, type_id, attempt, fence, tries_used, version, turn, rank, suspect, past, created_at, owner, bytes, payload
from lanework.complete_and_claim(
    %(worker)s::bigint, %(lane)s::int, %(call)s::bigint, %(no)s::bigint, %(claim)s::uuid, %(want)s::int, %(used)s::int,
    %(capped)s::int[], %(capped_used)s::int[],
    %(types)s::int[], %(versions)s::smallint[], %(turns)s::int[], %(ranks)s::smallint[], %(ats)s::timestamptz[], %(ids)s::bigint[],
    %(below_turns)s::int[], %(belows)s::int[],
    %(done)s::bigint[], %(done_attempts)s::int[], %(done_claims)s::uuid[], %(done_results)s::text[], %(limits)s::jsonb)
