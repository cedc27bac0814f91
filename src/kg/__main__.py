"""`python -m kg`"""

import sys

from kg.cli import main

sys.exit(main())
