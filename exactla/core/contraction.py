"""Sums of products of matrices, block by block: from operands to residues of the exact results.

A `Side` yields the operands of one side of the product for a block; a `Contraction` multiplies and sums them as its
groups say. Rounding is left to the caller, since it may want several results from the same sums.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from exactla.backend import Backend, Buffer, Operand, Pairs, Scanned, Tile
from exactla.core.planning import Arithmetic, Block, Tiling

Terms = tuple[tuple[int, int, int], ...]
"""(sign, left piece, right piece): a group is the sum over its terms of sign * left @ right.T."""


class Side(Protocol):
    """One side of a product: the operands that the terms number, for any block of rows."""

    @property
    def scanned(self) -> Operand:
        """An operand that carries the rows' exponents."""

    @property
    def conversion(self) -> "Conversion | None":
        """Where residues are kept for later products, if anywhere."""

    def pieces(self, stacks: slice, rows: slice, depth: slice) -> Sequence[Operand]:
        """The operands of a block."""


@dataclass
class Conversion:
    """A scan and residues of one side, kept for products to come."""

    scanned: Scanned | None = None
    planes: dict[Hashable, dict[int, Buffer]] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget all: the operand is not what it was."""
        self.scanned = None
        self.planes.clear()


@dataclass(frozen=True)
class PlainSide:
    """Operands taken as they are, with what is kept of them from one product to the next."""

    backend: Backend
    operands: tuple[Operand, ...]
    conversion: "Conversion | None" = None

    @property
    def scanned(self) -> Operand:
        return self.operands[0]

    def pieces(self, stacks: slice, rows: slice, depth: slice) -> Sequence[Operand]:
        return [self.backend.block(x, stacks, rows, depth) for x in self.operands]


@dataclass(frozen=True)
class Pairing:
    """Which matrices of two stacks are multiplied: result t is left[left_index[t]] @ right[right_index[t]].T."""

    left_index: tuple[int, ...]
    right_index: tuple[int, ...]

    def stacks(self, pairs: int) -> tuple[int, int]:
        """The most matrices of either side that a block of so many pairs takes."""
        left = right = 0
        for start in range(0, len(self.left_index), pairs):
            i, j, _ = self.block(slice(start, start + pairs))
            left, right = max(left, i.stop - i.start), max(right, j.stop - j.start)
        return left, right

    def block(self, pairs: slice) -> tuple[slice, slice, Pairs]:
        """The stacks that a range of results needs, and their pairs relative to those."""
        left, right = self.left_index[pairs], self.right_index[pairs]
        i, j = slice(min(left), max(left) + 1), slice(min(right), max(right) + 1)
        return i, j, ([k - i.start for k in left], [k - j.start for k in right])


class Contraction:
    """Residues of sums of products, for one block of results after the other."""

    def __init__(
        self,
        backend: Backend,
        left: Side,
        right: Side,
        pairing: Pairing,
        groups: Sequence[Terms],
        arithmetic: Arithmetic,
    ) -> None:
        self.backend = backend
        self.left = left
        self.right = right
        self.pairing = pairing
        self.groups = groups
        self.arithmetic = arithmetic
        self.counts: list[Buffer] = []  # entries that broke their scan, summed up at the end of a call
        self._kept: dict[str, tuple[object, dict[int, Buffer]]] = {}

    def release(self) -> None:
        """Let go of residues that are kept for the next block."""
        self._kept.clear()

    @property
    def pieces(self) -> int:
        """Operands of a side that the groups use, at most."""
        return max(len(self._used("left")), len(self._used("right")))

    def _used(self, name: str) -> set[int]:
        return {i if name == "left" else j for terms in self.groups for _, i, j in terms}

    def tile(self) -> Tile:
        """The sizes of the whole product as one block."""
        left, right = self.left.scanned.shape, self.right.scanned.shape
        return Tile(len(self.pairing.left_index), left[0], right[0], left[1], right[1], max(left[2], 1))

    def planes(self, block: Block, tiling: Tiling) -> list[Buffer]:
        """Planes [P, T, R, C] of each group for a block of results."""
        depths = tiling.depths(self.left.scanned.shape[2]) or [slice(0, 0)]
        if len(depths) == 1:
            return self._products(block, depths[0])
        sums = self._add([], self._products(block, depths[0]))
        for depth in depths[1:]:
            sums = self._add(sums, self._products(block, depth))
        return sums

    def _add(self, sums: list[Buffer], products: list[Buffer]) -> list[Buffer]:
        """Sums and products, reduced: one plane a group is held, however many steps there are."""
        terms = (
            [[(1, x)] for x in products]
            if not sums
            else [[(1, s), (1, x)] for s, x in zip(sums, products, strict=True)]
        )
        return [self.backend.combine(pair, self.arithmetic.base) for pair in terms]

    def _products(self, block: Block, depth: slice) -> list[Buffer]:
        """Planes of each group, summed over one step of the inner dimension."""
        left_stacks, right_stacks, pairs = self.pairing.block(block.pairs)
        base, engine = self.arithmetic.base, self.arithmetic.engine
        a = self._residues("left", self.left, left_stacks, block.rows, depth)
        b = self._residues("right", self.right, right_stacks, block.columns, depth)
        return [
            self.backend.multiply([(s, a[i], b[j]) for s, i, j in terms], pairs, base, engine) for terms in self.groups
        ]

    def exponents(self, block: Block, shift: int) -> tuple[Operand, Operand, Pairs, int]:
        """What `Backend.round` needs to place a block's integers."""
        left_stacks, right_stacks, pairs = self.pairing.block(block.pairs)
        none = slice(0, 0)
        left = self.backend.block(self.left.scanned, left_stacks, block.rows, none)
        right = self.backend.block(self.right.scanned, right_stacks, block.columns, none)
        return left, right, pairs, shift

    def _residues(self, name: str, side: Side, stacks: slice, rows: slice, depth: slice) -> dict[int, Buffer]:
        """Residues of a side's pieces; those of the block before are kept, as neighbouring blocks share a side."""
        used = self._used(name)
        if self.left is self.right:
            name = "both"  # a Gram matrix converts a block once where its rows are its columns
        key = (stacks.start, stacks.stop, rows.start, rows.stop, depth.start, depth.stop)
        if name in self._kept and self._kept[name][0] == key:
            return self._kept[name][1]
        self._kept.pop(name, None)
        kept = side.conversion
        whole_key = (key, self.arithmetic.base, self.arithmetic.engine.name, frozenset(used))
        if kept is not None and whole_key in kept.planes:
            return kept.planes[whole_key]
        planes = {}
        for number, operand in enumerate(side.pieces(stacks, rows, depth)):
            if number in used:
                planes[number], count = self.backend.residues(operand, self.arithmetic.base, self.arithmetic.engine)
                self.counts.append(count)
        if kept is not None:
            kept.planes[whole_key] = planes
        self._kept[name] = (key, planes)
        return planes
