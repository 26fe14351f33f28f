"""Integer matrices of any shape: rank, null space, solutions and determinants, from one nonsingular part of them.

A minor of order r that is not 0 modulo a prime proves that the rank is r at least. With A11 its rows and columns, the
rank is r if the columns Z of A11 Z = A12 satisfy the other rows too: A21 Z = A22, checked in integers. A prime that
divides too much fails there, and another one takes its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.backend import Backend, Minor
from exactla.core.divisors import common_divisor
from exactla.core.dixon import InverseMatrix, NotFound, Progress, find_lifting
from exactla.core.elimination import determinant, echelon, parity
from exactla.core.moduli import ResidueBase
from exactla.core.numerators import Numerators
from exactla.core.primes import primes_below
from exactla.core.scaling import Integers, mapped

RANK_PRIMES, MINORS = 1 << 22, 8
"""Primes of minors are below this, and so many of them are taken at a time."""

Solution = tuple[NDArray[np.object_], int]
"""Numerators [n, c] and their denominator, in lowest terms."""


class Inverse(Protocol):
    """A nonsingular integer matrix that systems can be solved with."""

    matrix: Integers

    def solve(self, right_side: Integers) -> Solution:
        """The solution of matrix @ x = right_side."""

    def solution(self, right_side: Integers) -> tuple[Numerators, int]:
        """The same, with numerators that need not be Python integers yet."""


class Inconsistent(Exception):
    """No solution; `certificate` is an integer row y with y A = 0 and y b != 0 for column `column` of b."""

    def __init__(self, certificate: list[int], column: int) -> None:
        self.certificate = certificate
        self.column = column
        super().__init__()


@dataclass
class SmallMatrix:
    """A small nonsingular matrix: systems are solved by elimination, each from the beginning."""

    matrix: Integers

    def solution(self, right_side: Integers) -> tuple[Numerators, int]:
        numerators, denominator = self.solve(right_side)
        return Numerators.of(numerators), denominator

    def solve(self, right_side: Integers) -> Solution:
        size = len(self.matrix)
        rows = np.concatenate([self.matrix.astype(object), right_side.astype(object)], axis=1)
        form = echelon(rows.tolist(), size)
        numerators = np.empty(right_side.shape, object)
        for i, row in enumerate(form.rows):
            numerators[i] = row[size:]
        return lowest_terms(numerators, form.denominator)


def lowest_terms(numerators: NDArray[Any], denominator: Any) -> Solution:
    """Python integers without a common divisor, the denominator positive."""
    divisor = common_divisor(numerators.ravel().tolist(), abs(denominator))
    divisor = divisor if denominator > 0 else -divisor
    return mapped(numerators, lambda n: int(n // divisor)), int(denominator // divisor)


def inverse_of(backend: Backend, matrix: Integers, progress: Progress | None) -> Inverse | None:
    """The matrix ready for systems; None where it is singular, which is proven."""
    size = len(matrix)
    if size < backend.least_lifting:
        return SmallMatrix(matrix) if determinant(matrix.tolist()) else None
    try:
        return InverseMatrix(matrix, find_lifting(backend, matrix), progress, halving=backend.halving)
    except NotFound:
        return _inverse_by_minors(backend, matrix, progress)


def _inverse_by_minors(backend: Backend, matrix: Integers, progress: Progress | None) -> Inverse | None:
    """As `inverse_of`, for a matrix that many primes find singular."""
    for prime, minor in _minors(backend, matrix):
        if len(minor.columns) == len(matrix):
            lifting = backend.lifting(matrix, ResidueBase((prime,)))
            return InverseMatrix(matrix, lifting, progress, halving=backend.halving)
        parts = _parts(backend, matrix, minor, progress, 1)
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
            transposed = np.ascontiguousarray(self.inverse.matrix.T)
            inverse = inverse_of(backend, transposed, None)
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


def decompose(backend: Backend, matrix: Integers, progress: Progress | None) -> Parts:
    """The parts of a matrix, proven."""
    for _, minor in _minors(backend, matrix):
        parts = _parts(backend, matrix, minor, progress, None)
        if _holds(parts):
            return parts
    raise NotFound


def _minors(backend: Backend, matrix: Integers) -> Iterator[tuple[int, Minor]]:
    """Largest minors modulo primes, with the primes: all but finitely many of them show the rank."""
    if max(matrix.shape) < backend.least_lifting:
        form = echelon(matrix.tolist(), matrix.shape[1])
        yield 0, Minor(tuple(form.order[: form.rank]), tuple(form.pivots), 1)
    limit = RANK_PRIMES
    while limit > 3:
        (limit,) = primes_below(limit, 1)
        yield limit, backend.minors(matrix, [limit])[0]


def _parts(backend: Backend, matrix: Integers, minor: Minor, progress: Progress | None, most: int | None) -> Parts:
    """The parts that a minor makes, with the relations of at most so many free columns."""
    rows, columns = list(minor.rows), list(minor.columns)
    free = sorted(set(range(matrix.shape[1])) - set(columns))[:most]
    if not columns:
        return Parts(matrix, rows, columns, free, None, (np.full((0, len(free)), 0, object), 1))
    inverse = inverse_of(backend, np.ascontiguousarray(matrix[rows][:, columns]), progress)
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
    """The determinant: the denominator of a random system, which divides it, times a cofactor known modulo primes."""
    size = len(inverse.matrix)
    if not isinstance(inverse, InverseMatrix):
        return determinant(inverse.matrix.tolist())
    inverse.solve(np.random.default_rng(0).integers(-1 << 15, 1 << 15, (size, 1)))
    divisor = inverse.denominator
    # |cofactor| < 2**bits, so that a modulus of two bits more knows it with its sign
    bits = inverse.bounds.determinant - divisor.bit_length() + 1
    residue, modulus, limit = 0, 1, RANK_PRIMES
    while modulus.bit_length() < bits + 3:
        primes = primes_below(limit, min(MINORS, (bits + 3 - modulus.bit_length()) // 21 + 1))
        limit = primes[-1]
        for prime, minor in zip(primes, backend.minors(inverse.matrix, primes), strict=True):
            if divisor % prime == 0:
                continue
            value = minor.value * parity(minor.rows) if len(minor.rows) == size else 0
            digit = (value * pow(divisor, -1, prime) - residue) * pow(modulus, -1, prime) % prime
            residue += modulus * digit
            modulus *= prime
    return divisor * (residue - modulus if 2 * residue > modulus else residue)
