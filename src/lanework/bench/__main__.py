import sys

from lanework.bench.command import main

sys.exit(main())
