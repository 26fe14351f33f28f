"""LU factorisation in multiple precision."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla import registry, settings
from exactla.arguments import integer
from exactla.backend import Buffer, Multiprecision
from exactla.core import lu, substitution
from exactla.core.equilibration import NOTHING, scales
from exactla.core.limbs import LIMB, limbs_needed, to_limbs
from exactla.core.long_buffers import rows_of
from exactla.core.nearest import nearest_scaled
from exactla.core.planning import Arithmetic
from exactla.errors import PrecisionError, SingularMatrixError
from exactla.multiprecision.limits import allowed_bytes, computed_precision
from exactla.multiprecision.mparray import MPArray
from exactla.multiprecision.numbers import Numbers, Placed
from exactla.multiprecision.places import HOST, moved, verbs_at, verbs_for
from exactla.results import Info

Progress = Callable[[int, int], object]

GUARD_BITS = 32
"""By how many bits unknowns are longer than the factors, so that their own roundings can be neglected."""


def lu_factor(A: Any, *, precision: int | str, digits: int | None = None, progress: Progress | None = None) -> "LU":
    r"""Factor a square matrix with partial pivoting in fixed point of so many bits.

    Parameters
    ----------
    A : MPArray, array or nested list, shape (n, n)
        Multiple-precision numbers, floats of any library, integers or rational numbers, each taken as what it is.
    precision : int or "auto"
        Bits F after the point, or whatever number of them the digits take.
    digits : int, optional
        With "auto": how many decimal digits of the inverse are proven, by default 16.
    progress : callable, optional
        Called as ``progress(columns done, n)`` now and then.

    Returns
    -------
    LU
        The factors, which are functions of `A` and F alone, on the device of `A`.

    Raises
    ------
    SingularMatrixError
        A row or a column of `A` is all 0.
    PrecisionError
        A pivot rounds to 0; its `more_bits` says how many more bits keep it, as far as can be seen. With "auto", the
        largest precision does not do.
    WorkspaceError
        Residues of the factors take more memory than the workspace limit.
    TypeError, ValueError, NonFiniteError
        An entry is no real number; the matrix is not square; digits belong to "auto".

    Notes
    -----
    Powers of two bring the largest entry of every column and then of every row into [1/2, 1), and A' is A scaled like
    that, rounded to a multiple of 2**-F. In units of 2**-F, with RN to nearest, ties to even, and j = 0, 1, ...:

        s_ij = 2**F A'_ij - sum over k < min(i, j) of L_ik U_kj,
        U_ij = RN(s_ij / 2**F) for i <= j, L_ij = RN(s_ij / U_jj) for i > j,

    where the pivot is in the row i >= j with the largest \|s_ij\|, the first one on ties, which trades
    places with row j.

    With "auto", F is the first precision that is tried at which R = ``inv()`` is proven close to the inverse B of `A`:

        max_i sum_j \|R_ij - B_ij\| 2**w_j <= 10**-digits max_i sum_j \|B_ij\| 2**w_j

    with the `row_exponents` w. The proof is that the exact E = I - A R has max_i sum_j \|E_ij\| 2**(w_j - w_i) <=
    10**-digits; it takes n right-hand sides, which is longer than the factors take. Tried are the bits of the digits
    and 64 more, then twice as many each time, or what a lost pivot asks for. So F is a function of `A` and `digits`.

    Examples
    --------
    >>> import exactla as xl
    >>> factors = xl.lu_factor([[1, 2], [4, 4]], precision=100)
    >>> factors.perm.tolist(), factors.solve([3, 8]).tolist()
    ([1, 0], [Fraction(1, 1), Fraction(1, 1)])
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress takes a function of (done, total), got {type(progress).__name__}")
    report = progress or settings.progress_callback.get()
    if isinstance(precision, str):
        if precision != "auto":
            raise ValueError(f"precision is a number of bits or 'auto', got {precision!r}")
        from exactla.multiprecision.certified import certified_factors

        return certified_factors(Numbers.read(A, "A", (2,)), digits, report)
    if digits is not None:
        raise TypeError("digits go with precision='auto'")
    bits = computed_precision(precision)
    return factored(Numbers.read(A, "A", (2,)), bits, report)


def factored(matrix: Numbers, bits: int, report: Progress | None) -> "LU":
    """What `lu_factor` returns for numbers that were read."""
    size, columns = matrix.shape
    if size != columns:
        raise ValueError(f"A has shape {matrix.shape}; it must be square")
    verbs, engine = verbs_for(matrix.kind), settings.forced_engine.get()
    with matrix.scope():
        scaled, rows, columns_by = _equilibrated(matrix.at(verbs), bits)
        try:
            factors = lu.factorize(verbs, scaled, bits, engine, lambda: allowed_bytes(verbs), report)
        except lu.LostPivot as lost:
            raise _lost(lost, bits) from None
    return LU(factors, -rows, -columns_by, verbs, matrix)


def _equilibrated(matrix: Placed, bits: int) -> tuple[Buffer, NDArray[np.int64], NDArray[np.int64]]:
    """A' in units of 2**-bits, and the powers of two that the rows and the columns of A are multiplied by."""
    exponents = matrix.exponents()
    for axis, name in ((1, "row"), (0, "column")):
        empty = np.flatnonzero(exponents.max(axis=axis, initial=NOTHING) == NOTHING)
        if len(empty):
            raise SingularMatrixError(f"A is singular: {name} {empty[0]} is 0")
    rows, columns = scales(exponents)
    return matrix.scaled(rows, columns + bits, bits // LIMB + 1), rows, columns


@dataclass(frozen=True, eq=False)
class LU:
    """Factors of a matrix: what `lu_factor` returns.

    Attributes
    ----------
    row_exponents, column_exponents : int64 arrays, shape (n,)
        The matrix that was factored is A'_ij = A_ij / 2**(row_exponents[i] + column_exponents[j]); L @ U is close to
        its rows in the order `perm`.
    """

    _factors: lu.Factors
    row_exponents: NDArray[np.int64]
    column_exponents: NDArray[np.int64]
    _verbs: Multiprecision
    _matrix: Numbers

    def __reduce__(self) -> Any:
        kept = self._factors, self.row_exponents, self.column_exponents
        return _restored, (*kept, self._verbs.name, self._matrix)

    def __repr__(self) -> str:
        size = len(self._factors.order)
        device = "" if self._matrix.kind == HOST else f", on {self._matrix.device}"
        return f"LU({size} x {size}, {self.precision} bits after the point, about {self.bits_lost} lost{device})"

    @property
    def precision(self) -> int:
        """Bits after the point."""
        return self._factors.precision

    @property
    def perm(self) -> NDArray[np.int64]:
        """Row k of the factors is row perm[k] of the matrix."""
        return np.array(self._factors.order, np.int64)

    @property
    def L(self) -> MPArray:
        """The lower factor, with ones on its diagonal."""
        return self._array(self._factors.lower, -self.precision)

    @property
    def U(self) -> MPArray:
        """The upper factor."""
        return self._array(self._factors.upper, -self.precision)

    def _array(self, limbs: Buffer, exponent: int) -> MPArray:
        """The array of these limbs, on the device of the matrix."""
        with self._matrix.scope():
            return MPArray._of(moved(limbs, self._verbs, verbs_at(self._matrix.kind)), exponent)

    @property
    def info(self) -> Info:
        """How the factors were computed."""
        plan: Arithmetic = self._factors.arithmetic
        return Info(
            backend=self._verbs.name,
            engine=plan.engine.name,
            moduli=len(plan.base.moduli),
            bits=plan.bits,
            capacity=plan.base.capacity,
            passes=1,
            lossless=True,
            host_syncs=self._factors.host_syncs,
            workspace_bytes=self._factors.memory_bytes,
            seconds=self._factors.seconds or None,
        )

    @property
    def bits_lost(self) -> int:
        """An estimate of the leading bits that a solution lacks: those that the smallest pivot lost."""
        return self.precision - min((abs(u).bit_length() for u in self._factors.pivots), default=self.precision)

    def solve(self, b: Any, *, refine: int = 0) -> MPArray:
        """Solve ``A @ x = b`` by substitution, and refine x by exact residuals.

        Parameters
        ----------
        b : MPArray, array or nested list, shape (n,) or (n, c)
            As `A` of `lu_factor`.
        refine : int
            Steps of iterative refinement.

        Returns
        -------
        MPArray
            x, of the shape of `b`, on the device of both.

        Raises
        ------
        ValueError
            Numbers of rows differ; `b` is on another device than `A` was; `refine` is negative.

        Notes
        -----
        Let S(b) be substitution: every column of b is scaled to a largest entry in [1/2, 1) and rounded to F + 32 bits
        after the point, and so is every component of the solutions y of L y = b and x of U x = y, once, from an exact
        sum. Their roundings then count for nothing beside those of the factors. The result is x_k for k = `refine`,
        where

            x_0 = S(b), x_(i+1) = x_i + S(b - A x_i),

        with the matrix as it was given, and residuals and sums that are exact. So a step adds about the bits that
        S finds right, F less `bits_lost`, and about F + 32 bits to the length of x.

        Examples
        --------
        >>> from fractions import Fraction
        >>> import exactla as xl
        >>> factors = xl.lu_factor([[3, 1], [1, 7]], precision=64)
        >>> for steps in (0, 1, 2):
        ...     error = factors.solve([1, 0], refine=steps)[0].item() - Fraction(7, 20)
        ...     print(abs(error) < Fraction(1, 2 ** (60 * (steps + 1))))
        True
        True
        True
        """
        steps = integer(refine, "refine")
        if steps < 0:
            raise ValueError(f"refine is a number of steps, got {steps}")
        right, unit = read_right_side(b, self._matrix).in_units()
        x = self._substituted(right)
        for _ in range(steps):
            x = x + self._substituted(self._residual(right, x))
        return x.reshape(right.given).scaled(unit)

    def _substituted(self, right: Numbers) -> MPArray:
        """S of a right-hand side, a matrix."""
        places = self.precision + GUARD_BITS
        with self._matrix.scope():
            scaled, tops = self._equilibrated(right.at(self._verbs), places)
            found = substitution.solve(
                self._verbs,
                self._factors.lower,
                self._factors.upper,
                self.precision,
                settings.forced_engine.get(),
                rows_of(self._verbs, scaled, self._factors.order),
                settings.progress_callback.get(),
            )
            limbs, exponent = _unscaled(self._verbs, found, tops - self.column_exponents[:, None] - places)
        return self._array(limbs, exponent)

    def _equilibrated(self, right: Placed, places: int) -> tuple[Buffer, NDArray[np.int64]]:
        """The right-hand side of A' in units of 2**-places, and the exponents of what its columns are divided by."""
        entries = right.exponents()
        exponents = np.where(entries == NOTHING, NOTHING, entries - self.row_exponents[:, None])
        tops = exponents.max(axis=0, initial=NOTHING)
        tops[tops == NOTHING] = 0
        return right.scaled(-self.row_exponents, places - tops, places // LIMB + 1), tops

    def _residual(self, right: Numbers, x: MPArray) -> Numbers:
        """right - A x, exactly."""
        rows, factors = self._matrix.integer_rows
        return right.minus(rows @ x, factors)

    def det(self) -> MPArray:
        """The determinant of the factors' product, scaled back, rounded to `precision` significant bits."""
        value = -1 if self._factors.exchanges % 2 else 1
        for pivot in self._factors.pivots:
            value *= pivot
        dropped = max(value.bit_length() - self.precision, 0)
        kept = nearest_scaled(value, -dropped)
        exponent = -self.precision * len(self._factors.order) + dropped
        exponent += int(self.row_exponents.sum() + self.column_exponents.sum())
        return self._at_home(MPArray._of(to_limbs(np.array(kept, object), limbs_needed([kept])), exponent))

    def _at_home(self, array: MPArray) -> MPArray:
        """An array of the host on the device of the matrix."""
        with self._matrix.scope():
            return array.to_device(self._matrix.kind)

    def inv(self) -> MPArray:
        """The inverse, column by column as `solve` finds it."""
        return self.solve(self._at_home(MPArray.from_float(np.eye(len(self._factors.order), dtype=np.int64))))


def read_right_side(b: Any, matrix: Numbers) -> Numbers:
    """b, which has as many rows as the matrix and is on its device."""
    right = Numbers.read(b, "b", (1, 2))
    if right.shape[0] != matrix.shape[0]:
        raise ValueError(f"A has shape {matrix.shape} and b has shape {right.given}; they must have equally many rows")
    if right.device != matrix.device:
        raise ValueError(f"A is on device {matrix.device} and b is on device {right.device}; move one of them")
    return right


def _unscaled(verbs: Multiprecision, found: Buffer, exponents: NDArray[np.int64]) -> tuple[Buffer, int]:
    """The numbers found * 2**exponents, over one exponent."""
    least = int(exponents.min()) if exponents.size else 0
    shifts = exponents - least
    count = (verbs.most_bits(found) + int(shifts.max(initial=0))) // LIMB + 1
    return verbs.scale(found, shifts, count), least


def _lost(lost: lu.LostPivot, precision: int) -> PrecisionError:
    bits = abs(lost.value).bit_length()
    # the pivot is about value / 2**(2 F): it needs as many bits as put its leading one before the point
    more = precision - bits + 1 if bits else precision
    known = "" if bits else ", or the matrix is singular"
    return PrecisionError(
        f"the pivot of column {lost.column} rounds to 0 at {precision} bits; {more} more would do, "
        f"as far as can be seen{known}",
        more,
    )


def _restored(factors: lu.Factors, rows: Any, columns: Any, backend: str, matrix: Numbers) -> LU:
    """The factors that were pickled or copied, with the verbs of their backend in this process."""
    return LU(factors, rows, columns, registry.load(backend).multiprecision, matrix)
