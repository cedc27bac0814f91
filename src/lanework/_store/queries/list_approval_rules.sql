select r.type, r.owner, r.policy, r.above, r.currency, r.four_eyes, r.set_by, r.updated_at from (
    select type, owner, policy, above, currency, four_eyes, set_by, updated_at, 0 as place from lanework.approval_rules
    union all
    select name, '*', approval, approval_above, approval_currency, four_eyes, 'code', null, 1 from lanework.job_types
    where approval <> 'never' or four_eyes or estimator is not null) r
order by r.place, r.type, r.owner
