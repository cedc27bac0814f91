select lane, type, waiting, oldest from lanework.queue_depth(%(most)s)
