"""Tables of constants on a device: each is uploaded once for a place, and kept while it is in use."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from exactla_backends.device.device import Device, HostArray, Memory

KEPT = 512
"""Tables of all places together."""


class Constants:
    """The tables that calls have needed last, on the device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kept: OrderedDict[Hashable, tuple[Memory, HostArray]] = OrderedDict()
        self._lock = Lock()

    def __call__(self, table: HostArray) -> Memory:
        """The table on the device; nobody may write to it."""
        # a table that cannot change is known by its address as long as it is held here
        content: Hashable = table.tobytes() if table.flags.writeable else id(table)
        key = self._device.place(), content
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        memory = self._device.upload(table)
        with self._lock:
            self._kept[key] = memory, table
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return memory
