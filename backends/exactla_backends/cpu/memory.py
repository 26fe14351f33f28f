"""Memory for residues, which is kept for the calls to come.

What the system gives it clears first, page by page, and takes back as slowly: for planes of residues that is a tenth of
the time of a product. So large memory is handed out again as soon as no array uses it any more.
"""

import os
import threading
import weakref
from collections import deque

import numpy as np

from exactla_backends.cpu.native.library import Array

LEAST_BYTES = 1 << 22
"""From which on memory is kept: NumPy has large pages from here on."""

KEPT_BYTES = 1 << 29
"""Of all memory that is kept unused."""


class Pool:
    """Memory of any thread for any thread; what was unused for longest goes first where there is too much."""

    def __init__(self, least: int = LEAST_BYTES, most: int = KEPT_BYTES) -> None:
        self._least, self._most = least, most
        self._unlock()
        self._returned: deque[Array] = deque()
        self._kept: list[Array] = []

    def _unlock(self) -> None:
        """A lock that nobody has, as the one of a process that was forked may be had by a thread that is not in it."""
        self._lock = threading.Lock()

    def octets(self, size: int) -> Array:
        """`size` octets with any contents."""
        if size < self._least:
            return np.empty(size, np.uint8)
        block = self._taken(size)
        # views of arrays are views of what these are views of: a memoryview is where that ends
        lent = np.frombuffer(block.data, np.uint8, size)
        weakref.finalize(lent, self._give, block).atexit = False
        return lent

    def _taken(self, size: int) -> Array:
        with self._lock:
            self._tidy()
            fitting = [i for i, block in enumerate(self._kept) if size <= block.size <= 2 * size]
            if fitting:
                return self._kept.pop(min(fitting, key=lambda i: self._kept[i].size))
        try:
            return np.empty(size, np.uint8)
        except MemoryError:
            self.clear()
            return np.empty(size, np.uint8)

    def clear(self) -> None:
        """Give back what is unused."""
        with self._lock:
            self._tidy()
            self._kept.clear()

    def _give(self, block: Array) -> None:
        """Runs when garbage is collected, so perhaps while this thread has the lock: then the next call tidies up."""
        self._returned.append(block)
        if self._lock.acquire(blocking=False):
            try:
                self._tidy()
            finally:
                self._lock.release()

    def _tidy(self) -> None:
        while self._returned:
            self._kept.append(self._returned.popleft())
        while sum(block.size for block in self._kept) > self._most:
            self._kept.pop(0)


_pool = Pool()
octets, clear = _pool.octets, _pool.clear
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool._unlock)
