"""`MPArray`: arrays of integers of many limbs times one power of two."""

from typing import Any

import numpy as np

from exactla.core import limbs as limb_arithmetic
from exactla.core.limbs import Limbs


class MPArray:
    """An array of multiple-precision numbers: integers of many limbs times one power of two.

    Attributes
    ----------
    limbs : uint64 array, shape (*shape, L)
        Integers in two's complement, the least significant limb first, contiguous in C order.
    exponent : int
        An entry is integer * 2**exponent.
    """

    __slots__ = ("exponent", "limbs")

    limbs: Limbs
    exponent: int

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("an MPArray is made by MPArray.from_float, from_fractions, from_strings, from_components, ...")

    @classmethod
    def _of(cls, limbs: Limbs, exponent: int) -> "MPArray":
        """The array with these limbs, uint64 and contiguous with L >= 1, which are not copied."""
        found = cls.__new__(cls)
        found.limbs, found.exponent = limbs, exponent
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.limbs.shape[:-1]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.limbs.ndim - 1

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.limbs.size // self.limbs.shape[-1]

    @property
    def bits(self) -> int:
        """Length of the longest magnitude among the integers, 0 where all of them are 0."""
        return max((abs(int(v)).bit_length() for v in self._integers().flat), default=0)

    @property
    def T(self) -> "MPArray":  # noqa: N802
        """The array with its axes in reverse order, copied."""
        axes = (*range(self.ndim - 1, -1, -1), self.ndim)
        return self._of(np.ascontiguousarray(self.limbs.transpose(axes)), self.exponent)

    def _integers(self) -> "np.ndarray[Any, np.dtype[np.object_]]":
        return limb_arithmetic.from_limbs(self.limbs)
