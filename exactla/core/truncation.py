"""A cheaper plan for operands of wide spread: leading bits first, and exact sums where those do not decide.

Keeping the leading t bits of each row changes an entry by less than one unit of its row, so a sum of n products of
integers below 2**t changes by less than n (2**t_left + 2**t_right + 1) <= 2**slack. Where s - 2**slack and
s + 2**slack round to the same encodings, those are the answer. The entries left are recomputed exactly: one by one, or
with their block where they are many.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exactla.backend import Backend, Buffer, Operand
from exactla.core.contraction import Contraction, Pairing, PlainSide
from exactla.core.evaluation import Output, evaluate, plan
from exactla.core.planning import Arithmetic, Block, Tiling, arithmetic, sum_bits
from exactla.formats import FloatFormat
from exactla.results import Rounding

MANY = 32
"""A block with more than one uncertain entry in so many is recomputed whole."""

GAIN = 3
"""Truncation has to save a third of the bits to be worth its second rounding."""


@dataclass(frozen=True)
class TruncatedProduct:
    """Contractions over leading bits and over all bits, with what is rounded from either."""

    backend: Backend
    leading: Contraction
    exact: Contraction
    left: Sequence[Operand]
    right: Sequence[Operand]
    slack: int
    outputs: Sequence[Output]
    format: FloatFormat
    workspace: int | None

    def evaluate(self, tiling: Tiling, progress: Callable[[int, int], object] | None) -> tuple[list[Buffer], int]:
        """Results in the order of the outputs and their roundings, and the host synchronisations that they took."""
        results = [[self.backend.allocate(tiling.shape, self.format) for _ in o.roundings] for o in self.outputs]
        syncs, passes = 0, tiling.passes
        for done, block in enumerate(tiling.blocks(), 1):
            planes = self.leading.planes(block, tiling)
            exponents = self.leading.exponents(block, 0)
            place = (block.pairs, block.rows, block.columns)
            for output, buffers in zip(self.outputs, results, strict=True):
                ((_, group),) = output.terms
                encodings: Sequence[Buffer]
                encodings, uncertain = self.backend.round_certified(
                    planes[group], self.leading.arithmetic.base, exponents, self.slack, self.format, output.roundings
                )
                syncs += 1
                if len(uncertain) * MANY > tiling.size(block):
                    encodings = self._block(block, tiling, group, output.roundings)
                elif len(uncertain):
                    exact = self._entries(block, uncertain, group, output.roundings, self._left_over(tiling))
                    for encoded, values in zip(encodings, exact, strict=True):
                        self.backend.scatter(encoded, uncertain, values)
                for buffer, encoded in zip(buffers, encodings, strict=True):
                    self.backend.store(buffer, place, encoded)
            if progress is not None:
                progress(done, passes)
        return [buffer for buffers in results for buffer in buffers], syncs

    def _block(self, block: Block, tiling: Tiling, group: int, roundings: Sequence[Rounding]) -> Sequence[Buffer]:
        planes = self.exact.planes(block, tiling)
        exponents = self.exact.exponents(block, 0)
        return self.backend.round(planes[group], self.exact.arithmetic.base, exponents, self.format, roundings)

    def _left_over(self, tiling: Tiling) -> int | None:
        """Workspace that the plan has for the exact contraction, None where nothing limits it."""
        if self.workspace is None:
            return None
        c = self.leading
        taken = self.backend.tile_bytes(tiling.tile, c.pieces, len(c.groups), c.arithmetic.base, c.arithmetic.engine)
        return max(self.workspace - taken, tiling.workspace_bytes - taken)

    def _entries(
        self,
        block: Block,
        uncertain: Sequence[tuple[int, int, int]],
        group: int,
        roundings: tuple[Rounding, ...],
        limit: int | None,
    ) -> Sequence[Buffer]:
        """Exact results [n, 1, 1] of single entries: each a product of two matrices of one row."""
        self.exact.release()
        pairing = self.exact.pairing
        places = [(block.pairs.start + t, block.rows.start + r, block.columns.start + c) for t, r, c in uncertain]
        left = _Gathered([(pairing.left_index[t], r) for t, r, _ in places])
        right = _Gathered([(pairing.right_index[t], c) for t, _, c in places])
        contraction = Contraction(
            self.backend,
            PlainSide(self.backend, left.operands(self.backend, self.left)),
            PlainSide(self.backend, right.operands(self.backend, self.right)),
            Pairing(left.index, right.index),
            [self.exact.groups[group]],
            self.exact.arithmetic,
        )
        results = evaluate(contraction, [Output(((1, 0),), roundings)], self.format, plan(contraction, limit))
        self.exact.counts.extend(contraction.counts)
        return results


class _Gathered:
    """Rows that entries need, each once, and for each entry the position of its row."""

    def __init__(self, rows: Sequence[tuple[int, int]]) -> None:
        self.rows = sorted(set(rows))
        position = {row: i for i, row in enumerate(self.rows)}
        self.index = tuple(position[row] for row in rows)

    def operands(self, backend: Backend, operands: Sequence[Operand]) -> tuple[Operand, ...]:
        return tuple(backend.gather(x, self.rows) for x in operands)


def truncation(
    exact: Contraction,
    left: Sequence[Operand],
    right: Sequence[Operand],
    outputs: Sequence[Output],
    format: FloatFormat,
    *,
    engine: str | None,
    workspace: int | None,
) -> TruncatedProduct | None:
    """The truncated plan of a contraction of operands as they are; None where all bits are nearly as cheap."""
    backend, groups = exact.backend, exact.groups
    kept = backend.leading_bits
    terms = max(map(len, groups)) * left[0].shape[2]
    a, b = (tuple(backend.truncate(x, kept) for x in operands) for operands in (left, right))
    slack = max(a[0].bits, b[0].bits) + 2 + max(terms - 1, 0).bit_length()
    bits = max(sum_bits(a[0].bits, b[0].bits, terms), slack) + 1
    if bits * GAIN > exact.arithmetic.bits * (GAIN - 1):
        return None
    leading: Arithmetic = arithmetic(backend, bits, engine)
    left_side = PlainSide(backend, a)
    right_side = left_side if exact.left is exact.right else PlainSide(backend, b)
    contraction = Contraction(backend, left_side, right_side, exact.pairing, groups, leading)
    return TruncatedProduct(backend, contraction, exact, left, right, slack, outputs, format, workspace)
