"""Products of numbers of float64 components that never become limbs: see `exactla.backend.ComponentProducts`.

Residues are made of components, and results rounded to components, by the kernels for float64: a number is a sum of
entries of one scan, and its residues are theirs of the sum.
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactla.backend import Engine
from exactla.core.limbs import OCTETS
from exactla.core.moduli import ResidueBase
from exactla.formats import FLOAT64
from exactla.results import Rounding
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64, Array, Instructions
from exactla_backends.cpu.residues import (
    ENGINE,
    OperandPlanes,
    PackedPlanes,
    PendingProduct,
    aligned,
    octets_of,
    padded_columns,
    padded_depth,
)
from exactla_backends.kernels.tables import limbs_for

MOST_BITS = 960
"""Of sums. Longer ones are made of limbs by products with tables, which are faster for many moduli."""


NONE = 1 << 40
"""Larger than any exponent."""


class ScannedComponents(NamedTuple):
    """Numbers [R, K] by their components, integers below 2**bits times 2**exponents[row]."""

    words: NDArray[np.uint64]
    exponents: Array
    bits: int

    def rows(self, rows: slice) -> "ScannedComponents":
        """Some of the rows."""
        return ScannedComponents(self.words[rows], self.exponents[rows], self.bits)


class NativeComponentProducts:
    """See `exactla.backend.ComponentProducts`."""

    def __init__(self, native: Instructions) -> None:
        self._native = native

    def takes(self, engine: Engine, bits: int) -> bool:
        return engine.name == ENGINE.name and bits <= MOST_BITS

    def scan(self, words: NDArray[np.uint64]) -> ScannedComponents | None:
        rows, depth, count = words.shape
        if words.strides[1:] == (count * OCTETS, OCTETS):
            found = self._ranges(words.reshape(rows, depth * count))
        elif words.strides[::2] == (count * OCTETS, OCTETS):
            found = self._ranges(words.swapaxes(1, 2).reshape(rows * count, depth))
        else:
            return self.scan(words.copy())  # whose strides are those of an array without ones of length 1, too
        if found is None:
            return None
        lowest, highest = (x.reshape(rows, -1) for x in found)
        some = lowest < highest  # elsewhere all are 0
        # a sum is below 2**highest as its first component is: the others come to less than a unit in its last place
        lowest = np.where(some, lowest, NONE).min(axis=1)
        highest = np.where(some, highest, -NONE).max(axis=1)
        bits = int((highest - lowest).max())
        return ScannedComponents(words, np.where(lowest < NONE, lowest, 0), max(bits, 0))

    def _ranges(self, words: Array) -> tuple[Array, Array] | None:
        """Lowest and highest bits of the entries of each row [R, K]; None where one is not finite."""
        lowest, highest = np.empty((2, len(words)), np.int64)
        nonfinite = I64(0)
        self._native.run(
            "scan",
            ctypes.byref(library.stack(words[None], FLOAT64, None, 0, 0)),
            I64(1),
            library.Pointer(library.pointer(lowest)),
            library.Pointer(library.pointer(highest)),
            ctypes.byref(nonfinite),
        )
        return None if nonfinite.value else (lowest, highest)

    def left_residues(self, numbers: ScannedComponents, base: ResidueBase) -> OperandPlanes | None:
        rows, depth, _ = numbers.words.shape
        padded = padded_depth(depth)
        planes = aligned((1, len(base.moduli) * octets_of(base), rows, padded))
        done = self._residues(numbers, base, planes, rows * padded, packed=False)
        return OperandPlanes(self._native, planes, rows) if done else None

    def right_residues(self, numbers: ScannedComponents, base: ResidueBase) -> PackedPlanes | None:
        rows, depth, _ = numbers.words.shape
        padded = padded_depth(depth)
        packed = aligned((1, len(base.moduli) * octets_of(base), padded_columns(rows) * padded))
        done = self._residues(numbers, base, packed, packed.shape[-1], packed=True)
        return PackedPlanes(packed, rows) if done else None

    def _residues(
        self, numbers: ScannedComponents, base: ResidueBase, planes: Array, plane_bytes: int, *, packed: bool
    ) -> bool:
        """Make the residues of all rows, in planes or packed; False where components overlap."""
        _, depth, count = numbers.words.shape
        octets, padded = octets_of(base), padded_depth(depth)
        broken = self._native.run(
            "component_residues",
            _stacks(numbers),
            I64(count),
            ctypes.byref(library.residue_table(base, limbs_for(numbers.bits), octets, None)),
            I64(octets),
            ctypes.byref(library.Planes(library.pointer(planes), plane_bytes, padded, padded)),
            I64(packed),
        )
        return broken == 0

    def product(
        self,
        sides: tuple[ScannedComponents, ScannedComponents],
        residues: tuple[OperandPlanes, PackedPlanes],
        base: ResidueBase,
        found: NDArray[np.uint64],
    ) -> bool:
        octets = octets_of(base)
        pair = np.zeros(1, np.int64)
        product = PendingProduct(self._native, ((1, *residues),), (pair, pair), base, octets)
        left, right = sides
        job = library.rounding_job(
            base,
            octets,
            FLOAT64,
            (left.exponents, right.exponents, 0),
            [found[None]],
            [Rounding.NEAREST],
            components=found.shape[-1],
        )
        return self._native.run("multiply_round", ctypes.byref(product.product), ctypes.byref(job)) == 0


def _stacks(numbers: ScannedComponents) -> Any:
    """Each component [R, K] as a matrix of its own."""
    words, exponents, bits = numbers
    count = words.shape[-1]
    kept = [library.stack(words[None, ..., i], FLOAT64, exponents, bits, library.EXPECT_FINITE) for i in range(count)]
    return (library.Stack * count)(*kept)
