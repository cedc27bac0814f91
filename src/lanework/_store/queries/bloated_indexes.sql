select name, bytes, command from lanework.bloated_indexes()
