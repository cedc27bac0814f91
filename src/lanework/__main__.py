"""`python -m lanework` is `lanework`."""

from lanework.cli import main

raise SystemExit(main())
