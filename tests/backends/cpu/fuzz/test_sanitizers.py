"""The whole native library under sanitizers, on the jobs of the fuzz target; each with an error that it has to find."""

import pytest

from tests.backends.cpu.fuzz import building

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

OPTIONS = {
    building.ADDRESS: ("--jobs", "200", "--seconds", "60"),
    building.THREAD: ("--jobs", "40", "--seconds", "40", "--threads", "2"),
}

PROGRAM = """
import ctypes, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
from exactla.formats import FLOAT64
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64

library.path = lambda: Path(sys.argv[1])
native = library.Instructions(library.load(), "portable")
stack = library.stack(np.ones((1, 300, 4), np.uint64), FLOAT64, None, 0, 0)
lowest, highest, nonfinite = (np.zeros(n, np.int64) for n in (300 - SHORT, 300, 1))

def scan(_):
    for _ in range(100):
        places = (ctypes.c_void_p(library.pointer(x)) for x in (lowest, highest, nonfinite))
        native.call("scan", ctypes.byref(stack), I64(1), *places, I64(1))

with ThreadPoolExecutor(2) as pool:
    list(pool.map(scan, range(2)))
"""

# how many rows of what is written to are missing, and what the sanitizer says: to that, or to threads that both write
MISTAKES = {building.ADDRESS: ("1", "heap-buffer-overflow"), building.THREAD: ("0", "data race")}


@pytest.fixture(params=[building.ADDRESS, building.THREAD], ids=lambda build: build.name)
def build(request):
    reason = building.why_not(request.param)
    if reason is not None:
        pytest.skip(f"native library under the {request.param.name} sanitizer NOT EXERCISED: {reason}")
    return request.param


def test_jobs(build):
    done = building.run_jobs(build, OPTIONS[build], timeout=1000)
    assert done.returncode == 0, done.stderr
    assert "agree" in done.stdout


def test_mistakes_are_found(build):
    """The negative control."""
    short, message = MISTAKES[build]
    program = PROGRAM.replace("SHORT", short)
    done = building.run(build, ["-c", program, str(building.library(build))], timeout=300)
    assert done.returncode != 0
    assert message in done.stderr, done.stderr
