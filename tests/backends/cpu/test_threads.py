"""How many threads the native library starts: as OMP_NUM_THREADS, threadpoolctl and `exactla.threads` say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

library = pytest.importorskip("exactla_backends.cpu.native.library")
if library.path() is None:
    pytest.skip("this installation has no native library", allow_module_level=True)

TASKS = Path("/proc/self/task")
pytestmark = pytest.mark.skipif(not TASKS.exists(), reason="this system does not list the threads of a process")

PROGRAM = """
import json, os, sys
from contextlib import nullcontext
import numpy as np
from threadpoolctl import threadpool_limits
import exactla as xl
from exactla_backends.cpu.native import library

rng = np.random.default_rng(1)
a, batch = rng.standard_normal((300, 300)), rng.standard_normal((40, 20, 100))
settings = {
    "none": nullcontext,
    "threads": lambda: xl.threads(int(sys.argv[1])),
    "limit": lambda: threadpool_limits(int(sys.argv[1]), user_api="openmp"),
}

def digest():
    return xl.digest(*xl.mm_enclose(a, a), *xl.mm_interval(a, abs(a), a, abs(a)), *xl.mm_enclose_nt(batch, batch))

with xl.backend("cpu"):
    before = len(os.listdir("/proc/self/task"))
    with settings[sys.argv[2]]():
        found = digest()
        print(json.dumps((library.threads(), len(os.listdir("/proc/self/task")) - before + 1, found)))
"""


def run(number, setting, openmp):
    """Threads that a call may use, and has used, and the digest of what it found."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(number), setting],
        env=os.environ | {"OMP_NUM_THREADS": str(openmp)},
        capture_output=True,
        text=True,
        timeout=280,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def expected():
    return run(1, "none", 1)[2]


@pytest.mark.parametrize(
    ("number", "setting", "openmp"),
    [(1, "none", 1), (3, "none", 3), (3, "threads", 1), (1, "threads", 3), (2, "limit", 3), (1, "limit", 3)],
)
def test_threads(expected, number, setting, openmp):
    assert run(number, setting, openmp) == [number, number, expected]
