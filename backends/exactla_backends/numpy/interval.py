"""Integers that interval products are made of, in limbs; see `exactla.core.interval` for the formulas."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.backend import IntervalPieces, Operand, Pairs
from exactla.core.interval import EXTRA_BITS
from exactla.core.moduli import ResidueBase
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy import tables
from exactla_backends.numpy.encodings import Ints
from exactla_backends.numpy.operands import operand_limbs
from exactla_backends.numpy.residues import centre, from_limbs


def interval_pieces(first: Operand, second: Operand, *, endpoints: bool) -> IntervalPieces:
    """Pieces of the intervals [first, second], or first -+ second where not `endpoints`."""
    bits = max(first.bits, second.bits) + EXTRA_BITS
    count = mp.count_for(bits)
    everything = (slice(None),) * 3
    found = [operand_limbs(operand, everything, count) for operand in (first, second)]
    x, y = (mp.carry(mp.extend(limbs, count)) for limbs, _ in found)
    m, r = (mp.carry(x + y), mp.carry(y - x)) if endpoints else (mp.carry(2 * x), mp.carry(2 * y))
    abs_m, negative = mp.magnitude(m.copy())
    inside = mp.less(abs_m, r)
    abs_rho = np.where(inside, abs_m, r)
    sign = 1 - 2 * negative.astype(np.int64)

    def piece(limbs: Ints) -> Operand:
        return first._replace(buffer=limbs, format=None, bits=bits)

    return IntervalPieces(
        m=piece(m),
        abs_m=piece(abs_m),
        r=piece(r),
        outer=piece(mp.carry(abs_m + r)),
        rho=piece(mp.carry(sign * abs_rho)),
        abs_rho=piece(abs_rho),
        straddles=piece((inside & (abs_m != 0).any(axis=0)).astype(np.int64)[None]),
        invalid=np.count_nonzero(r[-1] < 0),
        broken=sum(bad for _, bad in found),
    )


def first_invalid(first: Operand, second: Operand, *, endpoints: bool) -> int:
    """Position in C order of the first interval with its ends in the wrong order, -1 where there is none."""
    wrong = interval_pieces(first, second, endpoints=endpoints).r.buffer[-1] < 0
    return int(wrong.argmax()) if wrong.any() else -1


def hull_excess(
    left: IntervalPieces, right: IntervalPieces, pairs: Pairs, base: ResidueBase
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Planes [P, T, R, C] of what the sharp lower and upper ends exceed the hull by.

    For entries that both straddle zero the excess is 2 min(|m_a| r_b, |m_b| r_a) - 2 |m_a m_b|, at the lower end
    where m_a m_b > 0 and at the upper where it is < 0. The smaller product is found by comparing the ranks of
    |m| / r, so that the sums can be made from residues.
    """
    moduli = tables.moduli(base)[:, :, None]
    shape = (len(base.moduli), len(pairs[0]), left.m.shape[1], right.m.shape[1])
    low, high = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    # |m_a| / r_a and |m_b| / r_b differ by at least 1 / (r_a r_b), where they differ
    scale = left.r.bits + right.r.bits
    a, b = _Straddling(left, base, scale), _Straddling(right, base, scale)
    for t, (i, j) in enumerate(zip(*pairs, strict=True)):
        for k in np.flatnonzero(a.straddles[i].any(axis=0) & b.straddles[j].any(axis=0)).tolist():
            rows, columns = np.flatnonzero(a.straddles[i, :, k]), np.flatnonzero(b.straddles[j, :, k])
            x, y = a.column(i, rows, k), b.column(j, columns, k)
            rank = _ranks([*x.ratios, *y.ratios])
            smaller = rank[: len(rows), None] <= rank[None, len(rows) :]
            product = np.where(smaller, x.abs_m[:, :, None] * y.r[:, None, :], x.r[:, :, None] * y.abs_m[:, None, :])
            excess = centre(product, moduli) - centre(x.abs_m[:, :, None] * y.abs_m[:, None, :], moduli)
            sign = x.sign[:, None] * y.sign[None, :]
            place = (slice(None), t, rows[:, None], columns[None, :])
            for total, wanted in ((low, 1), (high, -1)):
                total[place] = centre(total[place] + 2 * np.where(sign == wanted, excess, 0), moduli)
    return low.astype(np.int32), high.astype(np.int32)


class _Column:
    """The straddling entries of one k: residues of |m| and r, sign of m, and |m| / r as comparable integers."""

    def __init__(self, abs_m: Ints, r: Ints, sign: Ints, base: ResidueBase, scale: int) -> None:
        self.abs_m = from_limbs(abs_m, base)
        self.r = from_limbs(r, base)
        self.sign = sign
        numerators, denominators = (mp.to_integers(v) for v in (abs_m, r))
        self.ratios = [(int(n) << scale) // int(d) for n, d in zip(numerators, denominators, strict=True)]


class _Straddling:
    def __init__(self, pieces: IntervalPieces, base: ResidueBase, scale: int) -> None:
        self.pieces = pieces
        self.base = base
        self.scale = scale
        self.straddles: NDArray[np.bool_] = pieces.straddles.buffer[0] != 0

    def column(self, stack: int, rows: NDArray[np.intp], k: int) -> _Column:
        abs_m, r = (x.buffer[:, stack, rows, k] for x in (self.pieces.abs_m, self.pieces.r))
        m = self.pieces.m.buffer[:, stack, rows, k]
        sign = np.where(m[-1] < 0, -1, (m != 0).any(axis=0).astype(np.int64))
        return _Column(abs_m, r, sign, self.base, self.scale)


def _ranks(values: Sequence[int]) -> NDArray[np.int64]:
    """Positions of the values among the distinct ones, in increasing order."""
    order: dict[Any, int] = {v: i for i, v in enumerate(sorted(set(values)))}
    return np.array([order[v] for v in values], np.int64)
