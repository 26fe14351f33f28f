"""What a device has to do for `DeviceBackend`: hold memory, run kernels, and give results to the host when asked."""

from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from exactla.libraries.base import Source

HostArray = NDArray[Any]
Memory = Any
"""Bytes of a device. Opaque: only its own device looks inside.

They live as long as the object and the work that was given to the device with it.
"""


class Layout(NamedTuple):
    """Where the entries of an array lie: strides in bytes, of any sign, from the byte `offset` of a memory on."""

    memory: Memory
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Device(Protocol):
    """Memory and kernels of the current place: a queue or stream, the caller's inside `scope`, else a default one.

    Work is done in the order in which it is given, and nothing but `download` waits for it.
    """

    @property
    def lanes(self) -> int:
        """Entries for each work item of the current place, XL_LANES: 1, 4 or 16."""

    @property
    def fixed_limbs(self) -> int:
        """Kernels for integers of up to so many limbs are compiled for each number, others for many at once."""

    def scope(self, like: Source) -> AbstractContextManager[None]:
        """Make the queue or stream that the caller's array is used in the current place."""

    def place(self) -> Hashable:
        """The current place: what was made in one may be used in another one only after the caller's own waiting."""

    def allocate(self, size: int) -> Memory:
        """Uninitialised memory of that many bytes, which may be 0, at a multiple of 64."""

    def upload(self, array: HostArray) -> Memory:
        """The bytes of a contiguous host array, which may be written to as soon as this returns."""

    def layout(self, array: Any) -> Layout:
        """Where an array of the device's own library has its entries; not copied."""

    def contiguous(self, array: Any) -> Any:
        """An array of the device's own library with the same entries, contiguous in C order."""

    def array(self, memory: Memory, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> Any:
        """An array of the device's own library over a memory, contiguous in C order; not copied."""

    def download(self, memory: Memory, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> HostArray:
        """The first bytes of a memory as a host array. The only method that waits for the device."""

    def launch(
        self, kernel: str, constants: Mapping[str, int], grid: tuple[int, int, int], arguments: Sequence[Memory | int]
    ) -> None:
        """Run `xl_kernel_<kernel>` of `kernels.text.kernel_text`, compiled with the constants as macros, on a grid.

        Integers are passed as int64_t. The grid has one work item, at least, for each index below its three lengths,
        of which the first runs fastest in memory; along the other two, kernels step by the size of the grid, so that
        a device may launch fewer than are asked for. None of the lengths is 0.
        """

    def free_bytes(self) -> int:
        """Bytes of memory that can be taken now."""
