select x.since, x.until, m.at, m.lane, m.type, m.submitted, m.started, m.completed, m.failed, m.retried, m.recovered, m.cancelled,
       m.wait_s, m.run_s, m.spend::float8, m.wait_hist, m.run_hist, m.failed_by
from (
    select date_trunc('minute', coalesce(%(since)s::timestamptz, lanework.now() - make_interval(secs => %(since_ago)s::float8))) as since,
           coalesce(%(until)s::timestamptz, lanework.now() - make_interval(secs => %(until_ago)s::float8)) as until) x
cross join lateral lanework.read_metrics(
    x.since, x.until, make_interval(secs => %(step)s::float8), %(lanes)s::text[], %(types)s::text[]) m
