"""The CUDA backend: the verbs of all devices, and faster kernels for those that large products spend their time in."""

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from exactla.backend import Operand, Pairs
from exactla.core.moduli import ResidueBase
from exactla.core.planning import sum_bits
from exactla.formats import BigIntegerFormat, FloatFormat
from exactla.results import Rounding
from exactla_backends.cuda import driver, elements
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.device.backend import DeviceBackend
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import Count, Encodings, ResultPlanes, octets_of
from exactla_backends.device.results import FEW, in_twos
from exactla_backends.kernels import tables

CELL = 4
"""Bytes of a count, or of a cell of a row's range."""

DOUBTFUL_SHARE = 256
"""There is room for one doubtful result in so many: with more of them all bits are cheaper for all."""


class CudaBackend(DeviceBackend):
    """See `exactla.backend.Backend`. Kernels of `elements.cu` take the place of general ones where they apply."""

    settled_bits = 32 * elements.MOST_LIMBS - 1

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
        fields = (
            _entries(operand)
            | _exponents(operand)
            | {
                "padded": depth,
                "bits": operand.bits,
                "moduli": len(base.moduli),
                "may_drop": int(operand.truncated),
                "expect_finite": int(operand.finite),
                "planes": planes.ptr,
                "broken": count.memory.ptr + CELL * count.cell,
            }
        )
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
        fields = self._round_fields(planes, exponents, outputs)
        elements.round8(self._place(), format, base, fields)

    def _round_fields(
        self,
        planes: ResultPlanes,
        exponents: tuple[Operand, Operand, Pairs, int],
        outputs: tuple[Sequence[Encodings], Sequence[Rounding]],
    ) -> dict[str, object]:
        left, right, pairs, shift = exponents
        rows, columns = left.exponents, right.exponents
        starts = [[x.offset + x.stride * i for i in index] for x, index in zip((rows, columns), pairs, strict=True)]
        return _outputs(outputs) | {
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
        }

    def round_settled(
        self,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        exact: tuple[Operand, Operand],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Encodings, ...], Count]:
        left, right, pairs, shift = exponents
        results = tuple(self.allocate(planes.shape, format) for _ in roundings)
        left_over = self._counts.new()
        if 0 in planes.shape:
            return results, left_over
        place, places = self._place(), self._table(np.array(pairs, np.int64))
        dropped = [self._count_dropped(place, x, y) for x, y in zip(exact, (left, right), strict=True)]
        capacity = prod(planes.shape) // DOUBTFUL_SHARE + FEW
        limbs = tables.limbs_for(sum_bits(exact[0].bits, exact[1].bits, exact[0].shape[2]))
        sides = [_side(x) for x in exact]
        for some, directions in in_twos(results, roundings):
            doubtful = self._filled(2, 2, 0, size=8 * (1 + capacity))
            outputs = _outputs((some, directions))
            more = {"places": places.ptr, "doubtful": doubtful.ptr, "capacity": capacity}
            certificate = {
                "left_dropped": dropped[0].ptr,
                "right_dropped": dropped[1].ptr,
                "left_bits": left.bits,
                "right_bits": right.bits,
            }
            fields = self._round_fields(planes, exponents, (some, directions)) | certificate | more
            elements.round8(place, format, base, fields, certified=True)
            job = {"left": sides[0], "right": sides[1], "shift": shift}
            shape = {"pairs": planes.shape[0], "rows": planes.shape[1], "columns": planes.shape[2]}
            depth = {"depth": exact[0].shape[2], "left_over": left_over.memory.ptr + CELL * left_over.cell}
            formats = (exact[0].format, exact[1].format, format)
            elements.settle(place, formats, limbs, job | shape | depth | outputs | more)
        return results, left_over

    def _count_dropped(self, place: elements.Place, exact: Operand, leading: Operand) -> Memory:
        """For each row of an operand, int32 [S, R], the entries with bits below the exponents of its leading bits."""
        stacks, rows, _ = exact.shape
        counts = self._filled(stacks * rows, stacks * rows, 0)
        if leading.exponents is not exact.exponents and 0 not in exact.shape:
            fields = _entries(exact) | _exponents(leading) | {"counts": counts.ptr}
            elements.count_dropped(place, exact.format, fields)
        return counts


def _is_fixed(operand: Operand) -> bool:
    """Whether entries are encodings of a format of fixed width."""
    return operand.format is not None and not isinstance(operand.format, BigIntegerFormat)


def _entries(operand: Operand) -> dict[str, object]:
    """The fields that describe an operand to the kernels of `elements.cu`."""
    x, (stacks, rows, depth) = operand.buffer, operand.shape
    return {"data": x.memory.ptr + x.offset, "strides": x.strides, "stacks": stacks, "rows": rows, "depth": depth}


def _side(operand: Operand) -> dict[str, object]:
    """An operand as one side of exact sums."""
    entries = _entries(operand)
    return {"data": entries["data"], "strides": entries["strides"]} | _exponents(operand)


def _exponents(operand: Operand) -> dict[str, object]:
    """The fields that say where the exponents of an operand's rows lie."""
    rows = operand.exponents
    return {"exponents": rows.memory.ptr + 8 * rows.offset, "exponent_stride": rows.stride}


def _outputs(outputs: tuple[Sequence[Encodings], Sequence[Rounding]]) -> dict[str, object]:
    """The fields that say where encodings go, one or two, and in which directions they are rounded."""
    codes = [tables.ROUNDINGS[rounding] for rounding in outputs[1]]
    encodings = [x.memory.ptr for x in outputs[0]]
    return {
        "encodings": (*encodings, *encodings[: 2 - len(encodings)]),
        "roundings": (*codes, *([-1] * (2 - len(codes)))),
    }
