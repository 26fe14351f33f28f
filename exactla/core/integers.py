"""A matrix of integers with what several parts of an algorithm ask about it: each takes a pass over all entries."""

from dataclasses import dataclass
from functools import cached_property

from exactla.core.bounds import Bounds, hadamard
from exactla.core.scaling import Integers, largest


@dataclass(frozen=True)
class IntegerMatrix:
    """A matrix of integers that nobody changes.

    Attributes
    ----------
    entries : array
        int64, or Python integers as objects.
    """

    entries: Integers

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.entries)

    @cached_property
    def largest(self) -> int:
        """The largest magnitude of an entry."""
        return largest(self.entries)

    @cached_property
    def bounds(self) -> Bounds:
        """Hadamard's bounds, of a square matrix without zero rows and columns."""
        return hadamard(self.entries, self.largest)

    def prepare(self) -> None:
        """Find out now what else would be found out later."""
        _ = self.bounds

    @cached_property
    def rough_bound(self) -> int:
        """A bound on the bits of the determinant of a square matrix, from the largest entry alone."""
        size = len(self)
        return size * ((size * self.largest**2).bit_length() + 1) // 2
