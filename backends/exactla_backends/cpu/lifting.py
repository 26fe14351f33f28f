"""The native `Lifting`: inverses modulo primes of 8 bits, and steps that stay in residues but for their integers."""

import ctypes
from collections.abc import Callable
from functools import cache, cached_property
from math import gcd

import numpy as np

from exactla.backend import Expansion, Lifting
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.scaling import largest
from exactla_backends.cpu.expansion import NativeExpansion
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array, Instructions
from exactla_backends.cpu.residues import OperandPlanes
from exactla_backends.kernels import tables
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy.lifting import HostLifting
from exactla_backends.numpy.threads import threads

PRIME_LIMIT, LEAST_PRIME = 256, 101
"""Primes of a native lifting, so that `pivot_panel` can take them."""

MOST_LIMBS = 16
"""Limbs of integers that residues of one byte are made from, XL_CHUNK_LIMBS."""

OTHER_MODULI = 8
"""Moduli beside the primes that residuals take, where entries are of one word."""

INTERRUPTIBLE, BLOCK = 1 << 33, 256
"""Multiplications of inverses in one call, which cannot be interrupted, and what its columns are a multiple of."""

Planes = Callable[[ResidueBase], OperandPlanes]
"""Makes residues of a matrix."""


class NativeLifting:
    """See `exactla.backend.Lifting`: the postconditions are there."""

    def __init__(self, native: Instructions, planes: Planes, matrix: IntegerMatrix, primes: ResidueBase) -> None:
        self._native, self._planes, self._matrix = native, planes, matrix
        residues = planes(primes)
        inverse = residues.planes[0]
        moduli, size, _ = inverse.shape
        determinants = _invert(native, inverse, primes)
        self.determinants = tuple(int(d) for d in determinants)
        kept = np.flatnonzero(determinants)
        if ResidueBase(tuple(primes.moduli[i] for i in kept)).product.bit_length() % 32 == 1:
            kept = kept[:-1]  # digits take a bit more than their limbs have
        self.base = ResidueBase(tuple(primes.moduli[i] for i in kept))
        self._inverse = inverse if len(kept) == moduli else np.ascontiguousarray(inverse[kept])
        self._packed = OperandPlanes(native, self._inverse[None], size).packed
        self._bound = size * matrix.largest
        self._sides: dict[ResidueBase, Array] = {}

    def lift(self, residual: Array, steps: int) -> tuple[Array, Array]:
        # |r'| <= |r| / P + n max|A| / 2, and more than half of P's bits are always there
        bits = max(largest(residual), self._bound).bit_length() + 1
        other = disjoint_base(self.base, bits)
        limbs = None if other is None else tables.crt(other, 1).limbs
        if other is None or limbs is None or limbs > MOST_LIMBS:
            return self._host.lift(residual, steps)
        return self._lift(residual, steps, other, limbs)

    def expand(self, right_side: Array, weights: Array) -> Expansion:
        return NativeExpansion(self._native, self, right_side, weights)

    def _lift(self, residual: Array, steps: int, other: ResidueBase, limbs: int) -> tuple[Array, Array]:
        if other not in self._sides:
            self._sides = {other: self._planes(other).packed}
        matrix = self._sides[other]
        size, columns = residual.shape
        crt, crt_other = library.crt_table(self.base, 1), library.crt_table(other, 1)
        digit_limbs = tables.crt(self.base, 1).limbs
        digits = np.empty((steps, columns, size, digit_limbs), np.uint32)
        words = mp.words_of(residual.T, limbs)
        reciprocals = np.array([_reciprocal(self.base.product, q) for q in other.moduli], np.int64)
        sides = [
            library.LiftingSide(
                library.pointer(packed),
                library.pointer(library.product_constants(base, 1)),
                len(base.moduli),
                ctypes.addressof(residues),
                ctypes.addressof(table),
            )
            for packed, base, residues, table in (
                (self._packed, self.base, library.residue_table(self.base, limbs, 1, None), crt),
                (matrix, other, library.residue_table(other, max(digit_limbs, limbs), 1, None), crt_other),
            )
        ]
        job = library.Lifting(
            *sides,
            size,
            self._inverse.shape[-1],
            columns,
            steps,
            library.pointer(reciprocals),
            library.pointer(words),
            library.pointer(digits),
        )
        self._native.run("lift", ctypes.byref(job))
        return digits.view(np.uint16), mp.from_words(words).T

    @cached_property
    def _host(self) -> Lifting:
        """The reference on the same inverses, for residuals that are too wide for residues of one byte."""
        size = len(self._matrix)
        found = HostLifting.__new__(HostLifting)
        found.start(self._matrix, self.base, [plane[:, :size].astype(np.float64) for plane in self._inverse])
        return found


def _invert(native: Instructions, planes: Array, primes: ResidueBase) -> Array:
    """Inverses modulo primes in place, as many primes and columns at a time as a call may take; the determinants."""
    moduli, size, depth = planes.shape
    constants = library.product_constants(primes, 1)
    determinants = np.ones(moduli, np.int64)
    exchanged = np.empty((moduli, size), np.int64)
    step = max(threads(), INTERRUPTIBLE // max(size, 1) ** 3)
    columns = max(1, INTERRUPTIBLE // (step * max(size, 1) ** 2 * BLOCK)) * BLOCK
    for p in range(0, moduli, step):
        part = slice(p, p + step)
        for begin in range(0, size, columns):
            job = library.Inversion(
                library.pointer(planes[part]),
                len(planes[part]),
                size,
                depth,
                library.pointer(constants[p * len(constants) // moduli :]),
                begin,
                min(begin + columns, size),
                library.pointer(exchanged[part]),
            )
            native.run("invert", ctypes.byref(job), library.Pointer(library.pointer(determinants[part])))
    return determinants


def _reciprocal(product: int, modulus: int) -> int:
    """1 / product modulo a modulus, centred."""
    found = pow(product, -1, modulus)
    return found - modulus if 2 * found > modulus else found


@cache
def disjoint_base(base: ResidueBase, bits: int) -> ResidueBase | None:
    """A short base of moduli up to 256 that have nothing in common with another's; None where none has so many bits."""
    chosen: list[int] = []
    product, taken = 1, base.product
    for candidate in range(PRIME_LIMIT, 2, -1):
        if product.bit_length() - 3 >= bits:
            return ResidueBase(tuple(chosen))
        if gcd(candidate, product * taken) == 1:
            chosen.append(candidate)
            product *= candidate
    return ResidueBase(tuple(chosen)) if product.bit_length() - 3 >= bits else None
