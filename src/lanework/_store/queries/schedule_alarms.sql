select kind, name, what from lanework.schedule_alarms()
