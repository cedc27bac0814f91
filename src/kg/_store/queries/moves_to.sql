select old_id, form from kg.concept_moves where new_id = any (%(concepts)s::bigint[]) order by old_id
