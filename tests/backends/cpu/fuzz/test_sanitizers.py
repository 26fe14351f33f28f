"""The whole native library under sanitizers, on the jobs of the fuzz target; each with an error that it has to find."""

import pytest

from tests.backends.cpu.fuzz import building

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

OPTIONS = {
    building.ADDRESS: ("--jobs", "200", "--seconds", "60"),
    building.THREAD: ("--jobs", "60", "--seconds", "60", "--threads", "3"),
}

# what a program that loads the library does wrong, and what its sanitizer says to that
MISTAKES = {
    building.ADDRESS: (
        """
        lowest = lowest[:-1].copy()
        native.call("scan", ctypes.byref(stack), pointer(lowest), pointer(highest), I64(1))
        """,
        "heap-buffer-overflow",
    ),
    building.THREAD: (
        """
        def scan(_):
            for _ in range(100):
                native.call("scan", ctypes.byref(stack), pointer(lowest), pointer(highest), I64(1))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(scan, range(2)))
        """,
        "data race",
    ),
}
PROGRAM = """
    if True:
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
        lowest, highest = np.zeros(300, np.int64), np.zeros(300, np.int64)
        def pointer(array):
            return ctypes.c_void_p(library.pointer(array))
"""


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
    mistake, message = MISTAKES[build]
    done = building.run(build, ["-c", PROGRAM + mistake, str(building.library(build))], timeout=300)
    assert done.returncode != 0
    assert message in done.stderr
