with recursive step (id, hops) as (
    select new_id, 1 from kg.concept_moves where old_id = %(id)s
    union all
    select m.new_id, hops + 1 from step join kg.concept_moves m on m.old_id = step.id where hops < 20
)
select id from step order by hops desc limit 1
