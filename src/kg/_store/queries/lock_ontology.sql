-- Alone in a statement: whoever waited here must see what was committed meanwhile. Everything that follows in its transaction finds a
-- few rows by an index; a plan that was made while a table was small must not read all of it later. And since that one plan is as good
-- for any values, it is made once: making them is a fifth of what a chunk costs the server.
select pg_advisory_xact_lock(hashtextextended('kg.ontology', %(ontology)s)), set_config('enable_seqscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true)
