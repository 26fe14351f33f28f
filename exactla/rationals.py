"""`Rational`: arrays of rational numbers over one denominator."""

from collections.abc import Iterator
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.arguments import integer, integers
from exactla.arrays import dtype_format, read
from exactla.core.divisors import common_divisor
from exactla.core.numerators import Numerators
from exactla.core.quotients import quotient_encodings
from exactla.core.scaling import mapped
from exactla.formats import FloatFormat
from exactla.libraries import bits
from exactla.results import Enclosure, Rounding

SHOWN_DIGITS, SHOWN_ENTRIES = 40, 6
"""Digits of a number, and entries of an axis, up to which `repr` shows them."""


class Rational:
    """An array of rational numbers ``numerators / denominator`` in lowest terms: what `solve` returns.

    Attributes
    ----------
    numerators : object array of int
        The numerators.
    denominator : int
        The common denominator, positive; the greatest common divisor of it and all numerators is 1.

    Notes
    -----
    ``x[i]`` and ``x[i, j]`` are Fractions, made when they are asked for: a thousand of them take longer to make than a
    large system takes to solve. So are the numerators, the first time. Slices and rows are `Rational` arrays again.

    Examples
    --------
    >>> import exactla as xl
    >>> x = xl.solve([[2, 1], [1, 3]], [1, 2])
    >>> x
    Rational([1, 3] / 5)
    >>> x[1]
    Fraction(3, 5)
    >>> x.round("float32")
    array([0.2, 0.6], dtype=float32)
    """

    __slots__ = ("_like", "_numerators", "_shape", "denominator")

    _numerators: NDArray[np.object_] | Numerators
    _shape: tuple[int, ...]
    denominator: int

    def __init__(self, numerators: Any, denominator: int, *, like: Any = None) -> None:
        values = integers(np.array(numerators, dtype=object), "a numerator")
        denominator = integer(denominator, "a denominator")
        if denominator == 0:
            raise ZeroDivisionError("the denominator of a rational number is 0")
        divisor = common_divisor(values.ravel().tolist(), abs(denominator))
        divisor = divisor if denominator > 0 else -divisor
        self._numerators = np.asarray(values // divisor, object) if divisor != 1 else values
        self._shape = values.shape
        self.denominator = int(denominator) // divisor
        self._like = like

    @classmethod
    def _reduced(cls, numerators: Numerators, shape: tuple[int, ...], denominator: int, like: Any) -> "Rational":
        """The array of a shape, of numerators and a denominator that have no common divisor."""
        found = cls.__new__(cls)
        found._numerators, found._shape, found.denominator, found._like = numerators, shape, denominator, like
        return found

    @property
    def numerators(self) -> NDArray[np.object_]:
        """The numerators, made when they are asked for first."""
        if isinstance(self._numerators, Numerators):
            self._numerators = self._numerators.array.reshape(self._shape)
        return self._numerators

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self._shape)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an array without axes")
        return self._shape[0]

    def __getitem__(self, index: Any) -> Any:
        found = self.numerators[index]
        if isinstance(found, np.ndarray):
            return Rational(found, self.denominator, like=self._like)
        return Fraction(int(found), self.denominator)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Rational):
            return NotImplemented
        same = self.denominator == other.denominator and self.shape == other.shape
        return same and bool((self.numerators == other.numerators).all())

    def __hash__(self) -> int:
        return hash((self.denominator, self.shape, tuple(self.numerators.flat)))

    def tolist(self) -> Any:
        """Nested lists of Fractions; a Fraction for an array without axes."""
        return _map(self.numerators.tolist(), lambda n: Fraction(n, self.denominator))

    def round(self, dtype: Any = "float64", rounding: str = "nearest") -> Any:
        """Every entry rounded once.

        Parameters
        ----------
        dtype : dtype or str
            Floating-point type of the result.
        rounding : {"nearest", "down", "up", "zero"}
            As in `mm`.

        Returns
        -------
        array
            Of the library and on the device of the system that was solved.
        """
        try:
            direction = Rounding(rounding)
        except ValueError:
            raise ValueError(f"rounding={rounding!r} is unknown; it may be {', '.join(Rounding)}") from None
        return self._encoded(dtype, (direction,))[0]

    def enclose(self, dtype: Any = "float64") -> Enclosure:
        """The tightest pair of floating-point arrays around every entry, as `mm_enclose` gives it."""
        lo, hi = self._encoded(dtype, (Rounding.DOWN, Rounding.UP))
        return Enclosure(lo, hi)

    def _encoded(self, dtype: Any, roundings: tuple[Rounding, ...]) -> list[Any]:
        like = read(np.zeros(0), "x") if self._like is None else self._like
        format, is_complex = dtype_format(dtype, like)
        if is_complex:
            raise TypeError(f"dtype={dtype} is complex and the numbers are real")
        return [like.library.from_host(self._encodings(format, r), format, like) for r in roundings]

    def _encodings(self, format: FloatFormat, rounding: Rounding) -> NDArray[Any]:
        found = quotient_encodings(self.numerators.ravel().tolist(), self.denominator, format, rounding)
        unsigned = bits.encoding_type(format)
        return np.array(found, unsigned).reshape(self.shape)

    def to_gmpy2(self) -> NDArray[np.object_]:
        """An object array of ``gmpy2.mpq``."""
        import gmpy2

        return mapped(self.numerators, lambda n: gmpy2.mpq(int(n), self.denominator))

    def to_flint(self) -> Any:
        """A ``flint.fmpq_mat``, of one column for a vector; needs python-flint."""
        import flint

        if self.ndim not in (1, 2):
            raise ValueError(f"a flint matrix has two axes, and the shape is {self.shape}")
        rows = self.numerators if self.ndim == 2 else self.numerators[:, None]
        entries = [flint.fmpq(int(n), self.denominator) for n in rows.flat]
        return flint.fmpq_mat(rows.shape[0], rows.shape[1], entries)

    def __repr__(self) -> str:
        return f"Rational({_shown(self.numerators)} / {_short(self.denominator)})"


def _map(nested: Any, function: Any) -> Any:
    return [_map(item, function) for item in nested] if isinstance(nested, list) else function(nested)


def _shown(values: NDArray[np.object_]) -> str:
    if not values.ndim:
        return _short(values.item())
    entries = [_shown(np.asarray(v, object)) for v in values[:SHOWN_ENTRIES]]
    more = f", ... {len(values) - SHOWN_ENTRIES} more" if len(values) > SHOWN_ENTRIES else ""
    return f"[{', '.join(entries)}{more}]"


def _short(value: int) -> str:
    """A number, or its size where it is long."""
    bits_ = int(value).bit_length()
    if bits_ <= 3 * SHOWN_DIGITS:
        return str(value)
    return f"<{'-' if value < 0 else ''}{bits_} bits>"
