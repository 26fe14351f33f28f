"""Integers of many limbs by the native library: see `exactla.backend.Multiprecision`."""

import ctypes
from collections.abc import Sequence

import numpy as np

from exactla.backend import Elimination, Engine, Shifts
from exactla.core.limbs import LIMB, Limbs, from_limbs, limbs_needed, to_limbs
from exactla.core.moduli import ResidueBase
from exactla_backends.cpu.component_products import NativeComponentProducts
from exactla_backends.cpu.components import NativeExpansions
from exactla_backends.cpu.elimination import NativeElimination, elimination_bytes
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64, Array, Instructions
from exactla_backends.cpu.residues import (
    ENGINE,
    OperandPlanes,
    PendingProduct,
    ResultPlanes,
    aligned,
    octets_of,
    padded_columns,
    padded_depth,
)
from exactla_backends.cpu.wide import base_table
from exactla_backends.kernels.tables import LIMB_BITS, limbs_for
from exactla_backends.numpy.multiprecision import HostMultiprecision

WORDS = LIMB // LIMB_BITS
"""Limbs of the kernels for float64 in a limb of a long integer, on machines that keep the low octets first."""


class NativeMultiprecision(HostMultiprecision):
    """Residues of one or two octets on the int8 matrix kernels; NumPy's float64 engine where that is asked for."""

    name = "cpu"
    engines: tuple[Engine, ...] = (ENGINE, HostMultiprecision.engines[0])
    elimination_limit = ENGINE.modulus_limits[-1]

    def __init__(self, native: Instructions) -> None:
        self._native = native
        self.expansions = NativeExpansions(native)
        self.component_products = NativeComponentProducts(native)

    def few_unknowns(self, limbs: int) -> int:
        return 4096

    def engine_is_exact(self, engine: Engine, modulus_limit: int) -> bool:
        if engine.name != ENGINE.name:
            return super().engine_is_exact(engine, modulus_limit)
        return self._native.call("check") == 1

    def product_bytes(self, rows: int, columns: int, depth: int, base: ResidueBase, engine: Engine) -> int:
        if engine.name != ENGINE.name:
            return super().product_bytes(rows, columns, depth, base, engine)
        planes = octets_of(base) * len(base.moduli)
        operands = (rows + 2 * padded_columns(columns)) * padded_depth(depth)
        return planes * (operands + rows * padded_columns(columns))

    def product(self, left: Limbs, right: Limbs, count: int, base: ResidueBase, engine: Engine) -> Limbs:
        if engine.name != ENGINE.name or 0 in (len(left), len(right), left.shape[1]):
            return super().product(left, right, count, base, engine)
        octets = octets_of(base)
        make = self._planes_of_octets if octets == 1 else self._planes_of_digits
        pair = np.zeros(1, np.int64)
        product = PendingProduct(self._native, ((1, make(left, base), make(right, base)),), (pair, pair), base, octets)
        residues = product.residues
        return (self._from_octets if octets == 1 else self._from_digits)(residues, count, base)

    def _from_octets(self, residues: ResultPlanes, count: int, base: ResidueBase) -> Limbs:
        _, rows, columns = residues.shape
        found = np.empty((rows, columns, count), np.uint64)
        self._native.run(
            "integers",
            ctypes.byref(library.result_stack(residues.planes, columns)),
            I64(1),
            ctypes.byref(library.crt_table(base, 1, WORDS * count)),
            library.Pointer(library.pointer(found)),
        )
        return found

    def _from_digits(self, planes: ResultPlanes, count: int, base: ResidueBase) -> Limbs:
        residues = planes.planes[0]
        found = np.empty((*planes.shape[1:], count), np.uint64)
        sums = library.WideSums(sums=library.pointer(residues), sums_plane=residues[0].size, sums_row=residues.shape[2])
        self._native.run(
            "wide_integers",
            ctypes.byref(base_table(base, 0, count)),
            ctypes.byref(library.keep(sums, residues)),
            ctypes.byref(library.long_integers(found)),
        )
        return found

    def _planes_of_octets(self, limbs: Limbs, base: ResidueBase) -> OperandPlanes:
        rows, depth, held = limbs.shape
        words = np.moveaxis(limbs.view(np.uint32), -1, 0)[:, None]
        # entries that the base can be for have no more bits than it has
        count = min(WORDS * held, limbs_for(base.capacity))
        planes = aligned((1, len(base.moduli), rows, padded_depth(depth)))
        self._native.run(
            "residues",
            ctypes.byref(library.stack(words, None, np.zeros(rows, np.int64), base.capacity, 0)),
            ctypes.byref(library.residue_table(base, count, 1, None)),
            I64(1),
            ctypes.byref(library.plane_stack(planes)),
        )
        return OperandPlanes(self._native, planes, rows)

    def _planes_of_digits(self, limbs: Limbs, base: ResidueBase) -> OperandPlanes:
        rows, depth, count = limbs.shape
        planes = aligned((1, 2 * len(base.moduli), rows, padded_depth(depth)))
        planes[..., depth:] = 0
        places = library.WidePlaces(None, library.pointer(planes), planes[0, 0].size, planes.shape[3])
        self._native.run(
            "wide_residues",
            ctypes.byref(base_table(base, count, 0)),
            ctypes.byref(library.long_integers(limbs)),
            ctypes.byref(places),
        )
        return OperandPlanes(self._native, planes, rows)

    def bit_lengths(self, limbs: Limbs) -> Array:
        found = np.empty(limbs.shape[:-1], np.int64)
        self._native.run(
            "bit_lengths",
            ctypes.byref(library.long_integers(_as_matrix(limbs))),
            library.Pointer(library.pointer(found)),
        )
        return found

    def scale(self, limbs: Limbs, shifts: Shifts, count: int) -> Limbs:
        found = np.empty((*limbs.shape[:-1], count), np.uint64)
        by = np.asarray(np.add.outer(*shifts) if isinstance(shifts, tuple) else shifts, np.int64, order="C")
        self._native.run(
            "scale",
            ctypes.byref(library.long_integers(_as_matrix(limbs))),
            library.Pointer(library.pointer(by)),
            I64(by.ndim > 0),
            ctypes.byref(library.long_integers(_as_matrix(found))),
        )
        return found

    def round_leading(self, limbs: Limbs, precision: int) -> Limbs:
        found = np.array(limbs, np.uint64, order="C")
        matrix = library.long_integers(_as_matrix(found))
        self._native.run("round_leading", ctypes.byref(matrix), I64(precision))
        return found

    def largest(self, limbs: Limbs, order: Sequence[int] | Array) -> tuple[int, int]:
        places = np.ascontiguousarray(order, np.int64)
        row = library.long_integers(limbs[None])
        found = self._native.call(
            "largest", ctypes.byref(row), library.Pointer(library.pointer(places)), I64(len(places))
        )
        return found, int(from_limbs(limbs[places[found]][None])[0])

    def divide(self, limbs: Limbs, divisor: int, count: int) -> Limbs:
        found = np.empty((len(limbs), count), np.uint64)
        by = to_limbs([divisor], limbs_needed([divisor]))
        self._native.run(
            "divide",
            ctypes.byref(library.long_integers(limbs[None])),
            library.Pointer(library.pointer(by)),
            I64(by.shape[1]),
            ctypes.byref(library.long_integers(found[None])),
        )
        return found

    def substitute(self, lower: Limbs, divisors: Sequence[int] | None, precision: int, sums: Limbs) -> Limbs:
        by = None if divisors is None else to_limbs(list(divisors), limbs_needed(divisors))[None]
        count = sums.shape[-1]
        while True:
            found = np.empty((*sums.shape[:2], count), np.uint64)
            too_long = self._native.run(
                "substitute",
                ctypes.byref(library.long_integers(lower)),
                None if by is None else ctypes.byref(library.long_integers(by)),
                I64(precision),
                ctypes.byref(library.long_integers(sums)),
                ctypes.byref(library.long_integers(found)),
            )
            if not too_long:
                return found
            count *= 2

    def elimination_bytes(self, rows: int, columns: int, base: ResidueBase, engine: Engine) -> int:
        if engine.name != ENGINE.name:
            return super().elimination_bytes(rows, columns, base, engine)
        return elimination_bytes(rows, columns, base)

    def elimination(self, matrix: Limbs, precision: int, base: ResidueBase, engine: Engine) -> Elimination:
        if engine.name != ENGINE.name:
            return super().elimination(matrix, precision, base, engine)
        return NativeElimination(self._native, matrix, precision, base)


def _as_matrix(limbs: Limbs) -> Limbs:
    return limbs[None] if limbs.ndim == 2 else limbs
