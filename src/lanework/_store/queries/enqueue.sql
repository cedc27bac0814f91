select lanework.enqueue(
           type => %(type)s,
           payload => cast(%(payload)s as jsonb),
           priority => cast(%(priority)s as int),
           run_at => coalesce(cast(%(run_at)s as timestamptz), lanework.now() + make_interval(secs => cast(%(delay)s as float8))),
           idempotency_key => cast(%(key)s as text),
           owner => cast(%(owner)s as text),
           tags => cast(%(tags)s as text[]),
           max_age => make_interval(secs => cast(%(max_age)s as float8)),
           max_tries => cast(%(max_tries)s as int),
           version => cast(%(version)s as int),
           hint => cast(%(hint)s as boolean)),
       (select lane from lanework.job_types where name = %(type)s)
