"""Cuts elementwise work into pieces that stay in the cache, and runs them on the threads that the process may use.

NumPy releases the interpreter lock inside its loops, so pieces of some ten thousand entries keep several cores busy.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from typing import TypeVar

Piece = TypeVar("Piece")

CHUNK = 1 << 14
"""Entries of a piece: a few planes of int64 for each stay within a second-level cache."""


def chunks(shape: Sequence[int], size: int = CHUNK) -> Iterator[tuple[slice, ...]]:
    """Index tuples that cover an array of that shape, each of at most `size` entries; none where it is empty."""
    steps = []
    for length in reversed(shape):
        step = max(1, min(length, size))
        steps.append([slice(i, min(i + step, length)) for i in range(0, length, step)])
        size = size // step if step == length else 1
    return product(*reversed(steps))


def threads() -> int:
    """Threads for elementwise work: the cores of this process, or fewer if OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(wanted)) if wanted.isdigit() and int(wanted) > 0 else cores


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads(), thread_name_prefix="exactla")


# a forked child inherits the pool without its threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def for_each(function: Callable[[Piece], object], pieces: Iterable[Piece]) -> None:
    """Call a function on every piece, in threads where there are several of each."""
    work = list(pieces)
    if len(work) < 2 or threads() < 2:
        for piece in work:
            function(piece)
        return
    for _ in _pool().map(function, work):
        pass
