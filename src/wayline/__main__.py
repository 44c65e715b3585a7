"""`python -m wayline`: the command where it is not on the PATH."""

import sys

from wayline.cli import main

sys.exit(main())
