"""What `lanework worker lanework.bench.app:app` loads; the database comes from LANEWORK_DSN."""

from lanework import Lanework
from lanework.bench.jobs import declare

app = Lanework()
jobs = declare(app)
