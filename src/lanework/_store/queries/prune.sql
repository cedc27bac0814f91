select thing, removed from lanework.prune()
