"""What the units of this CPU do at most: `peak.c`, compiled and run; and other C of the benchmarks, compiled.

Knows nothing of exactla.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_SOURCE = Path(__file__).with_name("peak.c")


def missing() -> str | None:
    """Why nothing can be measured here; None where it can."""
    return None if _compiler() else "there is no C compiler: install gcc, or name one in CC"


def measure(threads: int) -> dict[str, float]:
    """Multiply-adds of bytes a second of "amx" and "avx512_vnni", where they are, and bytes a second of "memory"."""
    with tempfile.TemporaryDirectory(prefix="exactla-bench-") as folder:
        program = Path(folder) / "peak"
        command = [_compiler() or "cc", "-O2", "-fopenmp", str(_SOURCE), "-o", str(program)]
        subprocess.run(command, check=True)
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run([str(program)], env=environment, capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def compile_library(source: Path, target: Path) -> None:
    """A shared library of C with OpenMP, for this CPU; sums and products stay as they are written."""
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fopenmp", "-shared", "-fPIC"]
    subprocess.run([_compiler() or "cc", *flags, str(source), "-o", str(target)], check=True)


def _compiler() -> str | None:
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
