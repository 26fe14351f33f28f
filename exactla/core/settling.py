"""A cheaper plan for operands of ordinary spread: leading bits first, and exact sums where those do not decide.

Where numbers have a density near 0, a row of n of them spreads over its format's p bits and about log2(n) more, with
one entry among 2**s that spreads over s more. Keeping t bits drops bits of few entries; a result whose row and column
lose bits in a and b entries changes by less than a 2**t_right + (b + 1) 2**t_left. A share of about
2**(SHARE_EXPONENT) of the results then may round otherwise, for

    2 t = p_operand + p_result + log2(n) / 2 + 8 - SHARE_EXPONENT.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from exactla.backend import Backend, Buffer, Operand, Pairs, Scanned, Settling
from exactla.core.contraction import Contraction, PlainSide
from exactla.core.evaluation import Output, evaluate
from exactla.core.planning import Arithmetic, Block, Tiling, arithmetic, sum_bits
from exactla.formats import FloatFormat
from exactla.results import Rounding

SHARE_EXPONENT = -14
"""One result in 2**14 costs an exact dot product, which on a GPU is less than another modulus for all."""

LEAST_DEPTH = 2048
"""Shorter sums cost less than looking over the operands and the results once more."""

LEAST_GAIN = 2
"""Moduli that have to be saved."""

ORDINARY = 6
"""Bits of a typical row beyond its format's and log2(n), above which entries have no density near 0."""


@dataclass(frozen=True)
class SettledProduct:
    """A contraction over leading bits, and the operands that decide the rest."""

    backend: Backend
    settling: Settling
    leading: Contraction
    exact: tuple[Operand, Operand]
    left_over: list[Buffer] = field(default_factory=list)

    def evaluate(
        self,
        outputs: Sequence[Output],
        format: FloatFormat,
        tiling: Tiling,
        progress: Callable[[int, int], object] | None,
    ) -> list[Buffer]:
        """Results, which are right if all counts of `left_over` are 0."""

        def settled(
            planes: Buffer, block: Block, exponents: tuple[Operand, Operand, Pairs, int], roundings: Sequence[Rounding]
        ) -> Sequence[Buffer]:
            left_stacks, right_stacks, _ = self.leading.pairing.block(block.pairs)
            whole = slice(0, self.exact[0].shape[2])
            exact = (
                self.backend.block(self.exact[0], left_stacks, block.rows, whole),
                self.backend.block(self.exact[1], right_stacks, block.columns, whole),
            )
            base = self.leading.arithmetic.base
            encodings, left = self.settling.round_settled(planes, base, exponents, exact, format, roundings)
            self.left_over.append(left)
            return encodings

        return evaluate(self.leading, outputs, format, tiling, rounding=settled, progress=progress)


def settling(
    exact: Contraction, left: Scanned, right: Scanned, format: FloatFormat, *, engine: str | None
) -> SettledProduct | None:
    """The plan for a contraction of operands as they are; None where it would not be cheaper."""
    backend, settling = exact.backend, exact.backend.settling
    if settling is None or exact.arithmetic.bits > settling.settled_bits:
        return None
    if len(exact.groups) != 1 or exact.groups[0] != ((1, 0, 0),):
        return None
    a, b = left.operands[0], right.operands[0]
    depth = a.shape[2]
    if depth < LEAST_DEPTH or not (_is_ordinary(left, depth) and _is_ordinary(right, depth)):
        return None
    leading, kept = _leading(backend, a, b, format, engine)
    if len(leading.base.moduli) + LEAST_GAIN > len(exact.arithmetic.base.moduli):
        return None
    sides = [PlainSide(backend, (backend.truncate(x, kept),)) for x in ((a,) if exact.left is exact.right else (a, b))]
    contraction = Contraction(backend, sides[0], sides[-1], exact.pairing, exact.groups, leading)
    return SettledProduct(backend, settling, contraction, (a, b))


def _is_ordinary(side: Scanned, depth: int) -> bool:
    """Whether entries are floats that have, or may have, a density near 0."""
    format = side.operands[0].format
    return isinstance(format, FloatFormat) and side.typical_bits <= format.precision + depth.bit_length() + ORDINARY


def _leading(
    backend: Backend, a: Operand, b: Operand, format: FloatFormat, engine: str | None
) -> tuple[Arithmetic, int]:
    """Moduli for the leading bits of a row, and how many they are: all that the moduli have room for."""
    depth = a.shape[2]
    precision = max(x.format.precision for x in (a, b) if isinstance(x.format, FloatFormat))
    wanted = precision + format.precision + depth.bit_length() // 2 + 8 - SHARE_EXPONENT
    kept = -(-wanted // 2)
    # one bit more for the distance of the exact sum
    found = arithmetic(backend, sum_bits(min(kept, a.bits), min(kept, b.bits), depth) + 1, engine)
    room = found.base.capacity - found.bits
    return replace(found, bits=found.base.capacity), kept + room // 2
