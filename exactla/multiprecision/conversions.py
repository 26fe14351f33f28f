"""What an `MPArray` turns into: floats, components, numbers of other libraries, numerals; and its own roundings.

Conversions work on the host, which the limbs of another device are copied to; arrays of floats go back there.
"""

from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from exactla.arguments import integer
from exactla.arrays import dtype_format, read
from exactla.core import dyadics, expansions, limb_entries, numerals
from exactla.core.limbs import Limbs, from_limbs, shifted_down, trimmed
from exactla.core.scaling import mapped
from exactla.formats import FLOAT64, FloatFormat
from exactla.libraries import bits as float_bits
from exactla.multiprecision import arithmetic, objects, places
from exactla.multiprecision.limb_array import LimbArray
from exactla.multiprecision.limits import check_written, checked_precision
from exactla.results import Rounding

COMPONENTS = (2, 3, 4)
"""Numbers of float64 components: DD, TD and QD."""


class Convertible(LimbArray):
    """The conversions of an `MPArray` to other numbers."""

    __slots__ = ()

    def to_float(self, dtype: Any = "float64", rounding: str = "nearest") -> Any:
        """Every entry rounded once to a float.

        Parameters
        ----------
        dtype : dtype or str
            Floating-point type of the result.
        rounding : {"nearest", "down", "up", "zero"}
            As in `mm`: what is too large becomes infinite, or the largest finite value where it is rounded inward.

        Returns
        -------
        numpy.ndarray, or cupy.ndarray on its devices
            Of the same shape.
        """
        format = _float_format(dtype)
        words = expansions.encodings(self._on_host(), self.exponent, format, _rounding(rounding))
        return self._floats(words.astype(float_bits.encoding_type(format)).reshape(self.shape), format)

    def _floats(self, encodings: NDArray[Any], format: FloatFormat) -> Any:
        """The floats with these encodings, where the limbs are."""
        if places.kind_of(self.limbs) == places.HOST:
            return float_bits.typed(encodings, format)
        with self._scope():
            here = read(self.limbs, "limbs")
            return here.library.from_host(encodings, format, here)

    def to_components(self, count: int) -> Any:
        """Every entry as a double-double, triple-double or quad-double number.

        Parameters
        ----------
        count : {2, 3, 4}
            Number of components.

        Returns
        -------
        float64 array of NumPy, or of CuPy on its devices, shape (..., count)
            Each component is the nearest float64, ties to even, to what those before it leave of the entry.

        Raises
        ------
        OverflowError
            An entry is beyond the largest float64.
        """
        wanted = integer(count, "a number of components")
        if wanted not in COMPONENTS:
            raise ValueError(f"a number has 2, 3 or 4 components, got {wanted}")
        return self._floats(self._component_words(wanted), FLOAT64)

    def _component_words(self, count: int) -> expansions.Words:
        """The encodings of `to_components` on the host."""
        words = places.expansions().components(self._on_host(), self.exponent, count)
        beyond = (words & np.uint64((1 << 63) - 1)) > FLOAT64.largest
        if beyond.any():
            place = np.unravel_index(int(beyond.any(axis=1).argmax()), self.shape)
            raise OverflowError(f"entry {[int(i) for i in place]} is beyond the largest float64")
        return words.reshape(*self.shape, count)

    def to_mpfr(self, precision: int | None = None) -> NDArray[np.object_]:
        """An object array of ``gmpy2.mpfr``, exact, or rounded once to a precision (to nearest, ties to even).

        Raises
        ------
        OverflowError
            An entry is beyond the exponents that gmpy2 computes with.
        """
        wanted = max(self.bits, dyadics.LEAST_PRECISION) if precision is None else checked_precision(precision)
        return objects.to_mpfr(self._integers(), self.exponent, wanted)

    def to_mpmath(self, precision: int | None = None) -> NDArray[np.object_]:
        """An object array of ``mpmath.mpf``, exact, or rounded once to a precision (to nearest, ties to even)."""
        wanted = None if precision is None else checked_precision(precision)
        return objects.to_mpmath(self._integers(), self.exponent, wanted)

    def to_flint(self) -> Any:
        """A ``flint.arb_mat`` of exact numbers, of one column for a vector; needs python-flint."""
        if self.ndim not in (1, 2):
            raise ValueError(f"a flint matrix has two axes, and the shape is {self.shape}")
        return objects.to_flint(self._integers(), self.exponent)

    def to_fractions(self) -> NDArray[np.object_]:
        """An object array of Fractions: the exact values.

        Raises
        ------
        OverflowError
            An entry takes more than 2**28 bits.
        WorkspaceError
            All of them together take more than the workspace limit.
        """
        integers, exponent = self._written_out("an entry as a Fraction")
        scale = Fraction(1 << max(exponent, 0), 1 << max(-exponent, 0))
        return mapped(integers, lambda v: v * scale)

    def _written_out(self, what: str) -> tuple[NDArray[np.object_], int]:
        """Integers and the exponent of the same numbers, which have room where each is written out.

        Raises
        ------
        OverflowError, WorkspaceError
            They have none; `what` says as what they would be written.
        """
        limbs, exponent = self._normal_form()
        bits = limb_entries.longest(limbs.reshape(self.size, limbs.shape[-1]))
        check_written(int(limbs.any(axis=-1).sum()), bits + abs(exponent), what)
        return from_limbs(limbs), exponent

    def to_strings(self, digits: int | None = None) -> NDArray[np.object_]:
        """An object array of decimal numerals.

        Parameters
        ----------
        digits : int, optional
            Significant digits to which every entry is rounded: to nearest, ties to even. Without it all digits are
            given, of which there are about as many as bits.

        Raises
        ------
        OverflowError, WorkspaceError
            As in `to_fractions`: an entry is written out before it is rounded.
        """
        wanted = None if digits is None else integer(digits, "a number of digits")
        if wanted is not None and wanted < 1:
            raise ValueError(f"a numeral has 1 digit or more, got digits={wanted}")
        integers, exponent = self._written_out("an entry as a decimal numeral")
        if wanted is None:
            return mapped(integers, lambda v: numerals.exact(v, exponent))
        return mapped(integers, lambda v: numerals.rounded(v, exponent, wanted))

    def tolist(self) -> Any:
        """Nested lists of Fractions, as from `to_fractions`; a Fraction for an array without axes."""
        return self.to_fractions().tolist()

    def item(self) -> Fraction:
        """The only entry, as a Fraction, as from `to_fractions`."""
        if self.size != 1:
            raise ValueError(f"an MPArray of shape {self.shape} has no only entry; index it, or use tolist()")
        found: Fraction = self.to_fractions().item()
        return found

    def __float__(self) -> float:
        if self.size != 1:
            raise TypeError(f"an MPArray of shape {self.shape} is no single number; index it first")
        return float(self.to_device(places.HOST).reshape(()).to_float())

    def rounded(self, precision: int, rounding: str = "nearest") -> Self:
        """Every entry rounded to so many significant bits.

        Parameters
        ----------
        precision : int
            At least 2.
        rounding : {"nearest", "down", "up", "zero"}
            As in `mm`.
        """
        wanted = checked_precision(precision), _rounding(rounding)
        with self._scope():
            limbs = arithmetic.rounded(self._verbs, self._flat(), *wanted)
        return self._of(limbs.reshape(*self.shape, limbs.shape[-1]), self.exponent)

    def normalized(self) -> Self:
        """The same numbers with the largest exponent and, for that, the fewest limbs; 0 for zeros only."""
        limbs, exponent = self._normal_form()
        with self._scope():
            return self._of(self._verbs.upload(limbs), exponent)

    def _normal_form(self) -> tuple[Limbs, int]:
        """Limbs on the host and the exponent of the same numbers, normalized."""
        limbs = self._on_host()
        if not limbs.any():
            return np.zeros((*self.shape, 1), np.uint64), 0
        spare = int(limb_entries.lowest_bits(limbs).min())
        limbs = trimmed(shifted_down(limbs, spare) if spare else limbs)
        return limbs.reshape(*self.shape, limbs.shape[-1]), self.exponent + spare

    def _canonical_bytes(self) -> bytes:
        """What `digest` hashes: the same for the same shape and values."""
        limbs, exponent = self._normal_form()
        header = " ".join(map(str, ("mp", self.ndim, *self.shape, exponent, limbs.shape[-1])))
        return f"{header}\n".encode() + limbs.astype("<u8", copy=False).tobytes()


def _float_format(dtype: Any) -> FloatFormat:
    format, is_complex = dtype_format(dtype, read(np.zeros(0), "x"))
    if is_complex:
        raise TypeError(f"dtype={dtype} is complex and the numbers are real")
    return format


def _rounding(name: str) -> Rounding:
    try:
        return Rounding(name)
    except ValueError:
        raise ValueError(f"rounding={name!r} is unknown; it may be {', '.join(Rounding)}") from None
