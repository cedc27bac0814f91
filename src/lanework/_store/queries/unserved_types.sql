select type, lane from lanework.unserved_types order by type
