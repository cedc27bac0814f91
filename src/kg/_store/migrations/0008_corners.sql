-- Which names are compared for their vectors: those that share a band of corners, and no longer of planes (`kg.graph.sketch`), which
-- brought some hundred wrong ones along for each name of a large ontology. What stands in `marks` is of the old form: a name is found by
-- its keys alone until its corners are made from its vector (`kg.graph.sketching`), some names at a time, by the platform's upkeep.
-- Another name for the column: who still writes the old form must not write it here.
drop index kg.marks_bands_idx;
alter table kg.marks drop column bands, add column corners int[];
create index marks_corners on kg.marks using gin (corners) with (fastupdate = off);
create index marks_old on kg.marks (ontology_id, space, name_id) where corners is null;
