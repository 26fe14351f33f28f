"""What an `MPArray` is as an array: its limbs and exponent, shape, device, indices, copies and display."""

import math
import operator
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from exactla.arguments import integer
from exactla.backend import Buffer, Multiprecision
from exactla.core import numerals
from exactla.core.limbs import OCTETS, Limbs, from_limbs
from exactla.multiprecision import arithmetic, places

SHOWN_DIGITS, SHOWN_ENTRIES = 17, 6
"""Digits of a number, and entries of an axis, that `repr` shows."""


class LimbArray:
    """Integers of many limbs times one power of two, as an array."""

    __slots__ = ("exponent", "limbs")
    __array_ufunc__ = None  # operators of NumPy arrays leave it to ours

    limbs: Buffer
    exponent: int

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("an MPArray is made by MPArray.from_float, from_fractions, from_strings, from_components, ...")

    @classmethod
    def _of(cls, limbs: Buffer, exponent: int) -> Self:
        """The array with these limbs, uint64 and contiguous with L >= 1, which are not copied."""
        found = cls.__new__(cls)
        shown = limbs
        if isinstance(limbs, np.ndarray):
            shown = limbs.view()
            shown.flags.writeable = False
        object.__setattr__(found, "limbs", shown)
        object.__setattr__(found, "exponent", exponent)
        return found

    def __setattr__(self, name: str, _: Any) -> None:
        raise AttributeError(f"an MPArray never changes, and {name} cannot be set")

    @property
    def device(self) -> Any:
        """Where the limbs are: "cpu" for the host, else the device as the library of `limbs` has it."""
        return places.device_of(self.limbs)

    def to_device(self, kind: str) -> Self:
        """The same numbers on the current device of a kind, "cpu", "cuda" or "sycl"; itself where it is on such a one.

        Raises
        ------
        BackendUnavailable
            No backend here keeps multiple-precision numbers on such devices.
        """
        with self._scope():
            limbs = places.on(kind, self.limbs)
        return self if limbs is self.limbs else self._of(limbs, self.exponent)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self.limbs.shape[:-1])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.limbs.shape) - 1

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def bits(self) -> int:
        """Length of the longest magnitude among the integers, 0 where all of them are 0."""
        with self._scope():
            return self._verbs.most_bits(self._flat())

    @property
    def nbytes(self) -> int:
        """Bytes of the limbs."""
        return OCTETS * self.size * int(self.limbs.shape[-1])

    @property
    def _verbs(self) -> Multiprecision:
        """What does elementwise arithmetic where the limbs are."""
        return places.verbs_at(places.kind_of(self.limbs))

    def _scope(self) -> AbstractContextManager[None]:
        """Enter the device of the limbs."""
        return self._verbs.scope(self.limbs)

    @property
    def T(self) -> Self:
        """The array with its axes in reverse order, copied."""
        return self.transpose()

    def transpose(self, *axes: Any) -> Self:
        """The array with its axes in another order, in reverse without one; copied."""
        order = _axes(_arguments(axes), self.ndim)
        return self._gathered(arithmetic.numbered(self.shape).transpose(order))

    def reshape(self, *shape: Any) -> Self:
        """The same entries in C order in another shape; one length may be -1."""
        wanted = tuple(integer(length, "a length") for length in _arguments(shape))
        lengths = np.empty(self.shape, np.bool_).reshape(wanted).shape
        return self._of(self.limbs.reshape(*lengths, self.limbs.shape[-1]), self.exponent)

    def copy(self) -> Self:
        """A copy with limbs of its own."""
        return self._gathered(arithmetic.numbered(self.shape))

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
        return self._gathered(np.asarray(arithmetic.numbered(self.shape)[index]))

    def _gathered(self, entries: NDArray[np.int64]) -> Self:
        """The entries at these places in C order."""
        with self._scope():
            return self._of(self._verbs.gather(self.limbs, entries), self.exponent)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"an MPArray of shape {self.shape} is neither true nor false; compare its entries")
        return self.bits > 0

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("an MPArray does not turn into an array of NumPy by itself; use to_float() or to_fractions()")

    def _flat(self) -> Buffer:
        """Limbs [N, L]."""
        return self.limbs.reshape(self.size, self.limbs.shape[-1])

    def _on_host(self) -> Limbs:
        """Limbs [N, L] on the host."""
        with self._scope():
            return self._verbs.download(self._flat())

    def _integers(self) -> NDArray[np.object_]:
        return from_limbs(self._on_host()).reshape(self.shape)

    def __repr__(self) -> str:
        size = f"{self.bits} bits * 2**{self.exponent}"
        shape = "" if self.size else f"shape {self.shape}, "
        device = "" if places.kind_of(self.limbs) == places.HOST else f", on {self.device}"
        return f"MPArray({self}, {shape}{size}{device})"

    def __str__(self) -> str:
        shown = self[(slice(0, SHOWN_ENTRIES),) * self.ndim]
        return _shown(shown._integers(), self.exponent, self.shape)


def _shown(integers: NDArray[np.object_], exponent: int, shape: tuple[int, ...]) -> str:
    """The first entries of an array of this shape."""
    if not shape:
        return numerals.shown(int(integers.item()), exponent, SHOWN_DIGITS)
    entries = [_shown(integers[i, ...], exponent, shape[1:]) for i in range(len(integers))]
    more = f", ... {shape[0] - SHOWN_ENTRIES} more" if shape[0] > SHOWN_ENTRIES else ""
    return f"[{', '.join(entries)}{more}]"


def _arguments(given: tuple[Any, ...]) -> Any:
    """Several arguments, or what the only one of them holds."""
    return given[0] if len(given) == 1 and isinstance(given[0], Iterable) else given


def _axes(axes: Any, ndim: int) -> tuple[int, ...]:
    if not len(axes):
        return tuple(reversed(range(ndim)))
    order = [operator.index(a) for a in axes]
    found = tuple(a + ndim if a < 0 else a for a in order)
    if sorted(found) != list(range(ndim)):
        raise ValueError(f"axes {tuple(order)} are no order of {ndim} axes")
    return found
