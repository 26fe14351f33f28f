"""Memory of a CPU's queues that is used again, and why: fresh pages cost more than what most kernels do to them."""

import weakref
from collections import deque
from collections.abc import Hashable
from threading import RLock
from typing import Any

from dpctl.memory import MemoryUSMDevice

ALIGNMENT = 64
KEPT = 1 << 28
"""Bytes that are kept, at most. Memory that is larger goes back to the system at once."""


class SyclMemory(MemoryUSMDevice):  # type: ignore[misc]
    """USM of a device. As a class of Python's it can be referred to weakly, so that its life can be watched."""

    returning: "weakref.finalize[Any, SyclMemory] | None" = None

    def leave(self) -> None:
        """Be used for nothing else, since an array leaves the library: views share its memory, and not this object."""
        if self.returning is not None:
            self.returning.detach()


class Pool:
    """Gives memory of a queue out, and gives it out again when nothing refers to it any more.

    What is given out is a view of memory that only the pool knows. Whoever takes it has to come after all work that was
    given to the queue before.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._limit = kept
        self._kept: deque[tuple[Hashable, int, Any]] = deque()
        self._lock = RLock()  # a collection of garbage may give memory back in the midst of either method

    @property
    def kept_bytes(self) -> int:
        """Bytes that nothing refers to."""
        return sum(size for _, size, _ in tuple(self._kept))

    def take(self, queue: Any, size: int) -> SyclMemory:
        """Uninitialised memory of `size` bytes."""
        whole = self._found(queue, size) or MemoryUSMDevice(size, alignment=ALIGNMENT, queue=queue)
        memory = SyclMemory(whole)
        if size <= self._limit:
            memory.returning = weakref.finalize(memory, self._give_back, queue, size, whole)
            memory.returning.atexit = False
        return memory

    def _found(self, queue: Any, size: int) -> Any:
        with self._lock:
            for entry in reversed(tuple(self._kept)):
                if entry[:2] == (queue, size):
                    self._kept.remove(entry)
                    return entry[2]
        return None

    def _give_back(self, queue: Hashable, size: int, whole: Any) -> None:
        with self._lock:
            self._kept.append((queue, size, whole))
            excess = self.kept_bytes - self._limit
            while excess > 0:
                excess -= self._kept.popleft()[1]
