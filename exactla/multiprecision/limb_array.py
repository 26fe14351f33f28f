"""What an `MPArray` is as an array: its limbs and exponent, shape, indices, copies and display."""

import operator
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from exactla.core import numerals
from exactla.core.limbs import Limbs, from_limbs
from exactla.multiprecision import arithmetic

SHOWN_DIGITS, SHOWN_ENTRIES = 17, 6
"""Digits of a number, and entries of an axis, that `repr` shows."""


class LimbArray:
    """Integers of many limbs times one power of two, as an array."""

    __slots__ = ("exponent", "limbs")
    __array_ufunc__ = None  # operators of NumPy arrays leave it to ours

    limbs: Limbs
    exponent: int

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("an MPArray is made by MPArray.from_float, from_fractions, from_strings, from_components, ...")

    @classmethod
    def _of(cls, limbs: Limbs, exponent: int) -> Self:
        """The array with these limbs, uint64 and contiguous with L >= 1, which are not copied."""
        found = cls.__new__(cls)
        shown = limbs.view()
        shown.flags.writeable = False
        object.__setattr__(found, "limbs", shown)
        object.__setattr__(found, "exponent", exponent)
        return found

    def __setattr__(self, name: str, _: Any) -> None:
        raise AttributeError(f"an MPArray never changes, and {name} cannot be set")

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
        return int(self.limbs.size // self.limbs.shape[-1])

    @property
    def bits(self) -> int:
        """Length of the longest magnitude among the integers, 0 where all of them are 0."""
        return arithmetic.most_bits(self._flat())

    @property
    def nbytes(self) -> int:
        """Bytes of the limbs."""
        return int(self.limbs.nbytes)

    @property
    def T(self) -> Self:
        """The array with its axes in reverse order, copied."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Self:
        """The array with its axes in another order, in reverse without one; copied."""
        order = _axes(axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes, self.ndim)
        return self._of(np.ascontiguousarray(self.limbs.transpose(*order, self.ndim)), self.exponent)

    def reshape(self, *shape: Any) -> Self:
        """The same entries in C order in another shape; one length may be -1."""
        wanted = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        places = np.empty(self.shape, np.bool_).reshape(wanted).shape
        return self._of(self.limbs.reshape(*places, self.limbs.shape[-1]), self.exponent)

    def copy(self) -> Self:
        """A copy with limbs of its own."""
        return self._of(self.limbs.copy(), self.exponent)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, _: Any) -> Self:
        return self.copy()

    def __reduce__(self) -> Any:
        return type(self)._of, (self.limbs, self.exponent)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("an MPArray without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Self:
        # indexing goes over the axes of the entries alone
        places = np.arange(self.size).reshape(self.shape)[index]
        flat = self._flat()
        return self._of(np.ascontiguousarray(flat[places]), self.exponent)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"an MPArray of shape {self.shape} is neither true nor false; compare its entries")
        return bool(self.limbs.any())

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an MPArray does not turn into an array of NumPy by itself; use to_float() or to_fractions()")

    def _flat(self) -> Limbs:
        """Limbs [N, L]."""
        return self.limbs.reshape(self.size, self.limbs.shape[-1])

    def _integers(self) -> NDArray[np.object_]:
        return from_limbs(self.limbs)

    def __repr__(self) -> str:
        size = f"{self.bits} bits * 2**{self.exponent}"
        shape = "" if self.size else f"shape {self.shape}, "
        return f"MPArray({self._shown()}, {shape}{size})"

    def __str__(self) -> str:
        return self._shown()

    def _shown(self) -> str:
        if not self.ndim:
            return numerals.shown(int(from_limbs(self.limbs).item()), self.exponent, SHOWN_DIGITS)
        entries = [self[i]._shown() for i in range(min(len(self), SHOWN_ENTRIES))]
        more = f", ... {len(self) - SHOWN_ENTRIES} more" if len(self) > SHOWN_ENTRIES else ""
        return f"[{', '.join(entries)}{more}]"


def _axes(axes: Any, ndim: int) -> tuple[int, ...]:
    order = tuple(operator.index(a) % ndim for a in axes) if axes else tuple(reversed(range(ndim)))
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"axes {axes} are no order of {ndim} axes")
    return order
