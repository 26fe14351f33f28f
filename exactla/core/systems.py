"""Integer matrices of any shape: rank, null space, solutions and determinants, from one nonsingular part of them.

A minor of order r that is not 0 modulo a prime proves that the rank is r at least. With A11 its rows and columns, the
rank is r if the columns Z of A11 Z = A12 satisfy the other rows too: A21 Z = A22, checked in integers. A prime that
divides too much fails there, and another one takes its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.backend import Backend, Lifting, Minor
from exactla.core.conditions import Conditions
from exactla.core.cramer import cramer, short_solution
from exactla.core.determinants import determinant_of as lifted_determinant
from exactla.core.dixon import InverseMatrix, NotFound, find_lifting, lifting_bytes
from exactla.core.elimination import Factors, echelon, factors
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.numerators import Numerators, Solver, lowest_terms
from exactla.core.primes import primes_below
from exactla.core.scaling import Integers, mapped

MINOR_BYTES = 40
"""Workspace of a minor, for each entry."""

LEAST_MODULAR = 8
"""Sides of matrices from which Cramer's rule modulo primes is faster than elimination in integers."""

LEAST_LONG = 16
"""Sides of matrices of longer entries than int64, from which lifting is faster than elimination in integers."""

FEW_COLUMNS = 16
"""Right-hand sides whose short solutions are looked for first."""

Solution = tuple[NDArray[np.object_], int]
"""Numerators [n, c] and their denominator, in lowest terms."""


class Inconsistent(Exception):
    """No solution; `certificate` is an integer row y with y A = 0 and y b != 0 for column `column` of b."""

    def __init__(self, certificate: list[int], column: int) -> None:
        self.certificate = certificate
        self.column = column
        super().__init__()


@dataclass(frozen=True)
class SmallMatrix(Solver):
    """A small nonsingular matrix of int64 entries: each right-hand side is solved from the beginning."""

    backend: Backend
    matrix: Integers
    determinant: int

    def solution(self, right_side: Integers) -> tuple[Numerators, int]:
        """See `Solver`."""
        if right_side.dtype != np.int64:
            found = factors(self.matrix.tolist())
            if found is not None:
                return EliminatedMatrix(self.matrix, found).solution(right_side)
        numerators, determinant = cramer(self.backend, self.matrix, right_side)
        return lowest_terms(numerators, determinant, right_side.shape)


@dataclass(frozen=True)
class EliminatedMatrix(Solver):
    """A small nonsingular matrix after its elimination in integers."""

    matrix: Integers
    factors: Factors

    @property
    def determinant(self) -> int:
        """The determinant."""
        return int(self.factors.determinant)

    def solution(self, right_side: Integers) -> tuple[Numerators, int]:
        """See `Solver`."""
        solutions = [self.factors.solve(column) for column in right_side.T.tolist()]
        numerators = [n for column, _ in solutions for n in column]
        return lowest_terms(numerators, solutions[0][1] if solutions else 1, right_side.shape)


Inverse = InverseMatrix | SmallMatrix | EliminatedMatrix
"""A nonsingular integer matrix that systems can be solved with."""


def solve(
    backend: Backend, matrix: Integers, right_side: Integers, conditions: Conditions
) -> tuple[Numerators, int] | None:
    """The solution of a square system; None where the matrix is singular, which is proven."""
    words = matrix.dtype == right_side.dtype == np.int64 and right_side.size
    if words and LEAST_MODULAR <= len(matrix) <= backend.most_searched and right_side.shape[1] <= FEW_COLUMNS:
        short = short_solution(backend, matrix, right_side)
        if short is not None:
            conditions.report(1, 1)
            return lowest_terms(*short, right_side.shape)
    if words and _is_small(backend, matrix):
        numerators, determinant = cramer(backend, matrix, right_side)
        return lowest_terms(numerators, determinant, right_side.shape) if determinant else None
    inverse = inverse_of(backend, matrix, conditions)
    return None if inverse is None else inverse.solution(right_side)


def inverse_of(backend: Backend, matrix: Integers, conditions: Conditions) -> Inverse | None:
    """The matrix ready for systems; None where it is singular, which is proven."""
    if _is_small(backend, matrix):
        _, determinant = cramer(backend, matrix, matrix[:, :0])
        return SmallMatrix(backend, matrix, determinant) if determinant else None
    if len(matrix) < LEAST_LONG:
        found = factors(matrix.tolist())
        return None if found is None else EliminatedMatrix(matrix, found)
    whole = IntegerMatrix(matrix)
    try:
        return _inverse_matrix(backend, whole, find_lifting(backend, whole, conditions), conditions)
    except NotFound:
        return _inverse_by_minors(backend, whole, conditions)


def _inverse_matrix(backend: Backend, matrix: IntegerMatrix, lifting: Lifting, conditions: Conditions) -> InverseMatrix:
    def room() -> int:
        used = lifting_bytes(backend, len(matrix), len(lifting.base.moduli), matrix.rough_bound)
        return conditions.workspace(backend) - used

    return InverseMatrix(matrix, lifting, conditions, room, halving=backend.halving)


def _is_small(backend: Backend, matrix: Integers) -> bool:
    return matrix.dtype == np.int64 and LEAST_MODULAR <= len(matrix) < backend.least_lifting


def _inverse_by_minors(backend: Backend, matrix: IntegerMatrix, conditions: Conditions) -> Inverse | None:
    """As `inverse_of`, for a matrix that many primes find singular."""
    for prime, minor in _minors(backend, matrix.entries, conditions):
        if len(minor.columns) == len(matrix):
            return _inverse_matrix(backend, matrix, backend.lifting(matrix, ResidueBase((prime,))), conditions)
        parts = _parts(backend, matrix.entries, minor, conditions, 1)
        if _holds(parts):
            return None
    raise NotFound


@dataclass(frozen=True)
class Parts:
    """A matrix of rank r, cut along a minor of that order.

    Attributes
    ----------
    rows, columns : list of int
        Of the minor; the columns are the first linearly independent ones, ascending.
    free : list of int
        The other columns, ascending.
    inverse : Inverse or None
        Of the minor's matrix A11; None for rank 0.
    relations : tuple
        Numerators and denominator of Z with A11 Z = A12; column k is for free[k].
    """

    matrix: Integers
    rows: list[int]
    columns: list[int]
    free: list[int]
    inverse: Inverse | None
    relations: Solution

    @property
    def rank(self) -> int:
        """The rank."""
        return len(self.columns)

    @property
    def other_rows(self) -> list[int]:
        """Rows that are not of the minor, ascending."""
        return sorted(set(range(len(self.matrix))) - set(self.rows))

    def null_space(self) -> Solution:
        """Numerators [n, n - r]: column k is 1 in free[k], 0 in the other free columns, and A times it is 0."""
        numerators, denominator = self.relations
        found = np.full((self.matrix.shape[1], len(self.free)), 0, object)
        found[self.columns] = -numerators
        found[self.free, range(len(self.free))] = denominator
        return found, denominator

    def particular(self, right_side: Integers, backend: Backend) -> Solution:
        """The solution of matrix @ x = right_side whose free unknowns are 0.

        Raises
        ------
        Inconsistent
            There is none.
        """
        found = np.full((self.matrix.shape[1], right_side.shape[1]), 0, object)
        denominator = 1
        if self.inverse is not None:
            found[self.columns], denominator = self.inverse.solve(right_side[self.rows])
        others = self.other_rows
        wrong = exact_dot(self.matrix[others], found) != denominator * right_side[others].astype(object)
        for row, column in np.argwhere(wrong)[:1]:
            raise Inconsistent(self._certificate(others[row], backend), int(column))
        return found, denominator

    def _certificate(self, row: int, backend: Backend) -> list[int]:
        """An integer row y, primitive, with y A = 0 and y[row] != 0: the relation of this row to those of the minor."""
        found = [0] * len(self.matrix)
        found[row] = 1
        if self.inverse is not None:
            transposed = np.ascontiguousarray(self.matrix[self.rows][:, self.columns].T)
            inverse = inverse_of(backend, transposed, Conditions())
            if inverse is None:
                raise ArithmeticError("a nonsingular matrix has a singular transpose: the backend is wrong")
            numerators, denominator = inverse.solve(np.ascontiguousarray(self.matrix[row : row + 1, self.columns].T))
            found[row] = denominator
            for i, n in zip(self.rows, numerators[:, 0], strict=True):
                found[i] = -int(n)
        return found


def exact_dot(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.object_]:
    """a @ b for integers, as Python integers or mpz."""
    if 0 in (*a.shape, b.shape[1]):
        return np.full((a.shape[0], b.shape[1]), 0, object)
    # longer integers are multiplied faster as mpz
    found: NDArray[np.object_] = mapped(a, _mpz) @ mapped(b, _mpz)
    return found


def _mpz(value: Any) -> Any:
    return gmpy2.mpz(int(value))


def decompose(backend: Backend, matrix: Integers, conditions: Conditions) -> Parts:
    """The parts of a matrix, proven."""
    for _, minor in _minors(backend, matrix, conditions):
        parts = _parts(backend, matrix, minor, conditions, None)
        if _holds(parts):
            return parts
    raise NotFound


def _minors(backend: Backend, matrix: Integers, conditions: Conditions) -> Iterator[tuple[int, Minor]]:
    """Largest minors modulo primes, with the primes: all but finitely many of them show the rank."""
    if max(matrix.shape) < LEAST_LONG:
        form = echelon(matrix.tolist(), matrix.shape[1])
        yield 0, Minor(tuple(form.order[: form.rank]), tuple(form.pivots), 1)
    conditions.require(backend, MINOR_BYTES * matrix.size, f"elimination of a matrix of shape {matrix.shape}")
    *preferred, limit = backend.minor_limits(matrix.shape)
    for small in preferred:  # each of them may fail, but hardly all
        primes = primes_below(small, backend.prime_count(max(matrix.shape), small))
        found = zip(primes, backend.minors(matrix, primes), strict=True)
        yield min(found, key=lambda pair: (-len(pair[1].columns), pair[1].columns))
    while limit > 3:
        (limit,) = primes_below(limit, 1)
        yield limit, backend.minors(matrix, [limit])[0]


def _parts(backend: Backend, matrix: Integers, minor: Minor, conditions: Conditions, most: int | None) -> Parts:
    """The parts that a minor makes, with the relations of at most so many free columns."""
    rows, columns = list(minor.rows), list(minor.columns)
    free = sorted(set(range(matrix.shape[1])) - set(columns))[:most]
    if not columns:
        return Parts(matrix, rows, columns, free, None, (np.full((0, len(free)), 0, object), 1))
    inverse = inverse_of(backend, np.ascontiguousarray(matrix[rows][:, columns]), conditions)
    if inverse is None:
        raise ArithmeticError("a minor that is not 0 modulo a prime is 0: the backend is wrong")
    relations = inverse.solve(np.ascontiguousarray(matrix[rows][:, free]))
    return Parts(matrix, rows, columns, free, inverse, relations)


def _holds(parts: Parts) -> bool:
    """Whether every relation holds in all rows, and makes its column one of the pivots before it."""
    numerators, denominator = parts.relations
    for k, column in enumerate(parts.free):
        later = [i for i, pivot in enumerate(parts.columns) if pivot > column]
        if numerators[later, k].any():
            return False
    others = parts.other_rows
    left = exact_dot(parts.matrix[others][:, parts.columns], numerators)
    return bool((left == denominator * parts.matrix[others][:, parts.free].astype(object)).all())


def determinant_of(backend: Backend, inverse: Inverse) -> int:
    """The determinant."""
    return lifted_determinant(backend, inverse) if isinstance(inverse, InverseMatrix) else inverse.determinant
