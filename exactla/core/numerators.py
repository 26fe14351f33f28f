"""Long integers that become Python's when they are asked for: making them takes longer than solving for them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactla.core.divisors import common_divisor
from exactla.core.scaling import Integers

if TYPE_CHECKING:
    from exactla.backend import Numbers


class ListedNumbers:
    """See `exactla.backend.Numbers`: numbers in a list, integers of any kind."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    @cached_property
    def bits(self) -> int:
        return max((v.bit_length() for v in self._values), default=0)

    def integers(self) -> list[int]:
        return [int(v) for v in self._values]


@dataclass(frozen=True)
class PackedNumbers:
    """See `exactla.backend.Numbers`: numbers [count, octets] in two's complement."""

    octets: NDArray[np.uint8]
    bits: int

    def integers(self) -> list[int]:
        return [int.from_bytes(row.data, "little", signed=True) for row in self.octets]


class Numerators:
    """Integers [n, c], from groups of columns, each column by column.

    Attributes
    ----------
    shape : tuple of int
    """

    def __init__(self, groups: Sequence["Numbers"], shape: tuple[int, int]) -> None:
        self._groups = groups
        self.shape = shape

    @cached_property
    def array(self) -> NDArray[np.object_]:
        """The integers as an object array."""
        found = np.empty(self.shape[0] * self.shape[1], object)
        found[:] = [n for group in self._groups for n in group.integers()]
        return np.ascontiguousarray(found.reshape(self.shape[::-1]).T)

    @classmethod
    def joined(cls, parts: Sequence["Numerators"]) -> "Numerators":
        """The columns of all parts, which have equally many rows, side by side."""
        groups = [group for part in parts for group in part._groups]
        return cls(groups, (parts[0].shape[0], sum(part.shape[1] for part in parts)))

    @classmethod
    def of(cls, array: NDArray[np.object_]) -> "Numerators":
        """Python integers [n, c] as they are."""
        rows, columns = array.shape
        return cls((ListedNumbers(array.T.ravel().tolist()),), (rows, columns))


class Solver(ABC):
    """What solves systems with one nonsingular integer matrix A."""

    @abstractmethod
    def solution(self, right_side: Integers) -> tuple[Numerators, int]:
        """As `solve`, with numerators that need not be Python integers yet."""

    def solve(self, right_side: Integers) -> tuple[NDArray[np.object_], int]:
        """Numerators [n, c] and a denominator D > 0 with A @ numerators = D * right_side and no common divisor."""
        numerators, denominator = self.solution(right_side)
        return numerators.array, denominator


def lowest_terms(numerators: Sequence[Any], denominator: Any, shape: tuple[int, int]) -> tuple[Numerators, int]:
    """Numerators and a positive denominator without a common divisor.

    Numerators are given column by column, as integers of any kind, and the denominator is not 0.
    """
    divisor = common_divisor(numerators, abs(denominator))
    divisor = divisor if denominator > 0 else -divisor
    found = numerators if divisor == 1 else [n // divisor for n in numerators]
    return Numerators((ListedNumbers(found),), shape), int(denominator // divisor)
