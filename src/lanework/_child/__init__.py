"""A child process that runs jobs, one at a time: both of its ends.

    the worker's end     spawner · process (its life) · errand (one job) · channel · output · death · backoff
    the child's end      __main__ · desk (takes jobs) · link (what `ctx` talks to) · stdio · guards (signals, parent's death)
    between them         wire (framing) · answers (what a body gave)

`python -m lanework._child` has no secrets in its arguments and adds nothing to the environment; everything comes over a
private socket, as JSON lines.
"""
