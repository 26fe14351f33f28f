"""Counts that kernels add to. They lie side by side, so that any number of them is read in one transfer."""

from collections.abc import Callable, Hashable, Sequence
from threading import Lock

import numpy as np

from exactla_backends.device.device import Device, Memory
from exactla_backends.device.planes import Count

SIDE_BY_SIDE = 1024


class Counts:
    """The counts of a device, each used once: zero until kernels add to it."""

    def __init__(self, device: Device, zeros: Callable[[int], Memory]) -> None:
        self._device = device
        self._zeros = zeros
        self._current: dict[Hashable, tuple[Memory, int]] = {}
        self._lock = Lock()

    def new(self) -> Count:
        """Another count."""
        place = self._device.place()
        with self._lock:
            memory, used = self._current.get(place, (None, SIDE_BY_SIDE))
            if used == SIDE_BY_SIDE:
                memory, used = self._zeros(SIDE_BY_SIDE), 0
            self._current[place] = memory, used + 1
        return Count(memory, used)

    def total(self, counts: Sequence[Count]) -> int:
        """The sum of counts: one transfer for all that lie side by side."""
        memories = {id(count.memory): count.memory for count in counts}
        shape = (SIDE_BY_SIDE,)
        found = {key: self._device.download(m, np.dtype(np.uint32), shape) for key, m in memories.items()}
        return sum(int(found[id(count.memory)][count.cell]) for count in counts)
