"""Cells that kernels count in, cleared many at a time: most calls need a few that are 0, and clearing is a launch."""

from collections.abc import Hashable
from threading import Lock
from typing import NamedTuple

from exactla_backends.cuda.device import CudaDevice
from exactla_backends.device.device import Memory

TOGETHER, CELL = 1024, 4
"""Cells that are cleared together, and the bytes of one."""


class Cells(NamedTuple):
    """A few cells, int32, that follow each other and are used once."""

    memory: Memory
    first: int

    def address(self, number: int) -> int:
        """Where a cell lies."""
        address: int = self.memory.ptr + CELL * (self.first + number)
        return address


class CellPool:
    """The cells of a device: of each place, since their memory is used again in the order of its stream."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._current: dict[Hashable, tuple[Memory, int]] = {}
        self._lock = Lock()

    def take(self, count: int, place: Hashable) -> Cells:
        """So many cells that are 0, which nobody used before; the place is the current one."""
        with self._lock:
            memory, used = self._current.get(place, (None, TOGETHER))
            if used + count > TOGETHER:
                memory, used = self._device.allocate(CELL * TOGETHER), 0
                self._device.clear(memory)
            self._current[place] = memory, used + count
        return Cells(memory, used)

    def read(self, cells: Cells, first: int, count: int) -> list[int]:
        """What some of the cells hold: a host synchronisation."""
        return self._device.download_cells(cells.memory, cells.first + first, count)
