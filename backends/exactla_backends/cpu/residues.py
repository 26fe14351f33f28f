"""Residues as the CPU backend holds them: of operands, in byte planes; of results, perhaps not yet computed.

A product that is only to be rounded never needs its residues as a whole, so it is kept as a `PendingProduct`.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from exactla.backend import Engine
from exactla.core.moduli import OCTET_LIMIT, ResidueBase
from exactla_backends.cpu import memory
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import Array, Instructions

ENGINE = Engine("int8", 31, (OCTET_LIMIT, 65280))
"""Whose residues take an octet, or two signed ones."""


def padded_depth(depth: int) -> int:
    """The inner dimension as planes hold it: rows that are powers of two apart would share a few sets of the cache."""
    step = library.limits().depth
    found = padded(depth, step)
    return found + step if found >= 2048 and found % 2048 == 0 else found


def padded_columns(columns: int) -> int:
    """Columns as right operands are packed, and results laid out."""
    return padded(columns, library.limits().columns)


def padded(n: int, multiple: int) -> int:
    """`n` rounded up to a multiple."""
    return -(-n // multiple) * multiple


def aligned(shape: Sequence[int], dtype: type = np.int8) -> Array:
    """An uninitialised array that starts where the matrix kernels want it."""
    alignment = library.limits().alignment
    size = prod(shape) * np.dtype(dtype).itemsize
    whole = memory.octets(size + alignment)
    start = -library.pointer(whole) % alignment
    return whole[start : start + size].view(dtype).reshape(shape)


def octets_of(base: ResidueBase) -> int:
    """Octets that a residue takes: one, or two for moduli past 256."""
    return 1 if max(base.moduli) <= OCTET_LIMIT else 2


@dataclass(frozen=True)
class OperandPlanes:
    """Residues of an operand: bytes [S, planes, R, K padded], and as the right side of products packed."""

    instructions: Instructions
    planes: Array
    rows: int

    @cached_property
    def packed(self) -> Array:
        """Bytes [S, planes, packed] in the order that the matrix kernels read."""
        stacks, planes, rows, depth = self.planes.shape
        packed = aligned((stacks, planes, padded_columns(rows) * depth))
        self.instructions.run(
            "pack",
            library.Pointer(library.pointer(self.planes)),
            library.I64(stacks * planes),
            library.I64(rows),
            library.I64(depth),
            library.Pointer(library.pointer(packed)),
        )
        return packed


@dataclass(frozen=True)
class PackedPlanes:
    """The right side of products that are made of it only once: no more than the packed bytes of `OperandPlanes`."""

    packed: Array
    rows: int


Term = tuple[int, OperandPlanes, OperandPlanes | PackedPlanes]


@dataclass(frozen=True)
class PendingProduct:
    """A sum of products that has not been computed yet: residues on demand, or encodings without them."""

    instructions: Instructions
    terms: tuple[Term, ...]
    pairs: tuple[Array, Array]
    base: ResidueBase
    octets: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """[T, R, C]."""
        _, left, right = self.terms[0]
        return len(self.pairs[0]), left.rows, right.rows

    @cached_property
    def product(self) -> ctypes.Structure:
        """The product as the native library takes it; it points into `terms` and `pairs`."""
        terms = (library.Term * len(self.terms))(*(self._term(*term) for term in self.terms))
        constants = library.product_constants(self.base, self.octets)
        pairs, rows, columns = self.shape
        return library.keep(
            library.Product(
                ctypes.addressof(terms),
                len(terms),
                library.pointer(self.pairs[0]),
                library.pointer(self.pairs[1]),
                pairs,
                rows,
                columns,
                len(self.base.moduli),
                self.octets,
                library.pointer(constants),
            ),
            terms,
            constants,
        )

    def _term(self, sign: int, left: OperandPlanes, right: OperandPlanes | PackedPlanes) -> ctypes.Structure:
        a, b = left.planes, right.packed
        return library.Term(
            library.pointer(a),
            library.pointer(b),
            a.strides[1] * self.octets,
            a.strides[1],
            b.strides[1] * self.octets,
            b.strides[1],
            a.shape[3],
            int(sign < 0),
            0,
            a.strides[0],
            b.strides[0],
        )

    @cached_property
    def residues(self) -> "ResultPlanes":
        """The residues, computed."""
        pairs, rows, columns = self.shape
        residues = aligned(
            (pairs, len(self.base.moduli), rows, padded_columns(columns)), np.int8 if self.octets == 1 else np.int16
        )
        found = ResultPlanes(residues, columns)
        self.instructions.run(
            "multiply",
            ctypes.byref(self.product),
            ctypes.byref(library.result_stack(residues, columns)),
        )
        return found


@dataclass(frozen=True)
class ResultPlanes:
    """Residues of results: [T, P, R, C padded], int8 or int16."""

    planes: Array
    columns: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """[T, R, C]."""
        return len(self.planes), self.planes.shape[2], self.columns


def residues_of(planes: PendingProduct | ResultPlanes) -> ResultPlanes:
    """Residues, computed now where they have not been."""
    return planes.residues if isinstance(planes, PendingProduct) else planes
