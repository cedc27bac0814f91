-- Where the ones of these went that have no names left.
with empty as (
    select c.id from unnest(%(concepts)s::bigint[]) as c (id) where not exists (select from kg.names n where n.concept_id = c.id)
), moved as (
    select m.old_id, m.new_id, m.form from unnest(%(olds)s::bigint[], %(news)s::bigint[], %(forms)s::text[]) as m (old_id, new_id, form)
    join empty e on e.id = m.old_id
), elder as (
    update kg.concepts c set first_epoch = least(c.first_epoch, o.first_epoch)
    from (select m.new_id, min(o.first_epoch) as first_epoch from moved m join kg.concepts o on o.id = m.old_id group by 1) o
    where c.id = o.new_id
), along as (
    update kg.concept_moves k set new_id = m.new_id from moved m where k.new_id = m.old_id
)
insert into kg.concept_moves (old_id, new_id, form) select old_id, new_id, form from moved
