"""Buffers of limbs as kernels take them. Knows arrays of the device's library by their memory, shape and strides."""

from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import cupy
import numpy as np

from exactla.core.limbs import Limbs
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.systems.kernels import Kernels
from exactla_backends.device.device import HostArray, Memory

FOLDER = Path(__file__).parent
MOST_THREADS, WARP = 256, 32
THREADS, GRID_LIMIT = 256, 65535
OCTETS = 8


class LongIntegers(NamedTuple):
    """A matrix of integers: an address, and strides in limbs from row to row and from entry to entry."""

    address: int
    rows: int
    columns: int
    row_stride: int
    entry_stride: int
    limbs: int

    @property
    def entries(self) -> int:
        """Rows times columns."""
        return self.rows * self.columns

    def words(self) -> tuple[int, int, int, int]:
        """What `xl_entry` of `common.cuh` takes, with 1 for no columns."""
        return self.address, max(self.columns, 1), self.row_stride, self.entry_stride


def long_integers(buffer: Any) -> LongIntegers:
    """Entries of a buffer of one axis or more beside that of limbs, as a matrix of the last of these and the others.

    A buffer of more than three axes is contiguous.
    """
    *outer, columns, count = buffer.shape
    strides = buffer.strides
    row_stride = strides[-3] // OCTETS if outer else 0
    return LongIntegers(buffer.data.ptr, prod(outer), columns, row_stride, strides[-2] // OCTETS, count)


def new(device: CudaDevice, shape: Sequence[int]) -> Any:
    """A contiguous buffer, uninitialised."""
    return device.array(device.allocate(OCTETS * prod(shape)), np.dtype(np.uint64), tuple(shape))


def contiguous(buffer: Any) -> Any:
    """The buffer, or a copy that is contiguous."""
    return buffer if _is_contiguous(buffer) else cupy.ascontiguousarray(buffer)


def _is_contiguous(buffer: Any) -> bool:
    expected = buffer.itemsize
    for length, stride in zip(reversed(buffer.shape), reversed(buffer.strides), strict=True):
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def upload(device: CudaDevice, limbs: Limbs) -> Any:
    """A buffer with these limbs."""
    limbs = np.ascontiguousarray(limbs)
    return device.array(device.upload(limbs), np.dtype(np.uint64), limbs.shape)


def download(device: CudaDevice, buffer: Any) -> Limbs:
    """The limbs of a buffer, on the host."""
    buffer = contiguous(buffer)
    return device.download(buffer.data, np.dtype(np.uint64), buffer.shape)


def places(device: CudaDevice, numbers: Sequence[int] | HostArray) -> Memory:
    """Integers on the device, int64."""
    return device.upload(np.ascontiguousarray(numbers, np.int64))


def threads_for(limbs: int) -> int:
    """Threads of a block that has an integer of so many limbs."""
    threads = WARP
    while threads < min(limbs, MOST_THREADS):
        threads *= 2
    return threads


class WideKernels:
    """Launches of this folder's kernels on the current device and stream."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._kernels = cache(self._compiled)

    def entries(self, text: str, name: str, entries: int, limbs: int, arguments: Sequence[Memory | int]) -> None:
        """Launch a kernel whose blocks have an integer each, of so many limbs."""
        self._blocks(text, name, entries, threads_for(limbs), arguments)

    def block(self, text: str, name: str, threads: int, arguments: Sequence[Memory | int]) -> None:
        """Launch a kernel on one block, of so many threads."""
        self._blocks(text, name, 1, threads, arguments)

    def _blocks(self, text: str, name: str, blocks: int, threads: int, arguments: Sequence[Memory | int]) -> None:
        """Launch a kernel that is compiled for blocks of so many threads."""
        self._kernels(text, threads).launch(f"xl_wide_{name}", (blocks,), threads, arguments)

    def grid(self, text: str, name: str, grid: Sequence[int], threads: int, arguments: Sequence[Memory | int]) -> None:
        """Launch another kernel."""
        self._kernels(text).launch(f"xl_wide_{name}", grid, threads, arguments)

    def _compiled(self, text: str, threads: int | None = None) -> Kernels:
        return Kernels(self._device, text, {"THREADS": threads} if threads else {}, FOLDER)
