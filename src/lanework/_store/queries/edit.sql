select lanework.edit(%(id)s, cast(%(payload)s as jsonb), cast(%(version)s as int), %(by)s)
