select lanework.merge_rollups(), lanework.extend_history()
