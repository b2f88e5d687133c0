"""``python -m skiff`` is the command ``skiff``."""

import sys

from skiff._command import main

sys.exit(main())
