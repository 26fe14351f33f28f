"""Rational numbers from their residues: short vectors of a lattice of two dimensions, by recursive Euclidean steps.

The pairs (r, t) with r = t y (mod M) form a lattice of determinant M. Where y = num / den (mod M) and num * den is
well below M, the shortest of them is (num, den), up to sign: no bound on either has to be known beforehand.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import gmpy2

Matrix = tuple[Any, Any, Any, Any]
"""A unimodular matrix [[a, b], [c, d]], acting on columns (x, y)."""


class Halving(NamedTuple):
    """How the recursion ends: the Euclidean algorithm on numbers of up to so many bits.

    `halve` gives a matrix that takes x >= y >= 0 to numbers about half as long, of entries no longer than that.
    """

    bits: int
    halve: Callable[[int, int], Matrix]


def rational(residue: Any, modulus: Any, halving: Halving | None = None) -> tuple[int, int]:
    """A pair (num, den), den > 0, with num = den * residue (mod modulus) and num**2 + den**2 least, or nearly so.

    Where there is a pair with |num| * den far below the modulus, and neither is near its square root, it is this one.
    """
    x, y = gmpy2.mpz(modulus), gmpy2.mpz(residue) % modulus
    (_, b, _, d), x, y = _halved(x, y, halving or EUCLID)
    # (remainder, cofactor of the residue) of two neighbours: a basis of the lattice
    num, den = _shortest((x, b), (y, d))
    return (int(num), int(den)) if den >= 0 else (int(-num), int(-den))


def _shortest(u: tuple[Any, Any], v: tuple[Any, Any]) -> tuple[Any, Any]:
    """The shorter of a reduced basis: Lagrange's algorithm."""
    norm_u, norm_v = (x * x + y * y for x, y in (u, v))
    while True:
        if norm_u < norm_v:
            u, v, norm_u, norm_v = v, u, norm_v, norm_u
        if not norm_v:
            return u
        inner = u[0] * v[0] + u[1] * v[1]
        factor = (2 * inner + norm_v) // (2 * norm_v)
        if not factor:
            return v
        u = (u[0] - factor * v[0], u[1] - factor * v[1])
        norm_u = u[0] * u[0] + u[1] * u[1]


def _halved(x: Any, y: Any, halving: Halving) -> tuple[Matrix, Any, Any]:
    """A matrix, of entries about half as long as x >= y >= 0, and what it makes of (x, y): numbers about half as long.

    Quotients of the leading parts are those of the whole but for the last ones, and a wrong one does no harm: the
    matrix stays unimodular, and what it misses is left to the caller's reduction.
    """
    length = x.bit_length()
    if length <= halving.bits:
        a, b, c, d = halving.halve(int(x), int(y))
        return (a, b, c, d), a * x + b * y, c * x + d * y
    goal = length // 2 + 1
    if y.bit_length() <= goal:
        return (1, 0, 0, 1), x, y
    (a, b, c, d), x, y = _by_leading_parts(x, y, goal, halving)
    if y.bit_length() <= goal:
        return (a, b, c, d), x, y
    quotient, remainder = gmpy2.f_divmod(x, y)
    a, b, c, d = c, d, a - quotient * c, b - quotient * d
    x, y = y, remainder
    shift = 2 * goal - x.bit_length()
    if y.bit_length() <= goal or shift <= 0:
        return (a, b, c, d), x, y
    (e, f, g, h), x, y = _by_leading_parts(x, y, shift, halving)
    return (e * a + f * c, e * b + f * d, g * a + h * c, g * b + h * d), x, y


def _by_leading_parts(x: Any, y: Any, shift: int, halving: Halving) -> tuple[Matrix, Any, Any]:
    """As `_halved` of x and y without their last bits, with signs and order of the rows that make x >= y >= 0."""
    (a, b, c, d), upper_x, upper_y = _halved(x >> shift, y >> shift, halving)
    low_x, low_y = gmpy2.f_mod_2exp(x, shift), gmpy2.f_mod_2exp(y, shift)
    x, y = (upper_x << shift) + a * low_x + b * low_y, (upper_y << shift) + c * low_x + d * low_y
    if x < 0:
        x, a, b = -x, -a, -b
    if y < 0:
        y, c, d = -y, -c, -d
    return ((a, b, c, d), x, y) if x >= y else ((c, d, a, b), y, x)


def _euclid(x: int, y: int) -> Matrix:
    """The same for numbers of one word, by all quotients."""
    a, b, c, d = 1, 0, 0, 1
    goal = 1 << (x.bit_length() // 2 + 1)
    while y >= goal:
        quotient = x // y
        x, y = y, x - quotient * y
        a, b, c, d = c, d, a - quotient * c, b - quotient * d
    return a, b, c, d


EUCLID = Halving(60, _euclid)
"""On Python's own integers."""


def small_denominator(residue: Any, modulus: Any, most: int, bits: int) -> int | None:
    """The least t <= most with |t * residue| below 2**bits modulo the modulus, centred; None where there is none."""
    x, y = gmpy2.mpz(modulus), gmpy2.mpz(residue) % modulus
    before, t = gmpy2.mpz(0), gmpy2.mpz(1)
    while y and t <= most:
        if min(y, modulus - y).bit_length() <= bits or y.bit_length() <= bits:
            return int(t)
        quotient, remainder = gmpy2.f_divmod(x, y)
        x, y = y, remainder
        before, t = t, before + quotient * t
    return int(t) if t <= most else None
