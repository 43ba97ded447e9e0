"""`python -m novakind`, which `torchrun -m novakind` needs too: the same as the command `novakind`."""

import sys

from novakind.app.cli import main

sys.exit(main())
