select lanework.hint_events()
