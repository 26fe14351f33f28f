"""CUDA devices through CuPy: memory of its pool, the current stream, and kernels compiled by NVRTC."""

import ctypes
import threading
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from math import prod
from typing import Any

import cupy
import numpy as np

from exactla.libraries.base import Source
from exactla_backends.cuda import driver
from exactla_backends.device.device import HostArray, Layout, Memory
from exactla_backends.kernels.text import kernel_text

THREADS, GRID_LIMIT = 256, 65535
PINNED_CELLS = 64


class CudaDevice:
    """See `exactla_backends.device.device.Device`. The place is a device with its current stream.

    Memory is CuPy's: what is let go is used again by later work of the same stream only.
    """

    lanes = 4
    fixed_limbs = 12

    def __init__(self) -> None:
        self._pinned = _PinnedCells()

    def scope(self, like: Source) -> AbstractContextManager[None]:
        return nullcontext() if like.device_kind == "cpu" else like.library.scope(like)

    def place(self) -> Hashable:
        return self.number, self.stream

    @property
    def number(self) -> int:
        """The current device."""
        return int(cupy.cuda.runtime.getDevice())

    def current(self, number: int) -> AbstractContextManager[Any]:
        """Make a device the current one, with its own current stream."""
        found: AbstractContextManager[Any] = cupy.cuda.Device(number)
        return found

    @property
    def stream(self) -> int:
        """The current stream of the current device."""
        return int(cupy.cuda.get_current_stream().ptr)

    def allocate(self, size: int) -> Memory:
        return cupy.cuda.alloc(max(size, 1))

    def clear(self, memory: Memory) -> None:
        """Fill a memory with zeros."""
        memory.memset_async(0, memory.mem.size - (memory.ptr - memory.mem.ptr))

    def upload(self, array: HostArray) -> Memory:
        memory = self.allocate(array.nbytes)
        if array.nbytes:
            self.write(memory, array)
        return memory

    def write(self, memory: Memory, array: HostArray) -> None:
        """As `upload`, to the beginning of a memory, of an array that is not empty."""
        # pageable memory: the call returns once the bytes are on their way in a buffer of the driver
        memory.copy_from_host_async(ctypes.c_void_p(array.ctypes.data), array.nbytes)

    def layout(self, array: Any) -> Layout:
        return Layout(array.data, 0, array.shape, array.strides)

    def contiguous(self, array: Any) -> Any:
        return cupy.ascontiguousarray(array)

    def array(self, memory: Memory, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> Any:
        return cupy.ndarray(shape, dtype, memptr=memory)

    def download(self, memory: Memory, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> HostArray:
        found = np.empty(shape, dtype)
        if found.nbytes:
            memory.copy_to_host_async(ctypes.c_void_p(found.ctypes.data), found.nbytes)
            cupy.cuda.get_current_stream().synchronize()
        return found

    def download_pinned(self, memory: Memory, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> HostArray:
        """As `download`, to memory of CuPy's pool of page-locked memory: many times faster where much is downloaded."""
        found = _pinned_array(dtype, shape)
        if found.nbytes:
            memory.copy_to_host_async(ctypes.c_void_p(found.ctypes.data), found.nbytes)
            cupy.cuda.get_current_stream().synchronize()
        return found

    def download_columns(self, memory: Memory, pitch: int, shape: tuple[int, int]) -> HostArray:
        """The first octets [rows, columns] of rows that are `pitch` octets apart."""
        rows, columns = shape
        found = _pinned_array(np.dtype(np.uint8), shape)
        if found.nbytes:
            runtime, stream = cupy.cuda.runtime, self.stream
            kind = runtime.memcpyDeviceToHost
            runtime.memcpy2DAsync(found.ctypes.data, columns, memory.ptr, pitch, columns, rows, kind, stream)
            runtime.streamSynchronize(stream)
        return found

    def copy(self, source: Memory, target: Memory, size: int) -> None:
        """Copy bytes from one memory to another, in the order of the stream."""
        target.copy_from_device_async(source, size)

    def download_cells(self, memory: Memory, first: int, count: int) -> list[int]:
        """Up to PINNED_CELLS of the 32-bit integers in a memory: as `download`."""
        runtime, stream, pinned = cupy.cuda.runtime, self.stream, self._pinned
        kind = runtime.memcpyDeviceToHost
        runtime.memcpyAsync(pinned.memory.ptr, memory.ptr + 4 * first, 4 * count, kind, stream)
        runtime.streamSynchronize(stream)
        return pinned.cells[:count]

    def launch(
        self, kernel: str, constants: Mapping[str, int], grid: tuple[int, int, int], arguments: Sequence[Memory | int]
    ) -> None:
        number = self.number
        function = _kernel(kernel, tuple(sorted(constants.items())), number)
        x, y, z = grid
        width = min(THREADS, 1 << (x - 1).bit_length())
        height = min(THREADS // width, 1 << (y - 1).bit_length())  # along an axis that is not there, work is repeated
        blocks = (-(-x // width), min(-(-y // height), GRID_LIMIT), min(z, GRID_LIMIT))
        words = [value if isinstance(value, int) else value.ptr for value in arguments]
        driver.launch_words(function, blocks, (width, height), self.stream, words)

    def free_bytes(self) -> int:
        pool = cupy.get_default_memory_pool()
        return int(cupy.cuda.Device().mem_info[0] + pool.free_bytes())


def _pinned_array(dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> HostArray:
    """An uninitialised array in memory of CuPy's pool of page-locked memory."""
    count = prod(shape)
    if not count:
        return np.empty(shape, dtype)
    pinned = cupy.cuda.alloc_pinned_memory(count * dtype.itemsize)
    octets: Any = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(pinned.ptr)
    octets.memory = pinned  # which lives as long as the array does
    return np.frombuffer(octets, dtype, count).reshape(shape)


class _PinnedCells(threading.local):
    """Memory of the host that a device copies to without help of the driver; of each thread."""

    def __init__(self) -> None:
        self.memory = cupy.cuda.alloc_pinned_memory(4 * PINNED_CELLS)
        self.cells = (ctypes.c_int32 * PINNED_CELLS).from_address(self.memory.ptr)


@cache
def _kernel(kernel: str, constants: tuple[tuple[str, int], ...], device: int) -> int:
    options = tuple(f"-D{name}={value}" for name, value in constants)
    return driver.kernel(kernel_text(kernel), f"xl_kernel_{kernel}", options, driver.target(device), device)
