"""Matrices of exact numbers of any kind as multiple-precision calls see them: limbs, or rational numbers."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from exactla.arrays import is_array, read
from exactla.backend import Buffer, Multiprecision
from exactla.core.equilibration import NOTHING
from exactla.core.limbs import to_limbs
from exactla.core.nearest import nearest_quotient
from exactla.exact_numbers import read_exact
from exactla.multiprecision.mparray import MPArray
from exactla.multiprecision.places import HOST, kind_of, moved

MOST_EXPONENT = 1 << 60
"""Of an array that is factored: sums of a few exponents fit 64 bits."""


class Numbers:
    """A matrix of exact numbers: those of an `MPArray`, on any device, or rational numbers."""

    def __init__(self, given: tuple[int, ...], array: MPArray | None, rationals: Any = None) -> None:
        self.given, self.array, self.rationals = given, array, rationals
        self.shape: tuple[int, int] = array.shape if array is not None else rationals.shape  # type: ignore[assignment]

    @staticmethod
    def read(array: Any, name: str, dimensions: tuple[int, ...]) -> "Numbers":
        """Numbers of any kind; a vector becomes one column."""
        if is_array(array) and not isinstance(array, np.ndarray) and read(array, name).device_kind != HOST:
            array = MPArray.from_float(array)
        if isinstance(array, MPArray):
            if array.ndim not in dimensions:
                wanted = " or ".join(map(str, dimensions))
                raise ValueError(
                    f"{name} has shape {array.shape}; it must have {wanted} ax{'es' if max(dimensions) > 1 else 'is'}"
                )
            return Numbers(array.shape, array if array.ndim == 2 else array.reshape(-1, 1))
        exact = read_exact(array, name, dimensions)
        return Numbers(exact.shape, None, _fractions(exact.rows))

    @property
    def kind(self) -> str:
        """The kind of device that they are on."""
        return HOST if self.array is None else kind_of(self.array.limbs)

    @property
    def device(self) -> Any:
        """As that of an `MPArray`."""
        return HOST if self.array is None else self.array.device

    def scope(self) -> AbstractContextManager[None]:
        """Enter their device."""
        return nullcontext() if self.array is None else self.array._scope()

    def minus(self, other: MPArray, factors: Sequence[Any]) -> "Numbers":
        """These numbers minus those of an array, whose rows are multiplied by rational factors."""
        if self.array is not None and all(f == 1 for f in factors):
            return Numbers(self.shape, self.array - other)
        subtrahend = Numbers(other.shape, other).values() * np.array(factors, object)[:, None]
        return Numbers(self.shape, None, self.values() - subtrahend)

    def values(self) -> NDArray[np.object_]:
        """The entries as rational numbers of gmpy2."""
        if self.array is None:
            found: NDArray[np.object_] = self.rationals
            return found
        unit = gmpy2.mpq(2) ** self.array.exponent
        values = np.empty(self.shape, object)
        values.flat[:] = [unit * x for x in self.array._integers().flat]
        return values

    @cached_property
    def integer_rows(self) -> tuple[MPArray, list[Any]]:
        """Dyadic rows and a rational factor of each: row i of the matrix is row i of the first times factors[i]."""
        if self.array is not None:
            return self.array, [gmpy2.mpq(1)] * self.shape[0]
        divisors = [gmpy2.lcm(1, *(q.denominator for q in row)) for row in self.rationals]
        integers = np.empty(self.shape, object)
        for i, (row, divisor) in enumerate(zip(self.rationals, divisors, strict=True)):
            integers[i] = [int(q * divisor) for q in row]
        return MPArray._of_integers(integers, 0), [gmpy2.mpq(1, d) for d in divisors]

    def in_units(self) -> tuple["Numbers", int]:
        """The integers of an array and the exponent of their unit; rational numbers as they are."""
        if self.array is None:
            return self, 0
        return Numbers(self.given, self.array.scaled(-self.array.exponent)), self.array.exponent

    def at(self, verbs: Multiprecision) -> "Placed":
        """These numbers for verbs that take them, on the device of now."""
        return Placed(self, verbs)


class Placed:
    """Numbers whose limbs, where they have any, are where the verbs of some backend want them."""

    def __init__(self, numbers: Numbers, verbs: Multiprecision) -> None:
        self._numbers, self._verbs = numbers, verbs
        array = numbers.array
        self._limbs = None if array is None else moved(array.limbs, array._verbs, verbs)
        self._unit = 0 if array is None else array.exponent

    def exponents(self) -> NDArray[np.int64]:
        """e with 2**(e - 1) <= |entry| < 2**e, NOTHING for 0.

        Raises
        ------
        ValueError
            The array's exponent is so large that sums of a few do not fit 64 bits.
        """
        if abs(self._unit) > MOST_EXPONENT:
            raise ValueError(f"factors take exponents up to 2**60, got {self._unit}; scale the array first")
        if self._limbs is not None:
            found: NDArray[np.int64] = self._verbs.bit_lengths(self._limbs)
            is_empty = found == 0
            found += self._unit
            found[is_empty] = NOTHING
            return found
        values = [NOTHING if q == 0 else _exponent(q) for q in self._numbers.rationals.flat]
        return np.array(values, np.int64).reshape(self._numbers.shape)

    def scaled(self, rows: NDArray[np.int64], columns: NDArray[np.int64], count: int) -> Buffer:
        """RN(entry_ij * 2**(rows_i + columns_j)) in `count` limbs."""
        if self._limbs is not None:
            return self._verbs.scale(self._limbs, (rows, columns + self._unit), count)
        shifts = rows[:, None] + columns
        found = np.empty(self._numbers.shape, object)
        found.flat[:] = [_nearest(q, int(s)) for q, s in zip(self._numbers.rationals.flat, shifts.flat, strict=True)]
        return self._verbs.upload(to_limbs(found, count))


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
