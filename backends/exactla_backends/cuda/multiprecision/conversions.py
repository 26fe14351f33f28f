"""Integers of many limbs to residues and back, by products with tables; `conversions.cu` has what is around them."""

from typing import Any, NamedTuple

import gmpy2
import numpy as np

from exactla.core.limbs import LIMB, OCTETS, from_limbs, to_limbs
from exactla.core.moduli import ResidueBase
from exactla.core.nearest import nearest_quotient
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.cuda.matrix.matrix import CudaMatrix
from exactla_backends.cuda.matrix.task import Planes
from exactla_backends.cuda.multiprecision import limbs, tables
from exactla_backends.cuda.multiprecision.limbs import THREADS, LongIntegers, WideKernels
from exactla_backends.cuda.multiprecision.tables import SIDE, Table, Tables
from exactla_backends.device.device import Memory
from exactla_backends.device.planes import padded
from exactla_backends.octets import signed_octets

SUM_BYTES = 1 << 28
"""Memory for sums, which are made for some entries at a time."""

TILE = 32
"""Entries and moduli of a tile, XL_TILE."""

WEIGHT, NEGATIVE_WEIGHT = 3, 4
"""Words of the constants."""

GUARD, FRACTION_LIMBS = 80, 2
"""See `exactla_backends.cpu.division`: guard bits of a quotient, and limbs behind the point."""


class ResidueSums(NamedTuple):
    """Residues of sums to be made integers, with the names of `xl_wide_weighted`. Strides are in entries, int16."""

    sums: int
    sums_plane: int
    width: int
    sums_row: int = 0
    sums_step: int = 1
    vectors: int = 0
    vectors_plane: int = 0
    vectors_step: int = 0
    factors: int = 0
    factors_plane: int = 0
    factors_step: int = 0
    terms: int = 0

    def words(self) -> tuple[int, ...]:
        """The fields, one after the other."""
        return (
            *(self.sums, self.sums_plane, max(self.width, 1), self.sums_row, self.sums_step),
            *(self.vectors, self.vectors_plane, self.vectors_step),
            *(self.factors, self.factors_plane, self.factors_step, self.terms),
        )


class Difference(NamedTuple):
    """2**shift minuend - s for sums s. Where `marks`, an address of octets, are not 0, entries become 0."""

    minuend: LongIntegers
    shift: int
    marks: int = 0


class _Octets(NamedTuple):
    """Signed octets of integers [entries, depth], rows padded."""

    memory: Memory
    entries: int
    depth: int

    @property
    def planes(self) -> Planes:
        return Planes(self.memory.ptr, 1, self.entries, self.depth)

    @property
    def padded(self) -> Planes:
        """With rows of nothing in particular, so that there are as many as a product on the right takes."""
        return Planes(self.memory.ptr, 1, padded(self.entries, SIDE), self.depth)


class Conversions:
    """Conversions on a device, and divisions, which are products with a table as well."""

    def __init__(self, device: CudaDevice, matrix: CudaMatrix) -> None:
        self._device, self._matrix = device, matrix
        self._kernels = WideKernels(device)
        self.tables = Tables(device)

    # ---- into residues ---------------------------------------------------------------------------------------------

    def residues(self, x: LongIntegers, base: ResidueBase, to: int, plane: int) -> None:
        """Residues of the entries of a row, int16 to[p * plane + i], at an address."""
        constants = self.tables.constants(base)
        for first, count, sums in self._power_sums(x, base):
            arguments = (sums, padded(count, SIDE), count, constants, to + 2 * first, plane)
            grid = (-(-count // THREADS), len(base.moduli))
            self._kernels.grid("conversions", "residues", grid, THREADS, arguments)

    def planes(self, x: LongIntegers, base: ResidueBase, planes: Planes) -> None:
        """Digits of residues of a matrix, in planes that have 0 where it has no columns."""
        constants = self.tables.constants(base)
        for first, count, sums in self._power_sums(x, base):
            arguments = (
                *(sums, padded(count, SIDE), first, count, max(x.columns, 1), constants),
                *(planes.address, *planes.strides),
            )
            grid = (-(-count // THREADS), len(base.moduli))
            self._kernels.grid("conversions", "planes", grid, THREADS, arguments)

    def _power_sums(self, x: LongIntegers, base: ResidueBase) -> Any:
        """Sums of octets of some entries with digits of powers: first entry, how many, and [2 P, entries, padded]."""
        table = self.tables.powers(base, tables.octets_depth(x.limbs))
        step = _at_a_time(x.entries, 4 * table.rows)
        sums = self._device.allocate(4 * table.rows * padded(step, SIDE))
        for first in range(0, x.entries, step):
            count = min(step, x.entries - first)
            octets = self._octets(x, first, count, 0, x.limbs)
            self._matrix.table_sums(_planes(table), octets.padded, sums.ptr, padded(count, SIDE))
            yield first, count, sums

    def _octets(
        self, x: LongIntegers, first: int, count: int, shift: int, kept: int, cleared: Memory | int = 0
    ) -> _Octets:
        depth = tables.octets_depth(kept)
        memory = self._device.allocate(padded(count, SIDE) * depth)
        arguments = (*x.words(), x.limbs, first, shift, kept, memory, depth, cleared)
        self._kernels.entries("conversions", "octets", count, kept + 1, arguments)
        return _Octets(memory, count, depth)

    # ---- out of residues -------------------------------------------------------------------------------------------

    def integers(
        self, residues: ResidueSums, base: ResidueBase, result: Any, difference: Difference | None = None
    ) -> None:
        """Integers with these residues, at most M / 4, or a difference of others and these, to a contiguous buffer."""
        target = limbs.long_integers(result)
        recovery = self.tables.recovery(base, target.limbs)
        constants, moduli = recovery.constants, len(base.moduli)
        table, depth = recovery.cofactors, tables.digits_depth(base)
        step = _at_a_time(target.entries, 4 * table.rows)
        digits, sums = self._device.allocate(step * depth), self._device.allocate(4 * step * table.rows)
        for first in range(0, target.entries, step):
            count = min(step, target.entries - first)
            self._kernels.grid(
                "conversions",
                "weighted",
                (-(-count // TILE), depth // (2 * TILE)),
                THREADS,
                (
                    *(*residues.words(), first, count, constants, moduli),
                    *(WEIGHT if difference is None else NEGATIVE_WEIGHT, digits, depth),
                ),
            )
            self._matrix.table_sums(Planes(digits.ptr, 1, count, depth), _planes(table), sums.ptr, table.rows)
            self._kernels.entries(
                "conversions",
                "integers",
                count,
                target.limbs,
                (
                    *(sums, table.rows, digits, depth, constants, moduli, recovery.product, recovery.constant),
                    *_minuend(difference),
                    *(first, 0 if difference is None else difference.marks, target.address, target.limbs, 0, 0),
                ),
            )

    # ---- division --------------------------------------------------------------------------------------------------

    def divide(self, buffer: Any, divisor: int, result: Any) -> None:
        """RN(x / divisor) for the entries of a row, to a contiguous buffer: one host synchronisation.

        See `exactla_backends.cpu.division` for what is dropped of x and of the reciprocal.
        """
        x, target = (limbs.long_integers(y) for y in (buffer, result))
        bits, quotient_bits = abs(divisor).bit_length(), LIMB * target.limbs - 2
        kept = (quotient_bits + GUARD + 1) // LIMB + 1
        lowest = -(-(quotient_bits + GUARD - 48) // OCTETS)
        # of gmpy2, which divides long integers many times faster
        reciprocal = int((gmpy2.mpz(1) << (bits + 8 * lowest + 48)) // abs(divisor))
        count = FRACTION_LIMBS + target.limbs
        table = self._toeplitz(reciprocal if divisor > 0 else -reciprocal, lowest, OCTETS * count, kept)
        half = self.tables.constant(1 << LIMB * FRACTION_LIMBS - 1, count)
        doubtful = self._device.allocate(4 * (1 + x.entries))
        octets = self._octets(x, 0, x.entries, GUARD - bits, kept, doubtful)
        sums = self._device.allocate(4 * x.entries * table.rows)
        self._matrix.table_sums(octets.planes, _planes(table), sums.ptr, table.rows)
        self._kernels.entries(
            "conversions",
            "integers",
            x.entries,
            count,
            (
                *(sums, table.rows, 0, 0, 0, 0, 0, half, *_minuend(None)),
                *(0, 0, target.address, count, FRACTION_LIMBS, doubtful),
            ),
        )
        (some,) = self._device.download_cells(doubtful, 0, 1)
        if some:
            for place in self._device.download(doubtful, np.dtype(np.int32), (1 + some,))[1:].tolist():
                self._divide_one(buffer, place, divisor, result)

    def _toeplitz(self, reciprocal: int, lowest: int, rows: int, limbs: int) -> Table:
        depth, padded_rows = tables.octets_depth(limbs), padded(rows, SIDE)
        octets = signed_octets(reciprocal, reciprocal.bit_length() // OCTETS + 2)
        table = Table(self._device.allocate(padded_rows * depth), padded_rows, depth)
        arguments = (self._device.upload(octets), len(octets), lowest, padded_rows, depth, table.memory)
        grid = (-(-depth // (4 * THREADS)), padded_rows)
        self._kernels.grid("conversions", "toeplitz", grid, THREADS, arguments)
        return table

    def _divide_one(self, buffer: Any, place: int, divisor: int, result: Any) -> None:
        """The quotient of one entry, by the host."""
        x = from_limbs(limbs.download(self._device, buffer[place : place + 1]))[0]
        quotient = to_limbs([nearest_quotient(x, divisor)], result.shape[-1])
        target = self._device.layout(result).memory + quotient.nbytes * place
        self._device.copy(self._device.upload(quotient), target, quotient.nbytes)


def _minuend(difference: Difference | None) -> tuple[int, ...]:
    if difference is None:
        return 0, 1, 0, 0, 0, 0
    return *difference.minuend.words(), difference.minuend.limbs, difference.shift


def _planes(table: Table) -> Planes:
    return Planes(table.memory.ptr, 1, table.rows, table.depth)


def workspace_bytes(entries: int, base: ResidueBase) -> int:
    """Memory for a conversion of so many entries: sums, and what they are made of."""
    octets = 4 * padded(2 * len(base.moduli) + OCTETS, SIDE)
    return 2 * min(SUM_BYTES, octets * padded(entries, SIDE))


def _at_a_time(entries: int, octets: int) -> int:
    """Entries whose sums of so many octets are made together."""
    return max(SIDE, min(entries, SUM_BYTES // octets))
