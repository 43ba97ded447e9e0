"""`python -m novakind`, which `torchrun -m novakind` needs too: the same as the command `novakind`."""

import os
import sys

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # before torch is there: its remarks are not for users

from novakind.app.cli import main

sys.exit(main())
