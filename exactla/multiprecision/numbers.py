"""Matrices of exact numbers of any kind as multiple-precision calls see them: limbs, or rational numbers."""

from functools import cached_property
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.backend import Buffer, Multiprecision
from exactla.core.equilibration import NOTHING
from exactla.core.limb_entries import bit_lengths, magnitudes
from exactla.core.limbs import Limbs, from_limbs, to_limbs
from exactla.core.nearest import nearest_quotient
from exactla.exact_numbers import read_exact
from exactla.multiprecision.mparray import MPArray


class Numbers:
    """A matrix of exact numbers: limbs in units of a power of two, or rational numbers."""

    def __init__(self, given: tuple[int, ...], limbs: Limbs | None, exponent: int, rationals: Any) -> None:
        self.given, self.limbs, self.exponent, self.rationals = given, limbs, exponent, rationals
        self.shape: tuple[int, int] = limbs.shape[:2] if limbs is not None else rationals.shape

    @staticmethod
    def read(array: Any, name: str, dimensions: tuple[int, ...]) -> "Numbers":
        """Numbers of any kind; a vector becomes one column."""
        if isinstance(array, MPArray):
            if array.ndim not in dimensions:
                wanted = " or ".join(map(str, dimensions))
                raise ValueError(
                    f"{name} has shape {array.shape}; it must have {wanted} ax{'es' if max(dimensions) > 1 else 'is'}"
                )
            limbs = array.limbs if array.ndim == 2 else array.limbs[:, None]
            return Numbers(array.shape, limbs, array.exponent, None)
        exact = read_exact(array, name, dimensions)
        return Numbers(exact.shape, None, 0, _fractions(exact.rows))

    def values(self) -> NDArray[np.object_]:
        """The entries as rational numbers of gmpy2."""
        if self.limbs is None:
            found: NDArray[np.object_] = self.rationals
            return found
        unit = gmpy2.mpq(2) ** self.exponent
        values = np.empty(self.shape, object)
        values.flat[:] = [unit * x for x in from_limbs(self.limbs).flat]
        return values

    @cached_property
    def integer_rows(self) -> tuple[MPArray, list[Any]]:
        """Dyadic rows and a rational factor of each: row i of the matrix is row i of the first times factors[i]."""
        if self.limbs is not None:
            return MPArray._of(self.limbs, self.exponent), [gmpy2.mpq(1)] * self.shape[0]
        divisors = [gmpy2.lcm(1, *(q.denominator for q in row)) for row in self.rationals]
        integers = np.empty(self.shape, object)
        for i, (row, divisor) in enumerate(zip(self.rationals, divisors, strict=True)):
            integers[i] = [int(q * divisor) for q in row]
        return MPArray._of_integers(integers, 0), [gmpy2.mpq(1, d) for d in divisors]

    def exponents(self) -> NDArray[np.int64]:
        """e with 2**(e - 1) <= |entry| < 2**e, NOTHING for 0."""
        if self.limbs is not None:
            flat = magnitudes(self.limbs.reshape(-1, self.limbs.shape[-1]))[0]
            lengths = bit_lengths(flat).reshape(self.shape)
            return np.where(lengths > 0, lengths + self.exponent, NOTHING)
        found = [NOTHING if q == 0 else _exponent(q) for q in self.rationals.flat]
        return np.array(found, np.int64).reshape(self.shape)

    def scaled(self, verbs: Multiprecision, shifts: NDArray[np.int64], count: int) -> Buffer:
        """RN(entry * 2**shift) in `count` limbs."""
        if self.limbs is not None:
            return verbs.scale(verbs.upload(self.limbs), shifts + self.exponent, count)
        found = np.empty(self.shape, object)
        by = np.broadcast_to(shifts, self.shape)
        found.flat[:] = [_nearest(q, int(s)) for q, s in zip(self.rationals.flat, by.flat, strict=True)]
        return verbs.upload(to_limbs(found, count))


def _fractions(rows: Any) -> NDArray[np.object_]:
    """The entries as (numerator, denominator)."""
    found = np.empty(rows.shape, object)
    for i, row in enumerate(rows.integers.tolist()):
        scale = rows.scale(i)
        found[i] = [int(entry) * scale for entry in row]
    return found


def _exponent(value: Any) -> int:
    numerator, denominator = abs(int(value.numerator)), int(value.denominator)
    found = numerator.bit_length() - denominator.bit_length()
    below = numerator < denominator << found if found >= 0 else numerator << -found < denominator
    return found if below else found + 1


def _nearest(value: Any, shift: int) -> int:
    """RN(value * 2**shift)."""
    numerator, denominator = int(value.numerator), int(value.denominator)
    return nearest_quotient(numerator << max(shift, 0), denominator << max(-shift, 0))
