select current_setting('server_version'), current_database()::text, lanework.now(), l.worker_id, w.name,
       (select coalesce(sum(r.completed), 0)::bigint from lanework.rollups r where r.minute > lanework.now() - interval '5 min'),
       (select coalesce(sum(r.failed), 0)::bigint from lanework.rollups r where r.minute > lanework.now() - interval '5 min')
from (select max(worker_id) as worker_id from lanework.leader where until > lanework.now()) l
left join lanework.workers w on w.id = l.worker_id
