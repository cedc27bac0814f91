"""The application of these tests. What a body did is noted in a file; when it may go on is said by gates, which are files too.

Child processes and workers import this module; the tests read what it leaves behind.
"""

from tests.inside.jobs import children, effects, logs, maps, order, steps
from tests.inside.jobs.base import FOLDER, SECRET, app
from tests.inside.jobs.children import app_job

__all__ = ["FOLDER", "SECRET", "app", "app_job", "children", "effects", "logs", "maps", "order", "steps"]
