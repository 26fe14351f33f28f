"""Makes the benchmarks importable: they are not installed. Last on the path, so that they shadow nothing."""

import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])
if _ROOT not in sys.path:
    sys.path.append(_ROOT)
