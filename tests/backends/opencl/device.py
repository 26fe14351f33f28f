"""A device of any OpenCL implementation, through pyopencl: memory without addresses, and programs of its compiler.

Arrays of the host are copied to it and back. It lets compilers run the kernels that dpctl knows no devices of.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pyopencl
from pyopencl import mem_flags

from exactla_backends.device.launches import VECTOR_LANES
from exactla_backends.host_memory import HostMemory
from exactla_backends.kernels.modules import LANES
from exactla_backends.kernels.text import kernel_text


class OpenCLDevice:
    """See `exactla_backends.device.device.Device` and, for `SyclMatrix`, `exactla_backends.sycl.device.SyclDevice`."""

    fixed_limbs = 0

    def __init__(self, device, *, vectors):
        self._vectors = vectors
        self._context = pyopencl.Context([device])
        self._queue = pyopencl.CommandQueue(self._context)
        self._program = cache(self._compiled)

    @property
    def lanes(self):
        return VECTOR_LANES if self._vectors else LANES

    def has_vectors(self):
        return self._vectors

    def has_narrow_vectors(self):
        return self._queue.device.native_vector_width_int < VECTOR_LANES

    def matrix_units(self):
        return 0

    def largest_group(self):
        return self._queue.device.max_work_group_size

    @contextmanager
    def scope(self, like) -> Iterator[None]:
        yield

    def place(self):
        return "one"

    def allocate(self, size):
        return pyopencl.Buffer(self._context, mem_flags.READ_WRITE, max(size, 1))

    def upload(self, array):
        memory = self.allocate(array.nbytes)
        if array.nbytes:
            pyopencl.enqueue_copy(self._queue, memory, np.ascontiguousarray(array))
        return memory

    def download(self, memory, dtype, shape):
        found = np.empty(shape, dtype)
        if found.nbytes:
            pyopencl.enqueue_copy(self._queue, found, memory)
        return found

    def launch(self, kernel, constants, grid, arguments):
        self.run(kernel, kernel_text(kernel), constants, grid, (1, 1, 1) if self._vectors else None, arguments)

    def run(self, kernel, text, constants, grid, group, arguments):
        options = " ".join(f"-D{name}={value}" for name, value in sorted(constants.items()))
        passed = [np.int64(x) if isinstance(x, int) else x for x in arguments]
        found = self._program(f"xl_kernel_{kernel}", text, options)
        found(self._queue, grid, group, *passed)

    def _compiled(self, name, text, options):
        program = pyopencl.Program(self._context, text).build(f"-cl-std=CL1.2 {options}")
        return pyopencl.Kernel(program, name)

    def free_bytes(self):
        return HostMemory().free_bytes()
