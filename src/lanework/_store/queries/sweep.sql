select what, count from lanework.sweep()
