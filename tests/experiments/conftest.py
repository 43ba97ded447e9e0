"""`experiments` is no part of the installed package: tests take it from the repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
