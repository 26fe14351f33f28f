"""IEEE 754's answer for products with non-finite entries, entry by entry, as counts of terms.

With s the sign of an entry (0 for 0 and NaN) and f its signed infinity (0 where finite), the term a * b of an inner
product is infinite with sign f_a s_b + s_a f_b - f_a f_b, and invalid where an infinity meets a zero or a NaN occurs.
Sums of these are exact integer products of small operands; `Backend.mark` turns them into encodings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from exactla.backend import Backend, Operand
from exactla.core.contraction import Contraction, Pairing, Terms
from exactla.core.planning import arithmetic, sum_bits

SIGN, ABS_SIGN, INFINITY, ABS_INFINITY, ZERO, NAN, ONE = range(7)
PIECES = 7
_SIGNED = ((1, INFINITY, SIGN), (1, SIGN, INFINITY), (-1, INFINITY, INFINITY))
_COUNT = ((1, ABS_INFINITY, ABS_SIGN), (1, ABS_SIGN, ABS_INFINITY), (-1, ABS_INFINITY, ABS_INFINITY))
_INVALID = ((1, ABS_INFINITY, ZERO), (1, ZERO, ABS_INFINITY), (1, NAN, ONE), (1, ONE, NAN))


@dataclass(frozen=True)
class SpecialSide:
    """The special pieces of a side's operands: seven for each."""

    backend: Backend
    operands: tuple[Operand, ...]
    scanned: Operand
    conversion: None = None

    def pieces(self, stacks: slice, rows: slice, depth: slice) -> Sequence[Operand]:
        found = []
        for operand in self.operands:
            s = self.backend.special_pieces(self.backend.block(operand, stacks, rows, depth))
            found += [s.sign, s.abs_sign, s.infinity, s.abs_infinity, s.zero, s.nan, s.one]
        return found


def special_groups(terms: Terms) -> tuple[Terms, Terms, Terms]:
    """Groups (signed, count, invalid) over special pieces, for a group over operands."""

    def spread(pattern: Terms, *, signed: bool) -> Terms:
        return tuple(
            (s * (sign if signed else 1), PIECES * i + x, PIECES * j + y) for sign, i, j in terms for s, x, y in pattern
        )

    return spread(_SIGNED, signed=True), spread(_COUNT, signed=False), spread(_INVALID, signed=False)


def special_contraction(
    backend: Backend,
    left: tuple[Operand, ...],
    right: tuple[Operand, ...],
    pairing: Pairing,
    groups: Sequence[Terms],
    engine: str | None,
) -> Contraction:
    """A contraction with three groups for each of `groups`: the counts that `Backend.mark` reads."""
    spread = [special for terms in groups for special in special_groups(terms)]
    terms = max(map(len, spread)) * left[0].shape[2]
    return Contraction(
        backend,
        SpecialSide(backend, left, left[0]),
        SpecialSide(backend, right, right[0]),
        pairing,
        spread,
        arithmetic(backend, sum_bits(1, 1, terms), engine),
    )
