select lanework.merge_rollups(), lanework.extend_history(), lanework.extend_events()
