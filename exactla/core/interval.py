"""Products of interval matrices in integers.

With ``m = lo + hi`` and ``r = hi - lo`` (so that an interval is ``(m +- r) / 2`` and conversion loses nothing),
``rho = sign(m) min(|m|, r)``, and everything scaled by four, the sums

    C = m_a m_b        S = |m_a| r_b + r_a (|m_b| + r_b)        P = rho_a rho_b        Q = |rho_a| |rho_b|

give Rump's bound [C - S, C + S] and the sharp bound [C - S + P + Q, C + S + P - Q]. Each end is rounded outward once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from exactla.backend import Backend, Buffer, IntervalPieces, Operand
from exactla.core.contraction import Contraction, Pairing, Terms
from exactla.core.evaluation import Output, evaluate, plan
from exactla.core.matmul import NonFinite, Options, Work, check_operands
from exactla.core.planning import Block, Tiling, arithmetic, sum_bits
from exactla.formats import FloatFormat
from exactla.results import Rounding

SCALE_EXPONENT = -2
"""The sums are four times the product."""

EXTRA_BITS = 2
"""|m| + r is below four times the larger of the operands that it is made of."""

M, ABS_M, R, OUTER, RHO, ABS_RHO, STRADDLES = range(7)
PIECES = 7


class IntervalMethod(StrEnum):
    """How an interval product is bounded."""

    RUMP = "rump"
    """Midpoint and radius (Rump 1999): three products."""
    SHARP = "sharp"
    """Five products: never wider than Rump's, and the hull except where two straddling entries meet."""
    HULL = "hull"
    """The exact interval hull."""


_CENTRE = (1, M, M)
_RADIUS = ((1, ABS_M, R), (1, R, OUTER))
_CORRECTION = (1, RHO, RHO)
_INNER, _OUTER, _EXCESSIVE = range(3)


def interval_groups(method: IntervalMethod) -> list[Terms]:
    """Groups (inner, outer, excessive): the ends are inner - outer and inner + outer, the hull's if `excessive` is 0.

    Rump's bound is wider than the sharp one by Q - P and Q + P, so it is as narrow where Q = 0. The sharp bound is
    wider than the hull by a positive amount for each pair of straddling intervals whose midpoints are not 0.
    """
    if method is IntervalMethod.RUMP:
        return [(_CENTRE,), _RADIUS, ((1, ABS_RHO, ABS_RHO),)]
    return [(_CENTRE, _CORRECTION), (*_RADIUS, (-1, ABS_RHO, ABS_RHO)), ((1, STRADDLES, STRADDLES),)]


@dataclass(frozen=True)
class IntervalSide:
    """The pieces of the intervals of one side."""

    backend: Backend
    first: Operand
    second: Operand
    endpoints: bool
    invalid: list[Buffer] = field(default_factory=list)  # counts of entries with r < 0
    broken: list[Buffer] = field(default_factory=list)  # counts of entries that break their scan
    conversion: None = None

    @property
    def scanned(self) -> Operand:
        return self.first

    def intervals(self, stacks: slice, rows: slice, depth: slice) -> IntervalPieces:
        """The pieces of a block."""
        return self.backend.interval_pieces(
            self.backend.block(self.first, stacks, rows, depth),
            self.backend.block(self.second, stacks, rows, depth),
            endpoints=self.endpoints,
        )

    def pieces(self, stacks: slice, rows: slice, depth: slice) -> Sequence[Operand]:
        p = self.intervals(stacks, rows, depth)
        self.invalid.append(p.invalid)
        self.broken.append(p.broken)
        return [p.m, p.abs_m, p.r, p.outer, p.rho, p.abs_rho, p.straddles]


@dataclass(frozen=True)
class IntervalProduct:
    """Encodings of both ends, the entries that are proven hulls, and the number of invalid operand entries."""

    lo: Buffer
    hi: Buffer
    hull: "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]"
    invalid: int
    work: Work


def interval_product(
    backend: Backend,
    left: tuple[Operand, Operand],
    right: tuple[Operand, Operand],
    pairing: Pairing,
    format: FloatFormat,
    method: IntervalMethod,
    *,
    endpoints: bool,
    options: Options,
) -> IntervalProduct:
    """Both ends of the product of interval matrices, rounded outward once from the exact bound.

    Raises
    ------
    NonFinite
        An operand has a NaN or an infinity.
    OperandChangedError
        An operand was written to between its scan and its conversion.
    """
    a, b = backend.scan([left, right])
    if not (a.finite and b.finite):
        raise NonFinite
    sides = (
        IntervalSide(backend, a.operands[0], a.operands[1], endpoints),
        IntervalSide(backend, b.operands[0], b.operands[1], endpoints),
    )
    groups = interval_groups(method)
    # both ends are sums of all terms of the first two groups, and the hull's corrections are smaller
    terms = (len(groups[_INNER]) + len(groups[_OUTER])) * left[0].shape[2]
    bits = sum_bits(a.bits + EXTRA_BITS, b.bits + EXTRA_BITS, terms)
    contraction = Contraction(backend, sides[0], sides[1], pairing, groups, arithmetic(backend, bits, options.engine))
    tiling = plan(contraction, options.workspace)
    results, hull = _evaluate(contraction, sides, format, tiling, method, options)
    checks = check_operands(backend, contraction, options, [count for side in sides for count in side.broken])
    invalid = backend.total([count for side in sides for count in side.invalid])
    work = Work(contraction.arithmetic, tiling, 2 + tiling.passes + checks)
    return IntervalProduct(results[0], results[1], hull, invalid, work)


def _evaluate(
    contraction: Contraction,
    sides: Sequence[IntervalSide],
    format: FloatFormat,
    tiling: Tiling,
    method: IntervalMethod,
    options: Options,
) -> tuple[list[Buffer], "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]"]:
    backend, base = contraction.backend, contraction.arithmetic.base
    hull = np.ones(tiling.shape, np.bool_)

    def ends(block: Block, blocks: Tiling, planes: list[Buffer]) -> list[Buffer]:
        """Residues of four times the lower and the upper end; notes which entries are hulls."""
        lower = backend.combine([(1, planes[_INNER]), (-1, planes[_OUTER])], base)
        upper = backend.combine([(1, planes[_INNER]), (1, planes[_OUTER])], base)
        excessive = backend.integers(planes[_EXCESSIVE], base) != 0
        if method is IntervalMethod.HULL and excessive.any():
            low, high = _excess(contraction, sides, block, blocks)
            return [backend.combine([(1, lower), (1, low)], base), backend.combine([(1, upper), (-1, high)], base)]
        if method is not IntervalMethod.HULL:
            hull[block.pairs, block.rows, block.columns] = ~excessive
        return [lower, upper]

    outputs = [Output(((1, 0),), (Rounding.DOWN,)), Output(((1, 1),), (Rounding.UP,))]
    results = evaluate(
        contraction, outputs, format, tiling, shift=SCALE_EXPONENT, correction=ends, progress=options.progress
    )
    return results, hull


def _excess(
    contraction: Contraction, sides: Sequence[IntervalSide], block: Block, tiling: Tiling
) -> tuple[Buffer, Buffer]:
    """Residues of what the sharp ends of a block exceed the hull by."""
    backend, base = contraction.backend, contraction.arithmetic.base
    left_stacks, right_stacks, pairs = contraction.pairing.block(block.pairs)
    found: list[tuple[Buffer, Buffer]] = []
    for depth in tiling.depths(sides[0].first.shape[2]):
        left = sides[0].intervals(left_stacks, block.rows, depth)
        right = sides[1].intervals(right_stacks, block.columns, depth)
        found.append(backend.hull_excess(left, right, pairs, base))
    low, high = (backend.combine([(1, planes) for planes in ends], base) for ends in zip(*found, strict=True))
    return low, high
