"""How long a call goes on after Ctrl-C, and whether the library is usable afterwards.

    python -m tests.interrupts BACKEND CALL SIZE

prints the seconds that each of three signals, early and late in a call of that size, takes to end it, and fails where
one of them is more than a second. On the host these are seconds of the calling thread on a processor, which other work
on the machine does not change; where a device computes, the host only waits for it, and they are seconds of the clock.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import exactla as xl

DELAYS = (0.02, 0.3, 0.7)
"""Seconds from the beginning of a call to a signal."""

LIMIT = 1.0
"""Seconds after which a call has to have ended."""

SMALL = 40
"""Side of the problems whose answers are compared."""

ON_THE_HOST = ("numpy", "cpu")
"""Backends whose calls compute in the calling thread, if they are told to use no other."""

Clock = Callable[[], float]
"""Seconds since some time."""

Call = Callable[[int], str]
"""Works on a problem of a size and returns its digest."""


def solve(size: int) -> str:
    """The solution of a random system of 24-bit entries."""
    generator = np.random.default_rng(1)
    matrix, right = (generator.integers(-(1 << 23), 1 << 23, shape) for shape in ((size, size), size))
    return _digest(xl.solve(matrix, right).round("float64"))


def lu(size: int) -> str:
    """A factorisation in 4,000 bits, and a solution by it."""
    matrix = np.random.default_rng(1).standard_normal((size, size))
    factors = xl.lu_factor(matrix, precision=4000)
    return _digest(factors.L, factors.U, factors.solve(matrix[:, 0]))


def _digest(*arrays: Any) -> str:
    return str(xl.digest(*arrays))


CALLS: dict[str, Call] = {"solve": solve, "lu": lu}
"""What can be interrupted, by name."""


def clock_of(backend: str) -> Clock:
    """What measures how long a call on that backend goes on; to be read from any thread."""
    if backend not in ON_THE_HOST:
        return time.perf_counter
    processor = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(processor)


def interrupted(call: Call, size: int, clock: Clock) -> Iterator[float]:
    """Seconds that a call goes on after a signal, for each delay; what a small call finds has to stay the same."""
    expected = call(SMALL)
    for delay in DELAYS:
        pressed: list[float] = []
        timer = threading.Timer(delay, _press, (clock, pressed))
        timer.start()
        try:
            while True:  # a fast device ends many calls before the signal
                call(size)
        except KeyboardInterrupt:
            yield clock() - pressed[0]
        if call(SMALL) != expected:
            raise ArithmeticError("an interrupt changed what a later call finds")


def _press(clock: Clock, pressed: list[float]) -> None:
    pressed.append(clock())
    os.kill(os.getpid(), signal.SIGINT)  # to the process: the main thread's pauses end, as those of a terminal do


def assert_stops(backend: str, call: str, size: int) -> None:
    """Run this module, in a process of its own and on one thread."""
    command = [sys.executable, "-m", __name__, backend, call, str(size)]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=one_thread)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.split()) == len(DELAYS)


def main(backend: str, call: str, size: str) -> int:
    """The command line."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    worst = 0.0
    with xl.backend(backend):
        for seconds in interrupted(CALLS[call], int(size), clock_of(backend)):
            sys.stdout.write(f"{seconds:.3f}\n")
            worst = max(worst, seconds)
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
