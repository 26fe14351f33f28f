"""The CUDA backend: the verbs of all devices, and faster kernels for those that large products spend their time in."""

from collections.abc import Mapping, Sequence

import numpy as np

from exactla.backend import Operand, Pairs
from exactla.core.moduli import ResidueBase
from exactla.formats import BigIntegerFormat, FloatFormat
from exactla.results import Rounding
from exactla_backends.cuda import driver, elements
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.device.backend import DeviceBackend
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import Count, Encodings, ResultPlanes, octets_of
from exactla_backends.kernels import tables

CELL = 4
"""Bytes of a count, or of a cell of a row's range."""


class CudaBackend(DeviceBackend):
    """See `exactla.backend.Backend`. Kernels of `elements.cu` take the place of general ones where they apply."""

    def __init__(self) -> None:
        device = CudaDevice()
        super().__init__("cuda", device, CudaMatrix(device))
        self._cuda = device

    def _place(self) -> elements.Place:
        number = self._cuda.number
        return elements.Place(number, driver.target(number), self._cuda.stream)

    def _scan_operand(self, operand: Operand, cells: Memory, ranges_at: int, nonfinite_at: int) -> None:
        if not _is_fixed(operand):
            super()._scan_operand(operand, cells, ranges_at, nonfinite_at)
            return
        if 0 in operand.shape:
            return
        ranges, nonfinite = cells.ptr + CELL * ranges_at, cells.ptr + CELL * nonfinite_at
        elements.scan(self._place(), operand.format, _entries(operand) | {"ranges": ranges, "nonfinite": nonfinite})

    def _residues(
        self, operand: Operand, base: ResidueBase, depth: int, count: Count, constants: Mapping[str, int]
    ) -> Memory:
        limbs = tables.limbs_for(operand.bits)
        if octets_of(base) != 1 or not _is_fixed(operand) or 0 in operand.shape or limbs > elements.MOST_LIMBS:
            return super()._residues(operand, base, depth, count, constants)
        stacks, rows, _ = operand.shape
        planes = self._cuda.allocate(stacks * rows * depth * len(base.moduli))
        fields = _entries(operand) | {
            "padded": depth,
            "exponents": operand.exponents.memory.ptr + 8 * operand.exponents.offset,
            "exponent_stride": operand.exponents.stride,
            "bits": operand.bits,
            "moduli": len(base.moduli),
            "may_drop": int(operand.truncated),
            "expect_finite": int(operand.finite),
            "planes": planes.ptr,
            "broken": count.memory.ptr + CELL * count.index,
        }
        elements.residues8(self._place(), operand.format, base, limbs, fields)
        return planes

    def _launch_round(
        self,
        kernel: str,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        outputs: tuple[Sequence[Encodings], Sequence[Rounding]],
        more: tuple[Memory | int, ...],
    ) -> None:
        if kernel != "round" or planes.octets != 1:
            super()._launch_round(kernel, planes, base, exponents, format, outputs, more)
            return
        if 0 in planes.shape:
            return
        left, right, pairs, shift = exponents
        rows, columns = left.exponents, right.exponents
        starts = [[x.offset + x.stride * i for i in index] for x, index in zip((rows, columns), pairs, strict=True)]
        codes = [tables.ROUNDINGS[rounding] for rounding in outputs[1]]
        encodings = [x.memory.ptr for x in outputs[0]]
        fields = {
            "residues": planes.memory.ptr,
            "pairs": planes.shape[0],
            "moduli": planes.moduli,
            "rows": planes.shape[1],
            "columns": planes.shape[2],
            "stride": planes.padded_columns,
            "row_exponents": rows.memory.ptr,
            "column_exponents": columns.memory.ptr,
            "starts": self._table(np.array(starts, np.int64)).ptr,
            "shift": shift,
            "encodings": (*encodings, *encodings[: 2 - len(encodings)]),
            "roundings": (*codes, *([-1] * (2 - len(codes)))),
        }
        elements.round8(self._place(), format, base, fields)


def _is_fixed(operand: Operand) -> bool:
    """Whether entries are encodings of a format of fixed width."""
    return operand.format is not None and not isinstance(operand.format, BigIntegerFormat)


def _entries(operand: Operand) -> dict[str, object]:
    """The fields that describe an operand to the kernels of `elements.cu`."""
    x, (stacks, rows, depth) = operand.buffer, operand.shape
    return {"data": x.memory.ptr + x.offset, "strides": x.strides, "stacks": stacks, "rows": rows, "depth": depth}
