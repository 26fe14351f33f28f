"""Memory for residues, which is kept for the calls to come.

What the system gives it clears first, page by page, and takes back as slowly: for planes of residues that is a tenth of
the time of a product. So large memory is handed out again as soon as no array uses it any more.
"""

import os
import threading
import weakref

import numpy as np

from exactla_backends.cpu.native.library import Array

LEAST_BYTES = 1 << 22
"""From which on memory is kept: NumPy has large pages from here on."""

MOST_BYTES = 1 << 29
"""Of all memory that is kept, in use or not."""


class Pool:
    """Memory of any thread for any thread; what was unused for longest goes first where room is wanted."""

    def __init__(self, least: int = LEAST_BYTES, most: int = MOST_BYTES) -> None:
        self._least, self._most = least, most
        self._unlock()
        self._uses: list[tuple[weakref.ref[Array], Array]] = []  # arrays that were given out, and their blocks
        self._unused: list[Array] = []

    def _unlock(self) -> None:
        """A lock that nobody has, as the one of a process that was forked may be had by a thread that is not in it."""
        self._lock = threading.Lock()

    def octets(self, size: int) -> Array:
        """`size` octets with any contents."""
        if size < self._least:
            return np.empty(size, np.uint8)
        with self._lock:
            block = self._block(size)
            if block is None:
                return np.empty(size, np.uint8)
            # views of arrays are views of what these are views of: a memoryview is where that ends
            found: Array = np.frombuffer(block.data, np.uint8, size)
            self._uses.append((weakref.ref(found), block))
        return found

    def _block(self, size: int) -> Array | None:
        """An unused or a new block, None where no more may be kept."""
        self._collect()
        fitting = [i for i, block in enumerate(self._unused) if size <= block.size <= 2 * size]
        if fitting:
            return self._unused.pop(min(fitting, key=lambda i: self._unused[i].size))
        room = self._most - sum(block.size for _, block in self._uses) - size
        if room < 0:
            return None
        while sum(block.size for block in self._unused) > room:
            self._unused.pop(0)
        try:
            return np.empty(size, np.uint8)
        except MemoryError:
            self._unused.clear()
            return np.empty(size, np.uint8)

    def _collect(self) -> None:
        """Find the blocks whose arrays are gone; an interrupt loses some, and gives none of them out twice."""
        ended = [use() is None for use, _ in self._uses]
        blocks = [block for (_, block), is_over in zip(self._uses, ended, strict=True) if is_over]
        self._uses = [x for x, is_over in zip(self._uses, ended, strict=True) if not is_over]
        self._unused += blocks

    def clear(self) -> None:
        """Give back what is unused."""
        with self._lock:
            self._collect()
            self._unused.clear()


_pool = Pool()
octets, clear = _pool.octets, _pool.clear
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool._unlock)
