"""Solutions and factors in multiple precision whose leading digits are proven, at whatever precision that takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla import settings
from exactla.arguments import integer
from exactla.arrays import agree_where_arrays
from exactla.errors import PrecisionError, SingularMatrixError
from exactla.factoring import LU, Progress, factored, lu_factor, read_right_side
from exactla.multiprecision.limits import MOST_PRECISION
from exactla.multiprecision.mparray import MPArray
from exactla.multiprecision.numbers import Numbers
from exactla.solving import rank

GUARD_BITS = 64
"""Bits beyond the digits asked for that the first precision has, and those beyond what a lost pivot asks for."""

LEAST_LEFT = 16
"""Where fewer bits than that seem to be left, no inverse is made: the precision is raised at once."""

LEAST_GAIN = 4
"""Where a step of refinement does not make a bound smaller by this factor, the precision is raised."""


DEFAULT_DIGITS, MOST_DIGITS = 16, 70_000

Found = TypeVar("Found")


def lu_solve(A: Any, b: Any, *, precision: int | str | None = None, digits: int | None = None) -> MPArray:
    """Solve ``A @ x = b`` with given factors, at a precision, or to so many digits that are proven.

    Parameters
    ----------
    A : LU, or MPArray, array or nested list of shape (n, n)
        Factors, which have their precision, or a matrix as in `lu_factor`.
    b : MPArray, array or nested list, shape (n,) or (n, c)
        As in `LU.solve`.
    precision : int or "auto", optional
        For a matrix: bits after the point, or whatever number of them the digits take.
    digits : int, optional
        With "auto": how many decimal digits are proven, by default 16.

    Returns
    -------
    MPArray
        x, of the shape of `b`: with factors or a number of bits ``lu_factor(A, precision=precision).solve(b)``; with
        "auto", where x* is the exact solution, for every column j

            |x_ij - x*_ij| <= 10**-digits max_k |x*_kj|.

    Raises
    ------
    SingularMatrixError
        `A` is singular, which "auto" always finds out.
    PrecisionError
        A pivot rounds to 0 at the precision that was asked for, or "auto" reaches the largest precision.
    WorkspaceError, TypeError, ValueError, NonFiniteError
        As in `lu_factor`; a precision belongs to a matrix, and digits to "auto".

    Notes
    -----
    The certificate: with R the inverse by substitution, the exact E = I - A R has to have a norm below 1/2, in the
    weights of the rows. That bounds the inverse of A, and so the error by the exact residual of x; steps of refinement
    make it small enough. Where they do not, or a pivot is lost, the precision is raised. It starts from the digits,
    goes on with the `more_bits` of a lost pivot, and is doubled where the norm is too large. It is a function of `A`,
    `b` and `digits` alone, and so is x.

    Examples
    --------
    >>> import exactla as xl
    >>> a = xl.gallery.lotkin(12, precision=200)
    >>> x = xl.lu_solve(a, xl.MPArray.from_strings(["0.1"] * 12, precision=200), precision="auto", digits=20)
    >>> x[0].to_strings(digits=20).item()
    '170.4'
    """
    if isinstance(A, LU):
        if precision is not None or digits is not None:
            raise TypeError("factors have their precision; precision and digits go with a matrix")
        return A.solve(b)
    if precision is None:
        raise TypeError(f"lu_solve takes what lu_factor returns, or a matrix and a precision; got {type(A).__name__}")
    agree_where_arrays(A=A, b=b)
    if isinstance(precision, str):
        if precision != "auto":
            raise ValueError(f"precision is a number of bits or 'auto', got {precision!r}")
        return _certified(A, b, _checked_digits(digits))
    if digits is not None:
        raise TypeError("digits go with precision='auto'")
    return lu_factor(A, precision=precision).solve(b)


def _checked_digits(digits: Any) -> int:
    count = DEFAULT_DIGITS if digits is None else integer(digits, "digits")
    if not 1 <= count <= MOST_DIGITS:
        raise ValueError(f"digits are from 1 to {MOST_DIGITS:,}, got {count}")
    return count


def _certified(A: Any, b: Any, digits: int) -> MPArray:
    """The solution for "auto", found in units in which no power of two is far from 1."""
    given = Numbers.read(A, "A", (2,))
    matrix, unit = given.in_units()
    right, right_unit = read_right_side(b, given).in_units()
    allowed = gmpy2.mpq(1, 10**digits)
    found = _raised(matrix, digits, settings.progress_callback.get(), lambda x: _refined(x, right, allowed))
    return found.rounded(_kept_bits(digits)).reshape(right.given).scaled(right_unit - unit)


def certified_factors(matrix: Numbers, digits: Any, report: Progress | None) -> LU:
    """The factors for "auto": see `lu_factor`."""
    wanted = _checked_digits(digits)

    def proven(factors: LU) -> LU | None:
        # E is the inverse's error in units of the inverse
        return factors if _bits_left(factors) and Certificate.of(factors).contraction * 10**wanted <= 1 else None

    return _raised(matrix, wanted, report, proven)


def _kept_bits(digits: int) -> int:
    """Bits that hold so many digits, and a few to spare."""
    power: int = 10**digits
    return power.bit_length() + 3


def _raised(matrix: Numbers, digits: int, report: Progress | None, attempt: Callable[[LU], Found | None]) -> Found:
    """What is made of the factors at the first precision at which that is not None."""
    precision = _kept_bits(digits) + GUARD_BITS
    proven_regular = False
    while True:
        try:
            found = attempt(factored(matrix, precision, report))
            if found is not None:
                return found
            wanted = 2 * precision
        except PrecisionError as lost:
            wanted = max(precision + lost.more_bits + GUARD_BITS, precision * 3 // 2)
        if precision == MOST_PRECISION:
            raise PrecisionError(f"{digits} digits are not certified at {precision:,} bits, which are the most")
        if not proven_regular:
            _check_regular(matrix)
            proven_regular = True
        precision = min(wanted, MOST_PRECISION)


def _bits_left(factors: LU) -> bool:
    """Whether so many bits seem to be left in solutions that an inverse is worth while."""
    return factors.bits_lost + LEAST_LEFT <= factors.precision


@dataclass(frozen=True)
class Certificate:
    """What is proven of a matrix A with an approximate inverse R, in weights 2**w of the rows.

    With E = I - A R, `contraction` is the largest sum of |E_ij| 2**(w_j - w_i) over j, and `growth` the largest sum of
    |R_ij| 2**w_j over j. Where the first is below 1, |x_i - (A^-1 b)_i| is at most `growth` times the largest
    |b - A x|_i 2**-w_i, divided by 1 - `contraction`; see the proofs.
    """

    contraction: Any
    inverse: MPArray
    weights: NDArray[np.int64]

    @staticmethod
    def of(factors: LU) -> "Certificate":
        """The certificate with the inverse that substitution gives, all sums exact."""
        inverse = factors.inv()
        rows, scales = factors._matrix.integer_rows
        product = rows @ inverse
        weights = factors.row_exponents
        _, by = _shifts(weights)
        contraction = max(
            (
                _row_sum(row, i, scale, product.exponent, by)
                for i, (row, scale) in enumerate(zip(product._integers(), scales, strict=True))
            ),
            default=gmpy2.mpq(0),
        )
        return Certificate(contraction, inverse, weights)

    @cached_property
    def growth(self) -> Any:
        """A number, so units of the matrix have to be close to 1; `contraction` has none."""
        least, by = _shifts(self.weights)
        sums = (sum(abs(x) << s for x, s in zip(row, by, strict=True)) for row in self.inverse._integers())
        return gmpy2.mpq(max(sums, default=0)) * gmpy2.mpq(2) ** (self.inverse.exponent + least)

    def bounds(self, residual: Numbers) -> list[Any]:
        """For every column, what no component of the solution is further away than."""
        units = [gmpy2.mpq(2) ** -int(w) for w in self.weights]
        columns = residual.values().T
        largest = (max((abs(r) * u for r, u in zip(column, units, strict=True)), default=0) for column in columns)
        return [self.growth * gmpy2.mpq(x) / (1 - self.contraction) for x in largest]


def _shifts(weights: NDArray[np.int64]) -> tuple[int, list[int]]:
    """The least weight, and how far the others are above it."""
    least = int(weights.min(initial=0))
    return least, [int(w) - least for w in weights]


def _row_sum(row: Any, i: int, scale: Any, exponent: int, by: list[int]) -> Any:
    """The sum over j of |I_ij - scale row_j 2**exponent| 2**(w_j - w_i), exactly."""
    numerator, divisor = int(scale.numerator), int(scale.denominator)
    one, up = divisor << max(-exponent, 0), max(exponent, 0)
    total = 0
    for j, (x, shift) in enumerate(zip(row, by, strict=True)):
        total += abs((one if i == j else 0) - ((numerator * x) << up)) << shift
    return gmpy2.mpq(total, divisor << (by[i] + max(-exponent, 0)))


def _refined(factors: LU, right: Numbers, allowed: Any) -> MPArray | None:
    """A solution whose error is proven to be half of what is allowed, or None where refinement gets nowhere."""
    if not _bits_left(factors):
        return None
    certificate = Certificate.of(factors)
    if certificate.contraction * 2 >= 1:
        return None
    x = factors._substituted(right)
    last: Any = None
    while True:
        residual = factors._residual(right, x)
        bounds = certificate.bounds(residual)
        if all(2 * e <= allowed * (top - e) for e, top in zip(bounds, _largest(x), strict=True)):
            return x
        worst = max(bounds)
        if last is not None and worst * LEAST_GAIN > last:
            return None
        last = worst
        x = x + factors._substituted(residual)


def _largest(x: MPArray) -> list[Any]:
    """The largest magnitude of every column."""
    unit = gmpy2.mpq(2) ** x.exponent
    return [max((abs(v) for v in column), default=0) * unit for column in x._integers().T]


def _check_regular(matrix: Numbers) -> None:
    """Raise where the rank, which is exact, is not full."""
    integers = matrix.integer_rows[0]._integers()
    found = rank(integers)
    if found < len(integers):
        raise SingularMatrixError(f"A is singular: its rank is {found} of {len(integers)}")
