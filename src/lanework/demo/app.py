"""What the tour's workers load: `lanework worker …/demo/app.py`. The database comes from LANEWORK_DATA."""

from lanework import Lanework
from lanework.demo.jobs import declare

app = Lanework()
jobs = declare(app)
