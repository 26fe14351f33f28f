"""The verbs that make integers, encodings and sums of residues of results."""

from collections.abc import Sequence
from math import prod

import numpy as np

from exactla.backend import Operand, Pairs
from exactla.core.moduli import ResidueBase
from exactla.formats import FloatFormat
from exactla.results import Rounding
from exactla_backends.device import descriptions
from exactla_backends.device.device import HostArray, Memory
from exactla_backends.device.memory import DeviceMemory
from exactla_backends.device.planes import Encodings, ResultPlanes, octets_of
from exactla_backends.kernels import tables
from exactla_backends.numpy import limbs as mp

FEW, ROOM = 4096, 16
"""Uncertain results whose places come with their number; there is room for one result in so many at first."""


class DeviceResults(DeviceMemory):
    """Each method has its postcondition in `exactla.backend.Backend`."""

    def combine(self, terms: Sequence[tuple[int, ResultPlanes]], base: ResidueBase) -> ResultPlanes:
        (sign, total), *others = terms
        if not others:
            return total if sign == 1 else self._sum(sign, total, 0, total, base)
        for other_sign, planes in others:
            total, sign = self._sum(sign, total, other_sign, planes, base), 1
        return total

    def _sum(self, sign: int, x: ResultPlanes, other_sign: int, y: ResultPlanes, base: ResidueBase) -> ResultPlanes:
        table = tables.crt(base, octets_of(base))
        result = self._planes(x.shape, base)
        pairs, rows, _ = x.shape
        self._launch(
            "combine",
            self._grid((pairs, x.moduli, rows * x.padded_columns)),
            (
                *(result.memory, x.memory, sign, y.memory, other_sign),
                *(self._table(descriptions.result_table(x, table)), self._constant(table.constants)),
            ),
        )
        return result

    def integers(self, planes: ResultPlanes, base: ResidueBase) -> HostArray:
        table = tables.crt(base, octets_of(base))
        shape = (*planes.shape, table.limbs)
        limbs = self._device.allocate(4 * prod(shape))
        self._launch(
            "integers",
            self._grid(planes.shape),
            (planes.memory, *self._crt(planes, table), limbs),
            self._crt_limits(table),
        )
        return mp.from_words(self._device.download(limbs, np.dtype(np.uint32), shape))

    def round(
        self,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[Encodings, ...]:
        results = tuple(self.allocate(planes.shape, format) for _ in roundings)
        for some, directions in in_twos(results, roundings):
            self._launch_round("round", planes, base, exponents, format, (some, directions), ())
        return results

    def round_certified(
        self,
        planes: ResultPlanes,
        base: ResidueBase,
        exponents: tuple[Operand, Operand, Pairs, int],
        slack: int,
        format: FloatFormat,
        roundings: Sequence[Rounding],
    ) -> tuple[tuple[Encodings, ...], Sequence[tuple[int, int, int]]]:
        results = tuple(self.allocate(planes.shape, format) for _ in roundings)
        places: set[int] = set()
        for some, directions in in_twos(results, roundings):
            capacity = prod(planes.shape) // ROOM + FEW
            while True:
                unsure = self._filled(2, 2, 0, size=8 * (1 + capacity))
                more = (slack, unsure, capacity)
                self._launch_round("round_certified", planes, base, exponents, format, (some, directions), more)
                count, *found = self._device.download(unsure, np.dtype(np.int64), (1 + FEW,)).tolist()
                if count <= capacity:
                    break
                capacity = count
            if count > FEW:
                found = self._device.download(unsure, np.dtype(np.int64), (1 + count,)).tolist()[1:]
            places.update(found[:count])
        index = np.unravel_index(np.array(sorted(places), np.int64), planes.shape)
        return results, list(zip(*(axis.tolist() for axis in index), strict=True))

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
        left, right, pairs, shift = exponents
        table = tables.crt(base, octets_of(base))
        rows, columns = left.exponents, right.exponents
        starts = [[x.offset + x.stride * i for i in index] for x, index in zip((rows, columns), pairs, strict=True)]
        (first, *second), codes = outputs[0], [tables.ROUNDINGS[rounding] for rounding in outputs[1]]
        self._launch(
            kernel,
            self._grid(planes.shape),
            (
                *(planes.memory, *self._crt(planes, table)),
                *(rows.memory, columns.memory, self._table(np.array(starts, np.int64)), shift),
                self._constant(tables.format_table(format)),
                *(codes[0], first.memory),
                *((codes[1], second[0].memory) if second else (-1, first.memory)),
                *more,
            ),
            self._crt_limits(table),
        )

    def mark(
        self,
        encodings: Encodings,
        special: tuple[ResultPlanes, ResultPlanes, ResultPlanes],
        base: ResidueBase,
        format: FloatFormat,
    ) -> None:
        table = tables.crt(base, octets_of(base))
        self._launch(
            "mark",
            self._grid(encodings.shape),
            (
                *(planes.memory for planes in special),
                *self._crt(special[0], table),
                *(self._constant(tables.format_table(format)), encodings.memory),
            ),
            self._crt_limits(table),
        )


def in_twos(
    results: Sequence[Encodings], roundings: Sequence[Rounding]
) -> list[tuple[Sequence[Encodings], Sequence[Rounding]]]:
    """Results and their directions, as kernels take them."""
    return [(results[i : i + 2], roundings[i : i + 2]) for i in range(0, len(results), 2)]
