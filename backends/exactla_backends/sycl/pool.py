"""Memory of a CPU's queues that is used again, and why: fresh pages cost more than what most kernels do to them."""

import weakref
from collections import deque
from collections.abc import Hashable
from threading import Lock
from typing import Any

from dpctl.memory import MemoryUSMDevice

ALIGNMENT = 64
OWNED = 1 << 28
"""Bytes that a pool owns, at most, whether they are given out or not. Other memory goes back to the system at once."""

MOST_FREE = 128
"""Memories that nothing refers to, at most."""


class SyclMemory(MemoryUSMDevice):  # type: ignore[misc]
    """USM of a device. As a class of Python's it can be referred to weakly, so that its life can be watched."""

    loan: "_Loan | None" = None

    def leave(self) -> None:
        """Be used for nothing else, since an array leaves the library: views share its memory, and not this object."""
        if self.loan is not None:
            self.loan.end()


class _Loan(weakref.ref[SyclMemory]):
    """Memory that is given out as long as what is referred to is there."""

    queue: Hashable
    whole: Any  # None once it is no longer the pool's

    def end(self) -> None:
        self.whole = None


class Pool:
    """Gives memory of a queue out, and gives it out again when nothing refers to it any more.

    What is given out is a view of memory that only the pool knows. Whoever takes it has to come after all work that was
    given to the queue before.
    """

    def __init__(self, owned: int = OWNED) -> None:
        self._limit = owned
        self._loans: dict[int, _Loan] = {}
        # a method without bytecode, in the midst of which no signal is handled, whose exception would be lost
        self._ended: deque[_Loan] = deque()
        self._free: deque[_Loan] = deque()
        self._lock = Lock()

    @property
    def free_bytes(self) -> int:
        """Bytes that nothing refers to."""
        with self._lock:
            self._collect()
            return sum(loan.whole.nbytes for loan in self._free)

    def take(self, queue: Any, size: int) -> SyclMemory:
        """Uninitialised memory of `size` bytes."""
        with self._lock:
            self._collect()
            whole = self._found(queue, size)
            if whole is None and not self._has_room(size):
                return SyclMemory(size, alignment=ALIGNMENT, queue=queue)
            return self._lent(queue, whole or MemoryUSMDevice(size, alignment=ALIGNMENT, queue=queue))

    def _lent(self, queue: Hashable, whole: Any) -> SyclMemory:
        memory = SyclMemory(whole)
        loan = _Loan(memory, self._ended.append)
        loan.queue, loan.whole = queue, whole
        memory.loan = self._loans[id(loan)] = loan
        return memory

    def _collect(self) -> None:
        """Find what nothing refers to any more."""
        while self._ended:
            loan = self._loans.pop(id(self._ended[0]), None)
            if loan is not None and loan.whole is not None:
                self._free.append(loan)
            self._ended.popleft()
        while len(self._free) > MOST_FREE:
            self._free.popleft()

    def _found(self, queue: Any, size: int) -> Any:
        for loan in reversed(self._free):
            if loan.whole.nbytes == size and loan.queue == queue:
                self._free.remove(loan)
                return loan.whole
        return None

    def _has_room(self, size: int) -> bool:
        """Whether memory of `size` bytes may be owned as well, for which the oldest that is free is let go."""
        lent: int = sum(loan.whole.nbytes for loan in self._loans.values() if loan.whole is not None)
        room = self._limit - lent - size
        excess = sum(loan.whole.nbytes for loan in self._free) - room
        while room >= 0 and excess > 0:
            excess -= self._free.popleft().whole.nbytes
        return room >= 0
