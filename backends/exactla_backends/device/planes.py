"""Buffers of a device backend: views of entries, rows of exponents, planes of residues, encodings. Knows no kernels."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from exactla.backend import Buffer
from exactla.core.moduli import OCTET_LIMIT, ResidueBase
from exactla_backends.device.device import Memory

DEPTH, COLUMNS = 128, 16
"""Multiples to which the inner dimension of operands' planes, with zeros, and the columns of results are padded."""


def padded(n: int, multiple: int) -> int:
    """`n` rounded up to a multiple."""
    return -(-n // multiple) * multiple


def octets_of(base: ResidueBase) -> int:
    """Bytes of a residue: 1, or 2 for moduli that have a high and a low digit."""
    return 1 if max(base.moduli) <= OCTET_LIMIT else 2


class Entries(NamedTuple):
    """The buffer of an operand: entry (s, r, k) begins at byte offset + s, r, k times the strides.

    Integers of limbs have `limbs` words of 32 bits, `limb_stride` bytes apart.
    """

    memory: Memory
    offset: int
    strides: tuple[int, int, int]
    limbs: int = 0
    limb_stride: int = 0


class Rows(NamedTuple):
    """An int64 for each row of an operand: that of row (s, r) is element offset + s * stride + r."""

    memory: Memory
    offset: int
    stride: int
    shape: tuple[int, int]


class Count(NamedTuple):
    """An int32 that kernels add to: element `cell` of a memory."""

    memory: Memory
    cell: int


@dataclass(frozen=True)
class OperandPlanes:
    """Residues of an operand: int8 [S, planes, R, depth], contiguous from the start of the memory on.

    Modulus p has the plane p, or with digits the planes 2 p (high) and 2 p + 1 (low): the residue is 256 high + low.
    `depth` is the inner dimension padded with zeros to a multiple of DEPTH. What else matrix units make of the planes
    is kept with them in `forms`.
    """

    memory: Memory
    stacks: int
    planes: int
    rows: int
    depth: int
    forms: dict[Hashable, Memory] = field(default_factory=dict, compare=False)


class ResultPlanes(NamedTuple):
    """Residues of results: int8, or int16 where `octets` is 2, [T, P, R, columns padded to a multiple of COLUMNS].

    Contiguous; centred in [-floor(m / 2), ceil(m / 2)). What the padding holds does not matter.
    """

    memory: Memory
    octets: int
    moduli: int
    shape: tuple[int, int, int]

    @property
    def padded_columns(self) -> int:
        return padded(self.shape[2], COLUMNS)


class Encodings(NamedTuple):
    """Encodings of results [T, R, C], contiguous, of so many octets each."""

    memory: Memory
    octets: int
    shape: tuple[int, int, int]

    @property
    def size(self) -> int:
        return prod(self.shape)


Term = tuple[int, Buffer, Buffer]
"""A sign, and the `OperandPlanes` of the left and the right operand of a product."""
