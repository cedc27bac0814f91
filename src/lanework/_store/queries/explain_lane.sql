select lane, reason, text, waits_for, holders, until, remedy from lanework.explain_lane(%(name)s::text)
