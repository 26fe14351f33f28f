"""Linear systems, determinants, ranks, inverses and null spaces of exact numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple, overload

import gmpy2
import numpy as np

from exactla import calls, settings
from exactla.arrays import agree, dtype_format
from exactla.backend import Backend
from exactla.core import systems
from exactla.core.conditions import Conditions, Progress
from exactla.core.numerators import Numerators
from exactla.core.scaling import ScaledMatrix, scaled
from exactla.errors import InconsistentSystemError, SingularMatrixError
from exactla.exact_numbers import ExactArray, read_exact
from exactla.formats import common_format
from exactla.multiprecision.limits import check_written
from exactla.rationals import Rational
from exactla.results import Enclosure


class GeneralSolution(NamedTuple):
    """All solutions of a system: ``particular + nullspace @ t`` for any t."""

    particular: Rational
    nullspace: Rational


@overload
def solve(A: Any, b: Any, *, singular: Literal["raise"] = "raise", progress: Progress | None = None) -> Rational: ...


@overload
def solve(A: Any, b: Any, *, singular: str, progress: Progress | None = None) -> Rational | None: ...


def solve(A: Any, b: Any, *, singular: str = "raise", progress: Progress | None = None) -> Rational | None:
    """Solve ``A @ x = b`` exactly.

    Parameters
    ----------
    A : array, MPArray or nested list, shape (m, n), mostly (n, n)
        Integers of any type and size, rational numbers (`fractions.Fraction`, gmpy2's and python-flint's numbers), or
        floats and numbers of multiple precision, each taken as the dyadic number that it is.
    b : array, MPArray or nested list, shape (m,) or (m, c)
        As `A`. Arrays are of one library, and on one device; lists go with any, and so do objects and an `MPArray` of
        the host.
    singular : {"raise", "none"}
        What a singular matrix does: raise `SingularMatrixError`, or return None.
    progress : callable, optional
        Called as ``progress(done, total)`` now and then; it may end before `total`, where the solution is found.

    Returns
    -------
    Rational
        The solution, of shape (n,) or (n, c), in lowest terms.

    Raises
    ------
    SingularMatrixError
        The columns of `A` are linearly dependent, which is proven; `solve_general` finds what solutions there are.
    InconsistentSystemError
        `A` has more rows than columns, and there is no solution.
    NonFiniteError, TypeError, ValueError
        An entry is NaN or infinite or no number; shapes do not fit.
    WorkspaceError
        The work does not fit the workspace limit.
    OverflowError
        The exponent of an `MPArray` or of an entry is so far from 0 that an entry takes more than 2**28 bits.

    Notes
    -----
    With N the numerators and D the denominator, A N = D b holds exactly, D > 0, and gcd(D, N) = 1. The solution is
    lifted modulo powers of a product of primes (Dixon 1982) and certified by its size, so that short solutions take
    short work.

    Examples
    --------
    >>> import exactla as xl
    >>> x = xl.solve([[1, 2], [3, 4]], [1, 1])
    >>> x.numerators.tolist(), x.denominator
    ([-1, 1], 1)
    >>> xl.solve([[0.1, 0], [0, 3]], [1, 2])[1]
    Fraction(2, 3)
    """
    if singular not in ("raise", "none"):
        raise ValueError(f"singular={singular!r} is unknown; it may be raise or none")
    matrix, right = _read_system(A, b)
    try:
        return _solve(matrix, right, progress)
    except SingularMatrixError:
        if singular == "none":
            return None
        raise


def solve_general(A: Any, b: Any, *, progress: Progress | None = None) -> GeneralSolution:
    """All solutions of ``A @ x = b`` for a matrix of any shape and rank.

    Parameters
    ----------
    A : array, MPArray or nested list, shape (m, n)
        As in `solve`.
    b : array, MPArray or nested list, shape (m,) or (m, c)
        As in `solve`.
    progress : callable, optional
        As in `solve`.

    Returns
    -------
    GeneralSolution
        `particular`, shape (n,) or (n, c): the solution whose free unknowns are 0. `nullspace`, shape (n, n - rank):
        as from `nullspace`.

    Raises
    ------
    InconsistentSystemError
        There is no solution; its `certificate` is a row y with y A = 0 and y b != 0.

    Notes
    -----
    The first linearly independent columns of A are the bound unknowns, the others are free.

    Examples
    --------
    >>> import exactla as xl
    >>> particular, nullspace = xl.solve_general([[0, 1, 2]], [1])
    >>> particular, nullspace
    (Rational([0, 1, 0] / 1), Rational([[1, 0], [0, -2], [0, 1]] / 1))
    """
    matrix, right = _read_system(A, b)
    return _general(matrix, right, progress)


def solve_enclose(A: Any, b: Any, *, dtype: Any = None, progress: Progress | None = None) -> Enclosure:
    """Enclose the exact solution of ``A @ x = b``: the tightest pair of floating-point arrays around it.

    Parameters
    ----------
    A, b, progress
        As in `solve`.
    dtype : dtype, optional
        Floating-point type of the result, by default the operands' common type, float64 for integers and rationals.

    Returns
    -------
    Enclosure
        ``(lo, hi)``, of the library and on the device of `A`.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.solve_enclose([[3.0]], [[1.0]])
    Enclosure(lo=array([[0.33333333]]), hi=array([[0.33333333]]))
    """
    matrix, right = _read_system(A, b)
    if dtype is None:
        dtype = common_format(matrix.like.format, right.like.format).name
    dtype_format(dtype, matrix.like)
    return _solve(matrix, right, progress).enclose(dtype)


def det(A: Any, *, progress: Progress | None = None) -> Any:
    """The determinant: an int, or a Fraction where the entries are not integers.

    Raises
    ------
    OverflowError
        It takes more than 2**28 bits, by common factors of rows and columns.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.det([[14, 2], [10, 0]])
    -20
    >>> xl.det([[0.5, 0], [0, 0.5]])
    Fraction(1, 4)
    """
    matrix = _square(A)
    with _at_work(matrix, progress) as (backend, conditions):
        return _factor(backend, matrix, conditions).det()


def rank(A: Any, *, progress: Progress | None = None) -> int:
    """The rank of a matrix of any shape, proven in integers.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.rank([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    2
    """
    matrix = read_exact(A, "A")
    with _at_work(matrix, progress) as (backend, conditions):
        return systems.decompose(backend, scaled(matrix.rows).integers, conditions).rank


def inv(A: Any, *, progress: Progress | None = None) -> Rational:
    """The inverse of a square matrix.

    Raises
    ------
    SingularMatrixError
        There is none.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.inv([[2, 0], [1, 1]])
    Rational([[1, 0], [-1, 2]] / 2)
    """
    matrix = _square(A)
    size = matrix.rows.shape[0]
    try:
        return _solve(matrix, read_exact(np.eye(size, dtype=np.int64), "b"), progress)
    except SingularMatrixError:
        raise _singular("it has no inverse") from None


def nullspace(A: Any, *, progress: Progress | None = None) -> Rational:
    """A basis of the null space, in reduced form: column k is 1 in its own free unknown and 0 in the other free ones.

    Returns
    -------
    Rational, shape (n, n - rank)
        ``A @ numerators`` is 0. The free unknowns are the columns of A that depend on those before them.

    Examples
    --------
    >>> import exactla as xl
    >>> xl.nullspace([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    Rational([[1], [-2], [1]] / 1)
    """
    matrix = read_exact(A, "A")
    form = scaled(matrix.rows)
    with _at_work(matrix, progress) as (backend, conditions):
        return _null_space(systems.decompose(backend, form.integers, conditions), form, matrix.like)


def factor(A: Any, *, progress: Progress | None = None) -> "Factorization":
    """Prepare a nonsingular matrix for several right-hand sides; later ones take about half the work.

    Raises
    ------
    SingularMatrixError
        `A` is singular.

    Examples
    --------
    >>> import exactla as xl
    >>> factors = xl.factor([[2, 1], [1, 1]])
    >>> factors.solve([1, 0]), factors.det()
    (Rational([1, -1] / 1), 1)
    """
    matrix = _square(A)
    with _at_work(matrix, progress) as (backend, conditions):
        # those who call later have no progress to hear of
        factors = _factor(backend, matrix, replace(conditions, progress=None))
    if factors.inverse is None:
        raise _singular("det is 0, rank and nullspace tell more, and solve_general finds solutions")
    return factors


@dataclass(frozen=True, eq=False)
class Factorization:
    """A square matrix and its inverse modulo primes: what `factor` returns."""

    backend: Backend
    matrix: ExactArray
    form: ScaledMatrix
    inverse: systems.Inverse | None

    def __repr__(self) -> str:
        size = len(self.form.integers)
        return f"<exactla.Factorization: matrix of shape {(size, size)}, backend {self.backend.name}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Factorization holds memory of its device; pickle the matrix, and factor it again")

    def solve(self, b: Any) -> Rational:
        """The exact solution of ``A @ x = b``, as from `exactla.solve`."""
        return self._solve(_read_right(self.matrix, b))

    def _solve(self, right: ExactArray) -> Rational:
        if self.inverse is None:
            raise _singular()
        integers, divisor = self.form.right_side(right.rows)
        with self.backend.scope(self.matrix.like):
            solution = self.inverse.solution(integers)
        return _unscaled(self.form, solution, divisor, right.shape, self.matrix.like)

    def det(self) -> Any:
        """The determinant, as from `exactla.det`."""
        if self.inverse is None:
            return 0
        scales = [gmpy2.mpq(scale) for scale in (*(self.form.rows or ()), *(self.form.columns or ()))]
        bits = sum(s.numerator.bit_length() + s.denominator.bit_length() for s in scales)
        check_written(1, bits, "the determinant")
        with self.backend.scope(self.matrix.like):
            value = gmpy2.mpq(systems.determinant_of(self.backend, self.inverse))
        for scale in scales:
            value *= scale
        return int(value) if value.denominator == 1 else Fraction(int(value.numerator), int(value.denominator))

    def inv(self) -> Rational:
        """The inverse, as from `exactla.inv`."""
        return self._solve(read_exact(np.eye(len(self.form.integers), dtype=np.int64), "b"))


def _solve(matrix: ExactArray, right: ExactArray, progress: Progress | None) -> Rational:
    """The only solution.

    Raises
    ------
    SingularMatrixError, InconsistentSystemError
        There are others, or none.
    """
    rows, columns = matrix.rows.shape
    if rows != columns:
        particular, nullspace = _general(matrix, right, progress)
        if nullspace.size:
            raise SingularMatrixError(
                f"A has shape {matrix.shape} and rank {columns - nullspace.shape[1]}, so there is more than one "
                "solution; solve_general finds them all"
            )
        return particular
    form = scaled(matrix.rows)
    integers, divisor = form.right_side(right.rows)
    with _at_work(matrix, progress) as (backend, conditions):
        solution = systems.solve(backend, form.integers, integers, conditions)
    if solution is None:
        raise _singular()
    return _unscaled(form, solution, divisor, right.shape, matrix.like)


def _unscaled(
    form: ScaledMatrix, solution: tuple[Numerators, int], divisor: int, shape: tuple[int, ...], like: Any
) -> Rational:
    """The solution of the system as it was given, from that of its integers."""
    found, denominator = solution
    if form.columns is None and divisor == 1:
        return Rational._reduced(found, shape, denominator, like)
    numerators, denominator = form.unscale(found.array, denominator)
    return Rational(numerators.reshape(shape), denominator * divisor, like=like)


def _factor(backend: Backend, matrix: ExactArray, conditions: Conditions) -> Factorization:
    form = scaled(matrix.rows)
    return Factorization(backend, matrix, form, systems.inverse_of(backend, form.integers, conditions))


def _general(matrix: ExactArray, right: ExactArray, progress: Progress | None) -> GeneralSolution:
    form = scaled(matrix.rows)
    integers, divisor = form.right_side(right.rows)
    with _at_work(matrix, progress) as (backend, conditions):
        parts = systems.decompose(backend, form.integers, conditions)
        try:
            numerators, denominator = parts.particular(integers, backend)
        except systems.Inconsistent as fault:
            raise _inconsistent(fault, form, right) from None
    numerators, denominator = form.unscale(numerators, denominator)
    shape = (matrix.rows.shape[1], *right.shape[1:])
    particular = Rational(numerators.reshape(shape), denominator * divisor, like=matrix.like)
    return GeneralSolution(particular, _null_space(parts, form, matrix.like))


def _null_space(parts: systems.Parts, form: ScaledMatrix, like: Any) -> Rational:
    """The reduced basis in the unknowns of the matrix as it was given."""
    numerators, denominator = parts.null_space()
    if form.columns is None:
        return Rational(numerators, denominator, like=like)
    numerators, _ = form.unscale(numerators, denominator)
    # every column is 1 again in its free unknown
    leading = [int(numerators[free, k]) for k, free in enumerate(parts.free)]
    common = int(gmpy2.lcm(*leading)) if leading else 1
    return Rational(numerators * np.array([common // x for x in leading], object), common, like=like)


def _inconsistent(fault: systems.Inconsistent, form: ScaledMatrix, right: ExactArray) -> InconsistentSystemError:
    """The error, with its certificate in terms of the rows as they were given."""
    weights = [gmpy2.mpq(y) / (1 if form.rows is None else form.rows[i]) for i, y in enumerate(fault.certificate)]
    common = gmpy2.lcm(*(w.denominator for w in weights))
    whole = [int(w * common) for w in weights]
    divisor = int(gmpy2.gcd(*whole))
    column = f" for column {fault.column} of b" if len(right.shape) == 2 else ""
    return InconsistentSystemError(
        f"the system has no solution{column}: a combination of its rows makes 0 = 1, see the certificate",
        tuple(y // divisor for y in whole),
    )


def _square(A: Any) -> ExactArray:
    matrix = read_exact(A, "A")
    rows, columns = matrix.rows.shape
    if rows != columns:
        raise ValueError(f"A has shape {matrix.shape}; it must be square")
    return matrix


def _read_system(A: Any, b: Any) -> tuple[ExactArray, ExactArray]:
    matrix = read_exact(A, "A")
    return matrix, _read_right(matrix, b)


def _read_right(matrix: ExactArray, b: Any) -> ExactArray:
    right = read_exact(b, "b", (1, 2))
    if not (matrix.listed or right.listed):
        agree(matrix.like, right.like)
    if matrix.rows.shape[0] != right.rows.shape[0]:
        raise ValueError(f"A has shape {matrix.shape} and b has shape {right.shape}; they must have equally many rows")
    return right


def _singular(what: str = "solve_general finds the solutions, if there are any") -> SingularMatrixError:
    return SingularMatrixError(f"A is singular; {what}")


@contextmanager
def _at_work(matrix: ExactArray, progress: Progress | None) -> Iterator[tuple[Backend, Conditions]]:
    """The backend for a matrix, on its device, and the conditions of the call."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress takes a function of (done, total), got {type(progress).__name__}")
    backend = calls.backend_for(matrix.like)
    with backend.scope(matrix.like):
        yield backend, Conditions(progress or settings.progress_callback.get(), settings.workspace_bytes.get())
