"""The reference `Lifting`: inverses modulo primes of about 22 bits, and exact steps in float64 and int64.

A step: x = B r mod P by residues, then (r - A x) / P, whose bits are few: they are known from A x modulo a power of
two, so from the low pieces of x alone.
"""

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.backend import Expansion, Lifting, Minor, Multiprecision
from exactla.core.expansion import HostExpansion
from exactla.core.integers import IntegerMatrix
from exactla.core.moduli import ResidueBase
from exactla.core.radix import integers_of
from exactla.core.reconstruction import EUCLID, Halving
from exactla.core.scaling import largest
from exactla_backends.numpy import limbs as mp
from exactla_backends.numpy import modular
from exactla_backends.numpy import residues as rns
from exactla_backends.numpy.encodings import Ints
from exactla_backends.numpy.multiprecision import HostMultiprecision
from exactla_backends.numpy.threads import for_each, threads

Array = NDArray[Any]

PIECE = 16
"""Bits of the pieces that digits are cut into."""

WORTH_THREADS = 1 << 20
"""Multiplications of a digit that are shared among threads."""


def lifting_primes(size: int) -> int:
    """Primes of a lifting: more of them make fewer steps, each of which costs some calls, and longer inverses."""
    return 6 if size > 256 else 10


def minors(matrix: Array, primes: Sequence[int]) -> list[Minor]:
    """See `exactla.backend.Backend.minors`."""
    found: dict[int, Minor] = {}

    def one(prime: int) -> None:
        found[prime] = modular.largest_minor(modular.residues(matrix, prime), prime)

    for_each(one, primes)
    return [found[p] for p in primes]


class HostSystems:
    """Verbs of `exactla.backend.Backend` for systems, on matrices of the host: a backend without its own has these."""

    halving: Halving = EUCLID
    multiprecision: Multiprecision = HostMultiprecision()
    least_lifting = 40
    most_searched = 0
    prime_limits: tuple[int, ...] = (1 << 22,)

    def prime_count(self, size: int, limit: int) -> int:
        return lifting_primes(size)

    def lifting_bytes(self, size: int, count: int) -> int:
        # inverses, what threads keep while they make them, and the limbs of the matrix
        return 8 * size**2 * (count + 5 * min(count, threads()) + 4)

    def lifting(self, matrix: IntegerMatrix, primes: ResidueBase) -> Lifting:
        return HostLifting(matrix, primes)

    def minors(self, matrix: Array, primes: Sequence[int]) -> list[Minor]:
        return minors(matrix, primes)

    def minor_limits(self, shape: tuple[int, int]) -> tuple[int, ...]:
        return (1 << 22,)

    def cramer(self, matrix: Array, right_side: Array, primes: Sequence[int]) -> tuple[Array, Array]:
        return modular.cramer(matrix, right_side, primes)


class HostLifting:
    """See `exactla.backend.Lifting`: the postconditions are there."""

    def __init__(self, matrix: IntegerMatrix, primes: ResidueBase) -> None:
        found: dict[int, tuple[Array, int]] = {}

        def invert(prime: int) -> None:
            found[prime] = modular.inverse(modular.residues(matrix.entries, prime), prime)

        for_each(invert, primes.moduli)
        self.determinants = tuple(found[p][1] for p in primes.moduli)
        base = ResidueBase(tuple(p for p in primes.moduli if found[p][1]))
        self.start(matrix, base, [found[p][0] for p in base.moduli])

    def start(self, matrix: IntegerMatrix, base: ResidueBase, inverses: list[Array]) -> None:
        """Make ready for steps with the matrix and its inverses modulo the primes of a base."""
        self.base = base
        self._inverses = inverses
        size = len(matrix)
        self._bound = size * matrix.largest
        limbs, bits = mp.from_integers(matrix.entries.astype(object)) if size else (np.zeros((1, 0, 0), np.int64), 0)
        self._matrix = limbs[: mp.count_for(bits)].astype(np.float64)

    def lift(self, residual: Array, steps: int) -> tuple[Array, Array]:
        product = self.base.product
        pieces = 2 * (product.bit_length() // (2 * PIECE) + 1)
        digits = np.empty((steps, *residual.shape[::-1], pieces), np.uint16)
        for step in range(steps):
            limbs = rns.to_limbs(self._digit(residual).reshape(len(self.base.moduli), -1), self.base)
            octets = mp.octets(limbs, PIECE * pieces // 8)
            digit = octets.view("<u2").reshape(*residual.shape, pieces)
            digits[step] = digit.swapaxes(0, 1)
            residual = self._next(residual, digit)
        return digits, residual

    def expand(self, right_side: Array, weights: Array) -> Expansion:
        return HostExpansion(self, right_side, weights)

    def _digit(self, residual: Array) -> Ints:
        """B r modulo each prime, [P, n, c]."""
        found = np.empty((len(self._inverses), *residual.shape), np.int64)

        def one(index: int) -> None:
            prime = self.base.moduli[index]
            found[index] = modular.product(self._inverses[index], modular.residues(residual, prime), prime)

        indices = range(len(self._inverses))
        if found.size * len(residual) < WORTH_THREADS:
            for index in indices:
                one(index)
        else:
            for_each(one, indices)
        return found

    def _next(self, residual: Array, digits: Array) -> Array:
        """(r - A x) / P, from A x modulo a power of two that it fits in."""
        bound = largest(residual) // self.base.product + self._bound + 1
        words = (bound.bit_length() + 1) // PIECE + 1
        modulus = 1 << PIECE * words
        balanced = _balanced(digits)[..., :words]
        if PIECE * words <= 64 and residual.dtype == np.int64:
            return self._next_narrow(residual, balanced, words)
        reciprocal = gmpy2.mpz(pow(self.base.product, -1, modulus))
        left = map(operator.sub, residual.ravel().tolist(), self._products(balanced, words))
        found = [gmpy2.f_mod_2exp(x * reciprocal, PIECE * words) for x in left]
        centred = [int(x - modulus if x.bit_test(PIECE * words - 1) else x) for x in found]
        wide = np.array(centred, np.int64 if PIECE * words < 64 else object)
        return wide.reshape(residual.shape)

    def _next_narrow(self, residual: Array, digits: Ints, words: int) -> Ints:
        """As `_next`, modulo 2**64, which the modulus divides."""
        total = np.zeros(residual.shape, np.int64)
        for shift, sums in self._terms(digits, words):
            total += sums << shift
        reciprocal, spare = pow(self.base.product, -1, 1 << 64), 64 - PIECE * words
        wrapped = (residual - total).view(np.uint64) * np.uint64(reciprocal)
        found: Ints = (wrapped << np.uint64(spare)).view(np.int64) >> spare
        return found

    def _products(self, digits: Ints, words: int) -> list[Any]:
        """A x modulo 2**(16 words), or integers with these residues, as mpz."""
        size, columns, count = digits.shape
        limbs = len(self._matrix)
        sums = self._matrix.reshape(-1, size) @ digits.reshape(size, -1).astype(np.float64)
        by_piece = sums.astype(np.int64).reshape(limbs, size * columns, count).transpose(2, 0, 1)
        # places of 8 bits: a limb takes 3 of them, a piece 2
        places = np.zeros((2 * (words + 1) + 3 * limbs + 2 * count, size * columns), np.int64)
        for piece, some in enumerate(by_piece):
            places[2 * piece : 2 * piece + 3 * limbs : 3] += some
        low = places[: 2 * (words + 1)].reshape(words + 1, 2, -1)
        # places that are a multiple of two octets, and those between
        even, odd = _carried(_carried(low.swapaxes(0, 1)))
        return integers_of(even + (odd << 8))

    def _terms(self, digits: Ints, words: int) -> Iterator[tuple[int, Ints]]:
        """Products of limbs of A and pieces of x, and the bits by which they are shifted: those below 16 words."""
        size, columns, count = digits.shape
        right = digits.reshape(size, columns * count).astype(np.float64)
        for limb, left in enumerate(self._matrix):
            sums = (left @ right).astype(np.int64).reshape(size, columns, count)
            for piece in range(count):
                shift = mp.BITS * limb + PIECE * piece
                if shift < PIECE * words:
                    yield shift, sums[..., piece]


def _carried(places: Ints) -> Ints:
    """Integers in places of 16 bits along the second axis, and what is above them added to the next place, one time."""
    found = places & (1 << PIECE) - 1
    found[:, 1:] += places[:, :-1] >> PIECE
    return found


def _balanced(digits: Array) -> Ints:
    """Pieces in [-2**15, 2**15) of the same integers modulo 2**bits."""
    # 2**15 in every place, added with its carries and taken off again
    pieces = digits.astype(np.int64)
    carry: Any = 0
    for place in range(pieces.shape[-1]):
        pieces[..., place] += carry
        carry = (pieces[..., place] + (1 << (PIECE - 1))) >> PIECE
        pieces[..., place] -= carry << PIECE
    return pieces
