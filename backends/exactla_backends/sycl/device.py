"""SYCL queues through dpctl: memory that belongs to the device, and programs compiled from OpenCL C."""

import ctypes
import importlib
import importlib.util
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

import dpctl
import dpctl.utils
import numpy as np

from exactla.libraries.base import Source
from exactla_backends.device.device import HostArray, Layout, Memory
from exactla_backends.device.launches import VECTOR_LANES
from exactla_backends.host_memory import HostMemory
from exactla_backends.kernels.modules import FIXED_LIMBS, LANES
from exactla_backends.kernels.text import kernel_text
from exactla_backends.sycl import programs
from exactla_backends.sycl.pool import ALIGNMENT, Pool, SyclMemory
from exactla_backends.sycl.runtime import devices

_queue: ContextVar[Any] = ContextVar("exactla_sycl_queue", default=None)
UNFINISHED = 1 << 30
"""Bytes that may be taken while launches that hold memory have not ended."""


@cache
def _default_queue() -> Any:
    return dpctl.SyclQueue(max(devices(), key=_preference))


@lru_cache(maxsize=64)
def _is_cpu(queue: Any) -> bool:
    return bool(queue.sycl_device.is_cpu)


@lru_cache(maxsize=64)
def _has_narrow_vectors(queue: Any) -> bool:
    return int(queue.sycl_device.native_vector_width_int) < VECTOR_LANES


def _preference(device: Any) -> tuple[bool, bool]:
    """GPUs before others, and OpenCL, which takes source, before Level Zero."""
    return bool(device.is_gpu), device.backend == dpctl.backend_type.opencl


@cache
def _tensors() -> Any:
    """The module of `usm_ndarray`, which dpctl has handed to dpnp."""
    found = importlib.util.find_spec("dpctl.tensor")
    return importlib.import_module("dpnp.tensor" if found is None else "dpctl.tensor")


class SyclDevice:
    """See `exactla_backends.device.device.Device`. The place is a queue."""

    def __init__(self) -> None:
        self._taken = 0
        self._pool = Pool()

    @property
    def lanes(self) -> int:
        return VECTOR_LANES if self.has_vectors() else LANES

    @property
    def fixed_limbs(self) -> int:
        return 0 if self.has_vectors() else FIXED_LIMBS

    @contextmanager
    def scope(self, like: Source) -> Iterator[None]:
        if like.device_kind == "cpu":
            yield
            return
        token = _queue.set(like.library.device_encodings(like).sycl_queue)
        try:
            yield
        finally:
            _queue.reset(token)

    @property
    def queue(self) -> Any:
        """The current queue."""
        return _queue.get() or _default_queue()

    def place(self) -> Hashable:
        queue: Hashable = self.queue
        return queue

    def allocate(self, size: int) -> Memory:
        if self.is_cpu():
            self._order().wait()  # what others have launched may read memory that has been given back since
            return self._pool.take(self.queue, max(size, 1))
        self._taken += size
        if self._taken > UNFINISHED:
            self._order().wait()  # what launches hold is given back when they end
            self._taken = 0
        return SyclMemory(max(size, 1), alignment=ALIGNMENT, queue=self.queue)

    def upload(self, array: HostArray) -> Memory:
        memory = self.allocate(array.nbytes)
        if array.nbytes:
            memory.copy_from_host(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return memory

    def layout(self, array: Any) -> Layout:
        strides = tuple(s * array.itemsize for s in array.strides)
        start = array.__sycl_usm_array_interface__.get("offset", 0) * array.itemsize
        return Layout(array.usm_data, start, array.shape, strides)

    def contiguous(self, array: Any) -> Any:
        return _tensors().copy(array, order="C")

    def array(self, memory: Memory, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> Any:
        memory.leave()
        return _tensors().usm_ndarray(shape, dtype=dtype, buffer=memory)

    def download(self, memory: Memory, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> HostArray:
        found = np.empty(shape, dtype)
        if found.nbytes:
            self._order().wait()
            octets = found.reshape(-1).view(np.uint8)
            self.queue.memcpy(octets, memory, octets.nbytes)
        return found

    def launch(
        self, kernel: str, constants: Mapping[str, int], grid: tuple[int, int, int], arguments: Sequence[Memory | int]
    ) -> None:
        group = (1, 1, 1) if self.has_vectors() else None  # which compilers then leave as they are
        self.run(kernel, kernel_text(kernel), constants, grid, group, arguments)

    def run(
        self,
        kernel: str,
        text: str,
        constants: Mapping[str, int],
        grid: Sequence[int],
        group: Sequence[int] | None,
        arguments: Sequence[Memory | int],
    ) -> None:
        """Launch a kernel of any text, in groups of a given size, after all that was launched before."""
        found = programs.kernel(self.queue, kernel, text, self._dot_products() | dict(constants))
        passed = [ctypes.c_int64(x) if isinstance(x, int) else x for x in arguments]
        order = self._order()
        lengths, sizes = list(grid[::-1]), None if group is None else list(group[::-1])
        event = self.queue.submit_async(found, passed, lengths, sizes, order.submitted_events)
        if self.is_cpu():
            event.wait()  # the host is the device: it gains nothing by going on, and memory is given back at once
        else:
            order.add_event_pair(self.queue._submit_keep_args_alive(passed, [event]), event)

    def is_cpu(self) -> bool:
        """Whether the current queue is that of a CPU."""
        return _is_cpu(self.queue)

    def largest_group(self) -> int:
        """The largest number of work items that work together."""
        return int(self.queue.sycl_device.max_work_group_size)

    def has_vectors(self) -> bool:
        """Whether kernels are written in vectors that a CPU has instructions for, which SPIR-V has no types for."""
        return self.is_cpu() and not programs.needs_spirv(self.queue)

    def has_narrow_vectors(self) -> bool:
        """Whether the device's own vectors are shorter than those that kernels are written in."""
        return _has_narrow_vectors(self.queue)

    def matrix_units(self) -> int:
        """Work items in a sub-group that multiplies by a matrix unit, 0 where there are no such units."""
        sizes = self.queue.sycl_device.sub_group_sizes
        return int(min(sizes)) if sizes and programs.has_matrix_units(self.queue) else 0

    def _dot_products(self) -> dict[str, int]:
        """Macros for sums of four products of bytes, which a CPU has in functions and not in instructions."""
        return {"XL_DOT_PRODUCTS": 1} if not self.has_vectors() and programs.has_dot_products(self.queue) else {}

    def _order(self) -> Any:
        """The work that dpctl and its libraries have given to the queue, and that more is to come after."""
        return dpctl.utils.SequentialOrderManager[self.queue]

    def free_bytes(self) -> int:
        if self.is_cpu():
            return HostMemory().free_bytes()
        device = self.queue.sycl_device
        known = dpctl.utils.intel_device_info(device)  # without "free_memory" where the driver does not say
        return int(known.get("free_memory", device.global_mem_size // 2))
