"""Exact solutions of nonsingular integer systems by p-adic lifting (Dixon 1982), with a certificate of every answer.

The digits of x = A**-1 b modulo P**k come from the backend. A denominator D comes from one number, a random
combination of the components; the numerators are N = D x modulo P**j, centred. Since A N = D b (mod P**j) holds by
construction, it is an equality as soon as

    n max|A| max|N| + D max|b| < P**j / 2:

no product A x is needed, and nothing has to be known of where D came from. So lifting stops where the solution is,
which may be far below Hadamard's bound.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.backend import Backend, Lifting
from exactla.core.bounds import Bounds, hadamard
from exactla.core.divisors import common_divisor
from exactla.core.moduli import ResidueBase
from exactla.core.primes import primes_below
from exactla.core.radix import from_pieces, signed_pieces, weighted_sums
from exactla.core.reconstruction import rational, small_denominator
from exactla.core.scaling import Integers, largest

Progress = Callable[[int, int], object]

COMBINATIONS = 12
"""Random combinations: each misses a prime q of the denominator that is still missing with probability 1/q."""

MARGIN = 48
"""Bits by which a pair of numbers has to fall short of its modulus to be taken for the solution."""

MISSING = 1 << 32
"""A factor of the denominator that some combination misses is at most this."""

SLACK = 24
"""Bits that numerators may be longer than that of a random combination."""

FIRST_TEST = 4
"""Steps before the first search for a solution."""

BLOCK_ENTRIES = 1 << 18
"""Entries of residuals times their depth that one call of a lift may take on: it cannot be interrupted."""

DIGIT_BYTES = 1 << 28
"""Digits that are kept at a time; more right-hand sides are solved in groups."""

BATCHES = 2
"""Batches of primes of one size that are tried."""

ENOUGH_BITS = 40
"""A product of primes with fewer bits is not worth lifting with."""


class NotFound(Exception):
    """The primes that were tried divide the determinant: it may be 0."""


def find_lifting(backend: Backend, matrix: Integers) -> Lifting:
    """A lifting modulo primes that do not divide the determinant.

    Raises
    ------
    NotFound
        All primes of a batch divide the determinant, or nearly all of several batches.
    """
    for limit in backend.prime_limits:
        count = backend.prime_count(len(matrix), limit)
        for batch in range(BATCHES):
            primes = primes_below(limit, count, batch * count)
            if len(primes) < 2:
                break
            lifting = backend.lifting(matrix, ResidueBase(primes))
            if not lifting.base.moduli:
                raise NotFound
            if lifting.base.product.bit_length() > ENOUGH_BITS:
                return lifting
    raise NotFound


@dataclass
class InverseMatrix:
    """A nonsingular integer matrix that is ready to solve systems; what it learns of the denominator it keeps.

    Attributes
    ----------
    denominator : int
        The least common multiple of the denominators of the solutions so far; it divides the last invariant factor.
    """

    matrix: Integers
    lifting: Lifting
    progress: Progress | None = None
    denominator: int = 1
    _bounds: list[Bounds] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.matrix)

    @property
    def bounds(self) -> Bounds:
        """Hadamard's bounds, computed when they are first needed."""
        if not self._bounds:
            self._bounds.append(hadamard(self.matrix))
        return self._bounds[0]

    def solve(self, right_side: Integers) -> tuple[NDArray[np.object_], int]:
        """Numerators [n, c] and a denominator D > 0 with A @ numerators = D * right_side and no common divisor.

        The denominators of several groups of right-hand sides become one at the end.
        """
        columns = right_side.shape[1]
        group = self._group(columns)
        parts = []
        for start in range(0, columns, group):
            part = right_side[:, start : start + group]
            parts.append(_Solution(self, part).run(start, columns))
        if not parts:
            return np.empty(right_side.shape, object), 1
        common = int(gmpy2.lcm(*(d for _, d in parts)))
        numerators = np.concatenate([n * (common // d) if d != common else n for n, d in parts], axis=1)
        return numerators, common

    def _group(self, columns: int) -> int:
        """Right-hand sides that are solved at a time."""
        digit_bytes = max(self.size * self.bounds.determinant // 4, 1)
        return max(1, min(columns, DIGIT_BYTES // digit_bytes))


class _Solution:
    """The lifting of some right-hand sides."""

    def __init__(self, inverse: InverseMatrix, right_side: Integers) -> None:
        self._inverse = inverse
        self._residual = right_side
        self._base: int = inverse.lifting.base.product
        self._step_bits = self._base.bit_length() - 1
        self._b = largest(right_side)
        self._a: int = inverse.size * largest(inverse.matrix)
        self._shape = right_side.shape
        entries = right_side.size
        # fixed: an answer never depends on them, since each is certified
        generator = np.random.default_rng(0)
        self._weights = generator.integers(1, 1 << 14, (COMBINATIONS, entries)).astype(np.float64)
        self._digits: list[NDArray[np.uint16]] = []
        self._combined: list[list[int]] = [[] for _ in range(COMBINATIONS)]
        self._steps = 0

    def run(self, start: int, columns: int) -> tuple[NDArray[np.object_], int]:
        """Lift until the numerators are certain."""
        if not self._residual.size or not self._b:
            return np.full(self._shape, 0, object), 1
        last = self._most_steps()
        for goal in self._tests(last):
            for _ in self._lift_to(goal):
                if self._inverse.progress is not None:
                    share = (start + self._shape[1] * self._steps / last) / columns
                    self._inverse.progress(int(1000 * share), 1000)
            found = self._attempt()
            if found is not None:
                return found
        raise ArithmeticError("a p-adic solution exceeds its bound: the backend's lifting is wrong")

    def _most_steps(self) -> int:
        """Steps after which Hadamard's bounds leave no doubt."""
        bounds = self._inverse.bounds
        squares = self._inverse.size * self._b**2
        numerators = bounds.numerators(squares) + 15 + self._weights.shape[1].bit_length()
        certificate = max(numerators + self._a.bit_length(), bounds.determinant + self._b.bit_length()) + 3
        steps: int = max(numerators + bounds.determinant + MARGIN + 2, certificate) // self._step_bits + 1
        return steps

    def _tests(self, last: int) -> Iterator[int]:
        """Numbers of steps after which the solution is looked for.

        A search costs about what its share of the lifting does, so the numbers double; where the denominator is
        known it costs nothing, and numerators are half of what a first solution needs.
        """
        goal, factor = FIRST_TEST, 2.0 if self._inverse.denominator == 1 else 1.15
        while goal * factor < last:
            yield goal
            goal = math.ceil(goal * factor)
        yield last
        # a denominator whose factors hide from every combination needs more than one round
        for extra in range(1, 4):
            yield last * (1 << extra)

    def _lift_to(self, goal: int) -> Iterator[None]:
        columns = self._shape[1]
        step = max(1, BLOCK_ENTRIES // (self._inverse.size * columns))
        while self._steps < goal:
            count = min(step, goal - self._steps)
            digits, self._residual = self._inverse.lifting.lift(self._residual, count)
            self._digits.append(digits)
            flat = signed_pieces(digits).reshape(count, -1, digits.shape[-1])
            sums = np.matmul(self._weights, flat).astype(np.int64)
            for combination, values in zip(self._combined, sums.transpose(1, 0, 2), strict=True):
                combination.extend(map(from_pieces, values))
            self._steps += count
            yield

    def _combination(self, index: int) -> Any:
        """A random combination of the components, modulo P**steps."""
        digits = [gmpy2.mpz(d) for d in self._combined[index]]
        base = gmpy2.mpz(self._base)
        while len(digits) > 1:
            if len(digits) % 2:
                digits.append(gmpy2.mpz(0))
            digits = [low + high * base for low, high in zip(digits[::2], digits[1::2], strict=True)]
            base *= base
        return digits[0]

    def _attempt(self) -> tuple[NDArray[np.object_], int] | None:
        """The solution, if what is known of it so far proves one."""
        modulus = gmpy2.mpz(self._base) ** self._steps
        first = self._combination(0)
        room = modulus.bit_length()
        known = self._inverse.denominator
        bits = _centred(first * known, modulus).bit_length()
        if bits + MARGIN + SLACK < room:
            denominator = known
        elif known > 1 and 2 * self._steps < self._most_steps():
            return None
        else:
            numerator, factor = rational(first * known, modulus)
            bits, denominator = numerator.bit_length(), known * factor
            if bits + factor.bit_length() + MARGIN > room:
                return None
        for index in range(1, COMBINATIONS):
            multiple = self._combination(index) * denominator
            if _centred(multiple, modulus).bit_length() <= bits + SLACK:
                continue
            missing = small_denominator(multiple, modulus, MISSING, bits + SLACK)
            if missing is None:
                return None
            denominator *= missing
            bits += missing.bit_length()
        found = self._certified(denominator, bits)
        if found is not None:
            self._inverse.denominator = int(gmpy2.lcm(known, found[1]))
        return found

    def _certified(self, denominator: int, bits: int) -> tuple[NDArray[np.object_], int] | None:
        """Numerators for a denominator that is presumed right, if they satisfy the system."""
        needed = max(self._a.bit_length() + bits + SLACK, denominator.bit_length() + self._b.bit_length()) + 3
        few = min(self._steps, needed // self._step_bits + 1)
        for steps in dict.fromkeys((few, self._steps)):
            numerators, modulus = self._numerators(denominator, steps)
            most = max(map(abs, numerators))
            if 2 * (self._a * most + denominator * self._b) < modulus:
                return _lowest_terms(numerators, denominator, self._shape)
        return None

    def _numerators(self, denominator: int, steps: int) -> tuple[list[int], int]:
        """D x modulo P**steps, centred, for every entry; and P**steps."""
        base = gmpy2.mpz(self._base)
        modulus = base**steps
        weights, weight = [], denominator % modulus
        for _ in range(steps):
            weights.append(int(weight))
            weight = weight * base % modulus
        whole, half = int(modulus), int(modulus >> 1)
        sums = weighted_sums(self._digits, weights)
        return [r - whole if (r := s % whole) > half else r for s in sums], whole


def _centred(value: Any, modulus: Any) -> Any:
    residue = value % modulus
    return residue - modulus if 2 * residue > modulus else residue


def _lowest_terms(numerators: list[int], denominator: int, shape: tuple[int, ...]) -> tuple[NDArray[np.object_], int]:
    divisor = common_divisor(numerators, denominator)
    if divisor != 1:
        numerators = [n // divisor for n in numerators]
    found = np.empty(len(numerators), object)
    found[:] = numerators
    return found.reshape(shape), denominator // divisor
