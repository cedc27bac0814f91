select s.relname::text, s.n_live_tup, s.n_dead_tup from pg_stat_user_tables s
where s.schemaname = 'lanework' and s.relname in ('jobs', 'claims', 'progress', 'workers', 'lane_use') and s.n_dead_tup > 100000
  and s.n_dead_tup > 5 * s.n_live_tup
order by s.n_dead_tup desc
