"""Runs pieces of work on as many threads as BLAS may use, each of which calls BLAS for itself.

NumPy releases the interpreter lock inside its loops and products, so pieces of some ten thousand entries keep several
cores busy. BLAS is told meanwhile to use one thread a call: its own threads would wait for work by spinning, on the
cores that the pieces run on. threadpoolctl reads and sets the number, so its limits and OMP_NUM_THREADS are honoured.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from exactla.settings import thread_count

Piece = TypeVar("Piece")


class _Blas:
    """The number of threads of NumPy's BLAS, set to one while any caller wants that."""

    def __init__(self) -> None:
        np.dot(np.ones(1), np.ones(1))  # the library is found once it is loaded
        self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        self._lock = threading.Lock()
        self._users = 0
        self._threads = [1] * len(self._libraries)

    def threads(self) -> int:
        """Threads that BLAS would use by itself; the cores of the process where it cannot be asked."""
        if not self._libraries:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        with self._lock:
            return max(self._threads if self._users else self._current())

    @contextmanager
    def single(self) -> Iterator[None]:
        """One thread a call inside the block."""
        with self._lock:
            if not self._users:
                self._threads = self._current()
                self._set([1] * len(self._libraries))
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._set(self._threads)

    def _current(self) -> list[int]:
        return [library.get_num_threads() or 1 for library in self._libraries]

    def _set(self, threads: list[int]) -> None:
        for library, number in zip(self._libraries, threads, strict=True):
            library.set_num_threads(number)
            # newer versions let one thread at a time set the number, and go on doing so until told otherwise
            getattr(library, "clear_controlling_thread", lambda: None)()


_BLAS = _Blas()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="exactla")


# a forked child inherits pools without their threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def threads() -> int:
    """Threads that pieces of work may run on."""
    return thread_count.get() or _BLAS.threads()


def for_each(function: Callable[[Piece], object], pieces: Iterable[Piece]) -> None:
    """Call a function on every piece, in threads where there are several of each."""
    work = list(pieces)
    number = min(len(work), threads()) if len(work) > 1 else 1
    if number < 2:
        with nullcontext() if thread_count.get() is None else _BLAS.single():
            for piece in work:
                function(piece)
        return
    with _BLAS.single():
        for _ in _pool(threads()).map(function, work):
            pass
