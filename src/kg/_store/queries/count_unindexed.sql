select (select count(*) from kg.unindexed), (select count(*) from kg.unindexed_passages)
