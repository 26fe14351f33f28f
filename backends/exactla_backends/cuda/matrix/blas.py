"""Residue products by cuBLAS: products of all moduli in one call, in bytes or in floats, then a kernel that reduces.

Serves every device that CuPy supports; the sums pass through memory.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from cupy.cuda import device as handles
from cupy_backends.cuda.libs import cublas

from exactla_backends.cuda import driver
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.task import Planes
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import OperandPlanes
from exactla_backends.kernels.text import flattened

_TRANSPOSED, _AS_IT_IS, _DEFAULT = 1, 0, -1
_R_32F, _R_64F, _R_16F, _R_8I, _R_32I = 0, 1, 2, 3, 10
_COMPUTE_32F, _COMPUTE_64F, _COMPUTE_32I = 68, 70, 72


@dataclass(frozen=True)
class Kind:
    """How cuBLAS multiplies: types of entries and sums, and the longest inner dimension that is summed at once.

    Sums of so many products of entries at their bound are exact: of digits of magnitude up to 128, or where entries are
    `whole`, of residues of two digits, up to 32,640.
    """

    entry: int
    sum: int
    compute: int
    depth: int
    entry_type: type[np.generic]
    sum_type: type[np.generic]
    sum_name: str
    whole: bool = False

    @property
    def entry_bytes(self) -> int:
        """Bytes of an entry."""
        return np.dtype(self.entry_type).itemsize

    @property
    def sum_bytes(self) -> int:
        """Bytes of a sum."""
        return np.dtype(self.sum_type).itemsize


KINDS = {
    "int8": Kind(_R_8I, _R_32I, _COMPUTE_32I, 1 << 16, np.int8, np.int32, "int32_t"),
    "fp16": Kind(_R_16F, _R_32F, _COMPUTE_32F, 1 << 10, np.float16, np.float32, "float"),
    "fp64": Kind(_R_64F, _R_64F, _COMPUTE_64F, 1 << 20, np.float64, np.float64, "double", whole=True),
}


@dataclass(frozen=True)
class Matrices:
    """Planes of entries [moduli * digits, rows, depth] of one matrix, at an address in a memory.

    Strides, in entries, of 0 are those of contiguous planes.
    """

    address: int
    rows: int
    depth: int
    memory: Memory
    row_stride: int = 0
    plane_stride: int = 0

    @property
    def strides(self) -> tuple[int, int]:
        """Entries from one row to the next, and from one plane to the next."""
        row = self.row_stride or self.depth
        return row, self.plane_stride or self.rows * row


WEIGHTS = (3, 2, 0)
"""Columns of the constants for products of two high digits, of a high and a low one, and of two low ones."""


class Blas:
    """Products of one pair of matrices at a time."""

    def __init__(self, device: CudaDevice, kind: Kind) -> None:
        self._device = device
        self._kind = kind
        self._factors = np.array([0, 1], kind.sum_type)
        self._zero = self._factors.ctypes.data
        self._one = self._zero + kind.sum_bytes

    def sums_bytes(self, moduli: int, rows: int, columns: int) -> int:
        """Workspace of a product."""
        return self._kind.sum_bytes * moduli * rows * columns

    def entries(self, planes: OperandPlanes, digits: int) -> list[Matrices]:
        """The matrices of an operand, in entries of this kind. Their memory is used for work that comes later only."""
        kind, size = self._kind, planes.rows * planes.depth
        joined = digits if kind.whole else 1
        count = planes.stacks * planes.planes // joined
        memory = planes.memory
        if kind.entry is not _R_8I:
            memory = self._device.allocate(kind.entry_bytes * count * size)
            function = self._function("xl_whole" if joined == 2 else "xl_halves", 1)
            blocks = (min(-(-size * count // 256), 1 << 20), 1, 1)
            words = (planes.memory.ptr, size, count, memory.ptr)
            driver.launch_words(function, blocks, (256, 1), self._device.stream, words)
        step = kind.entry_bytes * size * count // max(planes.stacks, 1)
        return [Matrices(memory.ptr + i * step, planes.rows, planes.depth, memory) for i in range(planes.stacks)]

    def multiply(
        self,
        left: Matrices,
        right: Matrices,
        moduli: int,
        digits: int,
        constants: int,
        result: tuple[int, int],
        sign: int,
        add: bool,
    ) -> None:
        """result = sign * left @ right.T, added to what is there with `add`; at an address, with a row stride."""
        entry_digits = 1 if self._kind.whole else digits
        sums = self._device.allocate(self.sums_bytes(moduli, left.rows, right.rows))
        reduce = self._function("xl_reduce", digits)
        blocks = (-(-right.rows // 64), min(-(-moduli * left.rows // 4), 65535), 1)
        keep = int(add)
        for high, low in product(range(entry_digits), repeat=2):
            weight = 0 if entry_digits == 1 else WEIGHTS[high + low]
            for start in range(0, left.depth, self._kind.depth):
                depth = min(self._kind.depth, left.depth - start)
                self._sums(left, right, moduli, entry_digits, (high, low), (start, depth), sums.ptr)
                words = (sums.ptr, moduli, left.rows, right.rows, result[1], constants, weight, sign, keep, result[0])
                driver.launch_words(reduce, blocks, (64, 4), self._device.stream, words)
                keep = 1

    def _sums(
        self,
        left: Matrices,
        right: Matrices,
        moduli: int,
        digits: int,
        digit: tuple[int, int],
        part: tuple[int, int],
        sums: int,
    ) -> None:
        """Sums [moduli, left.rows, right.rows] over a part of the inner dimension, for one digit of either side."""
        kind, (start, depth) = self._kind, part
        starts = []
        for side, which in zip((left, right), digit, strict=True):
            starts.append(side.address + kind.entry_bytes * (which * side.strides[1] + start))
        handle = handles.get_cublas_handle()
        cublas.setStream(handle, self._device.stream)
        # in columns: the transpose of right times left
        cublas.gemmStridedBatchedEx(
            *(handle, _TRANSPOSED, _AS_IT_IS, right.rows, left.rows, depth, self._one),
            *(starts[1], kind.entry, right.strides[0], digits * right.strides[1]),
            *(starts[0], kind.entry, left.strides[0], digits * left.strides[1]),
            *(self._zero, sums, kind.sum, right.rows, left.rows * right.rows, moduli, kind.compute, _DEFAULT),
        )

    def table_sums(self, left: Planes, right: Planes, sums: int, stride: int) -> None:
        """Sums of left @ right.T of two matrices of one plane, at an address with a row stride.

        Depths, strides and rows of the right one are multiples of 16.
        """
        kind, handle = self._kind, handles.get_cublas_handle()
        cublas.setStream(handle, self._device.stream)
        cublas.gemmStridedBatchedEx(
            *(handle, _TRANSPOSED, _AS_IT_IS, right.rows, left.rows, left.depth, self._one),
            *(right.address, kind.entry, *right.strides, left.address, kind.entry, *left.strides),
            *(self._zero, sums, kind.sum, stride, left.rows * stride, 1, kind.compute, _DEFAULT),
        )

    def _function(self, name: str, digits: int) -> int:
        number = self._device.number
        options = (f"-DXL_SUM={self._kind.sum_name}", f"-DXL_DIGITS={digits}")
        return driver.kernel(_text(), name, options, driver.target(number), number)


@cache
def _text() -> str:
    return flattened(Path(__file__).with_name("reduce.cu"))
