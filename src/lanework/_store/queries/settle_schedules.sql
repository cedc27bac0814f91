select name, because from lanework.settle_schedules()
