"""Exact solutions of nonsingular integer systems by p-adic lifting (Dixon 1982), with a certificate of every answer.

The digits of x = A**-1 b modulo P**k come from the backend. A denominator D comes from one number, a random
combination of the components; the numerators are N = D x modulo P**j, centred. Since A N = D b (mod P**j) holds by
construction, it is an equality as soon as

    n max|A| max|N| + D max|b| < P**j / 2:

no product A x is needed, and nothing has to be known of where D came from. So lifting stops where the solution is,
which may be far below Hadamard's bound.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import gmpy2
import numpy as np

from exactla.backend import Backend, Lifting, Numbers
from exactla.core.conditions import Conditions
from exactla.core.divisors import centred
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.numerators import ListedNumbers, Numerators, Solver, lowest_terms
from exactla.core.primes import primes_below
from exactla.core.radix import sum_bytes
from exactla.core.reconstruction import EUCLID, Halving, rational, small_denominator
from exactla.core.scaling import Integers, largest, mapped

MARGIN = 48
"""Bits by which a pair of numbers has to fall short of its modulus to be taken for the solution."""

WEIGHTS = 1 << 14
"""Weights of a random combination are below this."""

SLACK = 24
"""Bits that numerators may be longer than that of a random combination."""

WITNESSES = 3
"""Components that are looked at for factors of the denominator that the combination misses."""

MISSING_BITS = 40
"""A factor of the denominator that the combination misses is below 2**MISSING_BITS."""

FIRST_TEST, GROWTH = 2, 2.5
"""Steps before the first search for a solution, and the ratio of the next numbers of steps."""

FEW_TESTS, GROWTH_OF_FEW = 128, 8
"""Sides of systems below which a search costs as much as many steps, and the largest ratio there.

Ordinary entries are then searched for once at the beginning; longer ones, which take more steps, more often.
"""

GROWTH_KNOWN = 1.25
"""The same ratio where the denominator is known, so that a search costs little."""

WORK = 1 << 28
"""Entries of a matrix, times right-hand sides over 16, that one call of a lift goes over: it cannot be interrupted."""

DIGIT_BYTES = 1 << 28
"""Digits that are kept at a time, or fewer where memory is short; more right-hand sides are solved in groups."""

FEW_COLUMNS, FEW_COMPONENTS = 8, 1 << 11
"""Right-hand sides, and components of all, up to which they are lifted together where the denominator is not known."""

DIGIT_COPIES = 4
"""Bytes that a byte of digits takes while numerators are made of it: copies, sums, and the numerators themselves."""

BATCHES = 2
"""Batches of primes of one size that are tried."""

ENOUGH_BITS = 40
"""A product of primes with fewer bits is not worth lifting with."""


class NotFound(Exception):
    """The primes that were tried divide the determinant: it may be 0."""


def find_lifting(backend: Backend, matrix: IntegerMatrix, conditions: Conditions) -> Lifting:
    """A lifting modulo primes that do not divide the determinant.

    Raises
    ------
    WorkspaceError
        It does not fit the memory that may be taken.
    NotFound
        All primes of a batch divide the determinant, or nearly all of several batches.
    """
    bits = matrix.rough_bound
    for limit in backend.prime_limits:
        count = backend.prime_count(len(matrix), limit)
        needed = lifting_bytes(backend, len(matrix), count, bits) + digit_bytes(len(matrix), bits)
        conditions.require(backend, needed, f"solving a system of {len(matrix):,} unknowns")
        for batch in range(BATCHES):
            primes = primes_below(limit, count, batch * count)
            if len(primes) < 2:
                break
            lifting = backend.lifting(matrix, ResidueBase(primes))
            matrix.prepare()  # while a device is at work
            if not lifting.base.moduli:
                raise NotFound
            if lifting.base.product.bit_length() > ENOUGH_BITS:
                return lifting
    raise NotFound


def lifting_bytes(backend: Backend, size: int, count: int, bits: int) -> int:
    """Workspace of a lifting modulo so many primes, and of the sums that numerators of so many bits are."""
    return backend.lifting_bytes(size, count) + sum_bytes(bits, size)


def digit_bytes(size: int, bits: int) -> int:
    """Memory for a right-hand side whose numerators and denominators have up to so many bits."""
    return max(1, DIGIT_COPIES * size * bits // 4)


@dataclass
class InverseMatrix(Solver):
    """A nonsingular integer matrix that is ready to solve systems; what it learns of the denominator it keeps.

    Attributes
    ----------
    room : callable
        Returns the bytes for the digits of right-hand sides.
    denominator : int
        The least common multiple of the denominators of the solutions so far; it divides the last invariant factor.
    halving : Halving
        The backend's.
    """

    matrix: IntegerMatrix
    lifting: Lifting
    conditions: Conditions = field(default_factory=Conditions)
    room: Callable[[], int] = lambda: DIGIT_COPIES * DIGIT_BYTES
    denominator: int = 1
    halving: Halving = EUCLID

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.matrix)

    def solution(self, right_side: Integers) -> tuple[Numerators, int]:
        """See `Solver`.

        The denominators of several groups of right-hand sides become one at the end.
        """
        columns = right_side.shape[1]
        parts = [_Solution(self, right_side[:, some]).run(some.start, columns) for some in self._groups(columns)]
        if not parts:
            return Numerators((), (self.size, 0)), 1
        common = int(gmpy2.lcm(*(d for _, d in parts)))
        return Numerators.joined([n if d == common else _multiplied(n, common // d) for n, d in parts]), common

    def _groups(self, columns: int) -> Iterator[slice]:
        """Right-hand sides that are solved at a time.

        The first of many is solved before them, for the denominator: with it the others need half the digits.
        """
        each, room = digit_bytes(self.size, self.matrix.rough_bound), DIGIT_COPIES * DIGIT_BYTES
        if self.conditions.may_lack(columns * each):
            room = min(room, self.room())
        at_once = max(1, room // each)
        together = min(at_once, max(FEW_COLUMNS, FEW_COMPONENTS // self.size))
        first = 1 if self.denominator == 1 and columns > together else 0
        bounds = [0] * first + [*range(first, columns, 2 * at_once), columns]
        for start, stop in pairwise(bounds):
            if start < stop:
                yield slice(start, stop)


class _Solution:
    """The lifting of some right-hand sides."""

    def __init__(self, inverse: InverseMatrix, right_side: Integers) -> None:
        self._inverse = inverse
        self._base: int = inverse.lifting.base.product
        self._step_bits = self._base.bit_length() - 1
        self._b = largest(right_side)
        self._a: int = inverse.size * inverse.matrix.largest
        self._shape: tuple[int, int] = right_side.shape
        # fixed: an answer never depends on them, since each is certified
        weights = np.random.default_rng(0).integers(1, WEIGHTS, right_side.size)
        self._expansion = inverse.lifting.expand(right_side, weights)
        self._steps = 0
        self._wanted = 0
        """Steps after which a solution that has been seen can be certain."""
        self._powers = [gmpy2.mpz(self._base)]

    def run(self, start: int, columns: int) -> tuple[Numerators, int]:
        """Lift until the numerators are certain."""
        if not self._b:
            return Numerators((ListedNumbers([0] * math.prod(self._shape)),), self._shape), 1
        for goal in self._tests():
            for _ in self._lift_to(goal):
                share = (start + self._shape[1] * min(self._steps / self._rough_steps, 1)) / columns
                self._inverse.conditions.report(int(1000 * share), 1000)
            found = self._attempt()
            if found is not None:
                return found
        raise ArithmeticError("a p-adic solution exceeds its bound: the backend's lifting is wrong")

    @cached_property
    def _rough_steps(self) -> int:
        """About as many steps as a solution takes that is as long as it can be."""
        return 2 * self._inverse.matrix.rough_bound // self._step_bits + 1

    @cached_property
    def _likely_steps(self) -> int:
        """Steps after which numerators as long as the known denominator are seen; 0 where it is not known."""
        known = self._inverse.denominator
        if known == 1:
            return 0
        longer = max(0, self._b.bit_length() - self._inverse.matrix.largest.bit_length())
        combined = known.bit_length() + longer + WEIGHTS.bit_length() + math.prod(self._shape).bit_length()
        return min((combined + MISSING_BITS + MARGIN) // self._step_bits + 1, self._rough_steps)

    @cached_property
    def _most_steps(self) -> int:
        """Steps after which Hadamard's bounds leave no doubt."""
        bounds = self._inverse.matrix.bounds
        squares = self._inverse.size * self._b**2
        numerators = bounds.numerators(squares) + 15 + math.prod(self._shape).bit_length()
        certificate = max(numerators + self._a.bit_length(), bounds.determinant + self._b.bit_length()) + 3
        steps: int = max(numerators + bounds.determinant + MARGIN + 2, certificate) // self._step_bits + 1
        return steps

    def _tests(self) -> Iterator[int]:
        """Numbers of steps after which the solution is looked for."""
        goal, growth = FIRST_TEST, GROWTH if self._inverse.denominator == 1 else GROWTH_KNOWN
        if self._inverse.size < FEW_TESTS:
            growth = max(growth, min(GROWTH_OF_FEW, self._rough_steps / goal / 2))
        likely = self._likely_steps
        # Hadamard's bounds, which take longer than a small solution, are asked for at the end
        while goal <= likely or goal * growth < self._rough_steps // 8 or goal * growth < self._most_steps:
            yield goal
            if self._wanted > goal:
                goal = self._wanted
                yield goal
            following = math.ceil(goal * growth)
            goal = likely if goal < likely < following else following
        yield self._most_steps
        yield 2 * self._most_steps

    def _lift_to(self, goal: int) -> Iterator[None]:
        size, columns = self._shape
        step = max(1, WORK // (size * size * -(-columns // 16)))
        while self._steps < goal:
            count = min(step, goal - self._steps)
            self._expansion.lift(count)
            self._steps += count
            yield

    def _sum(self, digits: Sequence[int]) -> Any:
        """sum_i P**i digits[i], by halves."""
        found = [gmpy2.mpz(d) for d in digits]
        height = 0
        while len(found) > 1:
            if len(found) % 2:
                found.append(gmpy2.mpz(0))
            if height == len(self._powers):
                self._powers.append(self._powers[-1] ** 2)
            base = self._powers[height]
            found = [low + high * base for low, high in zip(found[::2], found[1::2], strict=True)]
            height += 1
        return found[0]

    def _attempt(self) -> tuple[Numerators, int] | None:
        """The solution, if what is known of it so far proves one."""
        modulus = gmpy2.mpz(self._base) ** self._steps
        known = self._inverse.denominator
        combined = self._sum(self._expansion.combinations()) * known
        room = modulus.bit_length()
        factor, numerator = 1, centred(combined, modulus)
        if numerator.bit_length() + MARGIN + SLACK > room:
            more = self._missing(combined, modulus) if known > 1 else None
            if more is not None:
                numerator, factor = centred(combined * more, modulus), more
            elif known > 1 and 2 * self._steps < self._most_steps:
                return None  # the denominator may be new, but it is more likely that numerators need more steps
            else:
                numerator, factor = rational(combined, modulus, self._inverse.halving)
                if numerator.bit_length() + factor.bit_length() + MARGIN > room:
                    return None
        found = self._certified(known * factor, int(numerator))
        if found is not None:
            self._inverse.denominator = int(gmpy2.lcm(known, found[1]))
        return found

    def _missing(self, combined: Any, modulus: Any) -> int | None:
        """A short factor that the denominator known so far misses, if the combination of the numerators shows one.

        Earlier right-hand sides had not all of the last invariant factor, as happens with every second one of them.
        """
        return small_denominator(combined, modulus, 1 << MISSING_BITS, modulus.bit_length() - MISSING_BITS - MARGIN)

    def _certified(self, denominator: int, combined: int) -> tuple[Numerators, int] | None:
        """Numerators for a denominator that is presumed right, if they satisfy the system.

        `combined` is the combination of the numerators.
        """
        bits = combined.bit_length()
        needed = max(self._a.bit_length() + bits, denominator.bit_length() + self._b.bit_length()) + 3
        enough = (needed + SLACK + MISSING_BITS) // self._step_bits + 1
        if needed > self._steps * self._step_bits:
            self._wanted = enough
            return None  # no certificate is in reach
        few = min(self._steps, enough)
        for steps in dict.fromkeys((few, self._steps)):
            modulus = gmpy2.mpz(self._base) ** steps
            factor, witnesses = self._witnesses(denominator, steps, modulus, bits + SLACK)
            whole = denominator * factor
            found = self._numerators(whole, steps, modulus)
            if self._is_simple(found, whole, [combined * factor, *witnesses], modulus):
                return Numerators((found,), self._shape), whole
            numerators = found.integers()
            more = _complete(numerators, modulus, bits + factor.bit_length() + SLACK)
            if more is None:
                continue
            if 2 * (self._a * max(map(abs, numerators)) + whole * more * self._b) < modulus:
                return lowest_terms(numerators, whole * more, self._shape)
        return None

    def _witnesses(self, denominator: int, steps: int, modulus: Any, bits: int) -> tuple[int, list[Any]]:
        """The first numerators, and a factor of the denominator that they need to become as short as `bits`."""
        count = min(WITNESSES, math.prod(self._shape))
        found = [centred(self._sum(d) * denominator, modulus) for d in self._expansion.leading(count, steps)]
        factor = _complete(found, modulus, bits)
        return (1, []) if factor is None else (factor, found)

    def _is_simple(self, numbers: Numbers, denominator: int, witnesses: Sequence[Any], modulus: Any) -> bool:
        """Whether numbers are certain, in lowest terms, from their length and some witnesses alone.

        The witnesses are the combination of the numbers and some of them, or so they should be. A divisor of all
        numbers divides the sum of their products with weights. This sum is congruent to the first witness, and equal
        where both are below half of the modulus; and so are the others and the numbers that they stand for.
        """
        most = 1 << numbers.bits
        weighted = math.prod(self._shape) * WEIGHTS * most
        needed = 2 * max(self._a * most + denominator * self._b, weighted, *map(abs, witnesses))
        return bool(needed < modulus) and bool(gmpy2.gcd(denominator, *witnesses) == 1)

    def _numerators(self, denominator: int, steps: int, modulus: Any) -> Numbers:
        """D x modulo P**steps, for every entry, column by column."""
        base = self._powers[0]
        weights, weight = [], denominator % modulus
        for _ in range(steps):
            weights.append(weight)
            weight = weight * base % modulus
        return self._expansion.multiply(weights, int(modulus))


def _complete(numerators: list[Any], modulus: Any, bits: int) -> int | None:
    """Multiply numerators by the factors of the denominator that are still missing, until all have so many bits.

    A random combination misses a prime q of the denominator with probability 1 / q, and its powers likewise. Returns
    the factor; None where a numerator does not become short.
    """
    total = 1
    while True:
        long = next((n for n in numerators if n.bit_length() > bits + total.bit_length()), None)
        if long is None:
            return total
        factor = small_denominator(long, modulus, 1 << MISSING_BITS, bits + MISSING_BITS)
        if factor is None or factor == 1:
            return None
        total *= factor
        numerators[:] = [centred(n * factor, modulus) for n in numerators]


def _multiplied(numerators: Numerators, factor: int) -> Numerators:
    return Numerators.of(mapped(numerators.array, lambda n: n * factor))
