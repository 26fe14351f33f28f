"""Lets tests import `tests` and `bench` from any kind of installation.

The checkout goes to the end of the path, so that what is tested is the installed exactla, not the files beside this.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
