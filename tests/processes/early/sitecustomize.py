"""Found by every process that the harness starts: plants a bug before the engine is loaded, if one is asked for."""

import os

if os.environ.get("LANEWORK_TEST_PLANT"):
    from tests.processes import plants

    plants.plant(os.environ["LANEWORK_TEST_PLANT"])
