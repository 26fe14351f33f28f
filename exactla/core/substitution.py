"""Triangular systems in integers: every component of a solution an exact sum, rounded once.

In units of 2**-F, with RN to nearest, ties to even:

    y_i = RN((2**F b_i - sum over k < i of L_ik y_k) / 2**F),
    x_i = RN((2**F y_i - sum over k > i of U_ik x_k) / U_ii).

Half of the unknowns are found first; what they contribute to the other half is one product.
"""

from collections.abc import Callable, Sequence

from exactla.backend import Buffer, Multiprecision
from exactla.core.limbs import LIMB, from_limbs
from exactla.core.long_buffers import diagonal, rows_of, transposed, with_limbs
from exactla.core.planning import Arithmetic, arithmetic, sum_bits
from exactla.errors import EngineLimitError

LEADING_BITS = 4
"""Moduli are for a number of bits with zeros behind so many leading ones, so that many products share tables."""


class Substitution:
    """A triangular system under way.

    Parameters
    ----------
    lower : buffer [n, n, l]
        Entries left of the diagonal are read.
    divisors : sequence of int, optional
        The diagonal; without it 2**F, in units of 2**-F.
    right : buffer [n, c, m]
        The right-hand sides.
    """

    def __init__(
        self,
        verbs: Multiprecision,
        lower: Buffer,
        divisors: Sequence[int] | None,
        right: Buffer,
        precision: int,
        engine: str | None = None,
    ) -> None:
        self.verbs, self.lower, self.divisors = verbs, lower, divisors
        self.precision, self.engine = precision, engine
        self.rows, self.columns, _ = right.shape
        self.bits = verbs.most_bits(right) + precision
        # 2**F b minus what is known so far contributes, and the unknowns by columns
        self.sums = verbs.scale(right, precision, self.bits // LIMB + 1)
        self.found = verbs.zeros((self.columns, self.rows, precision // LIMB + 1))

    def solve(self) -> Buffer:
        """The solution, limbs [n, c, l]."""
        if self.rows and self.columns:
            few = self.verbs.few_unknowns(self.lower.shape[-1])
            self._solve(slice(0, self.rows), self.bits, max(1, few // self.columns))
        return transposed(self.verbs, self.found)

    def _solve(self, rows: slice, bits: int, step: int) -> None:
        """Find the components of these rows; their sums, so far, are below 2**bits in magnitude."""
        size = rows.stop - rows.start
        if step == 1 == size:
            self._solve_row(rows.start, bits)
            return
        if size <= step:
            self._solve_few(rows)
            return
        middle = rows.start + size // 2
        self._solve(slice(rows.start, middle), bits, step)
        below = slice(middle, rows.stop)
        more = self._subtract_known(below, slice(rows.start, middle), bits)
        self._solve(below, more, step)

    def _subtract_known(self, rows: slice, known: slice, bits: int) -> int:
        """Take what the known rows contribute from the sums of other rows; bits of these."""
        verbs = self.verbs
        factors, values = self.lower[rows, known], self.found[:, known]
        product_bits = sum_bits(verbs.most_bits(factors), verbs.most_bits(values), known.stop - known.start)
        plan = self._arithmetic(product_bits)
        product = verbs.product(factors, values, (product_bits + 1) // LIMB + 1, plan.base, plan.engine)
        bits = max(bits, product_bits) + 1
        self.sums = with_limbs(verbs, self.sums, max(bits // LIMB + 1, self.sums.shape[-1]))
        verbs.store(self.sums[rows], verbs.subtract(self.sums[rows], product, self.sums.shape[-1]))
        return bits

    def _arithmetic(self, bits: int) -> Arithmetic:
        try:
            return arithmetic(self.verbs, _shared_bits(bits), self.engine)
        except EngineLimitError:
            return arithmetic(self.verbs, bits, self.engine)

    def _solve_row(self, row: int, bits: int) -> None:
        if self.divisors is None:
            count = (max(bits - self.precision, 0) + 1) // LIMB + 1
            found = self.verbs.scale(self.sums[row], -self.precision, count)
        else:
            divisor = self.divisors[row]
            # quotients are below 2**(bits + 1 - length), and a division leaves two bits of its limbs
            count = (max(bits + 1 - divisor.bit_length(), 0) + 2) // LIMB + 1
            found = self.verbs.divide(self.sums[row], divisor, count)
        self._make_room(count)
        self.verbs.store(self.found[:, row], found)

    def _solve_few(self, rows: slice) -> None:
        divisors = None if self.divisors is None else self.divisors[rows]
        found = self.verbs.substitute(self.lower[rows, rows], divisors, self.precision, self.sums[rows])
        self._make_room(found.shape[-1])
        self.verbs.store(self.found[:, rows], transposed(self.verbs, found))

    def _make_room(self, count: int) -> None:
        self.found = with_limbs(self.verbs, self.found, max(count, self.found.shape[-1]))


def _shared_bits(bits: int) -> int:
    """A number not below that few numbers share: at most an eighth larger."""
    dropped = max(bits.bit_length() - LEADING_BITS, 0)
    return -(-bits >> dropped) << dropped


def solve(
    verbs: Multiprecision,
    lower: Buffer,
    upper: Buffer,
    precision: int,
    engine: str | None,
    right: Buffer,
    progress: Callable[[int, int], object] | None = None,
) -> Buffer:
    """x with U x = y and L y = right, both rounded as above."""
    y = Substitution(verbs, lower, None, right, precision, engine).solve()
    if progress is not None:
        progress(1, 2)
    size = lower.shape[0]
    divisors: list[int] = from_limbs(verbs.download(diagonal(upper))).tolist()
    # the last unknown first
    x = Substitution(verbs, upper[:, :size][::-1, ::-1], divisors[::-1], y[::-1], precision, engine).solve()
    if progress is not None:
        progress(2, 2)
    return rows_of(verbs, x, range(size)[::-1])
