"""`MPArray`: arrays of integers of many limbs times one power of two.

Conversions of floats work on bit patterns in NumPy, those of objects entry by entry (`exactla.mp_objects`).
"""

import operator
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla import mp_arithmetic, mp_objects
from exactla.arrays import dtype_format, read
from exactla.core import dyadics, expansions, limb_entries, numerals
from exactla.core.decoding import Numbers, decoded
from exactla.core.limbs import Limbs, from_limbs, limbs_needed, shifted_down, to_limbs, trimmed
from exactla.core.scaling import mapped
from exactla.errors import NonFiniteError
from exactla.formats import FLOAT64, BigIntegerFormat, FloatFormat
from exactla.libraries import bits as float_bits
from exactla.libraries.base import Source, type_name
from exactla.mp_limits import check_room
from exactla.results import Rounding

COMPONENTS = (2, 3, 4)
"""Numbers of float64 components: DD, TD and QD."""

SHOWN_DIGITS, SHOWN_ENTRIES = 17, 6
"""Digits of a number, and entries of an axis, that `repr` shows."""


class MPArray:
    """An array of multiple-precision numbers: integers of many limbs times one power of two.

    It is made by ``MPArray.from_float``, ``from_components``, ``from_mpfr``, ``from_mpmath``, ``from_flint``,
    ``from_fractions`` or ``from_strings``, and never changes.

    Attributes
    ----------
    limbs : uint64 array, shape (*shape, L)
        Integers in two's complement, the least significant limb first, contiguous in C order.
    exponent : int
        An entry is integer * 2**exponent.

    Notes
    -----
    All entries share the exponent, so the limbs are as many as the distance from the highest bit of the largest entry
    to the lowest bit of any asks for: ``[1e300, 1e-300]`` takes 33 limbs an entry. What does not fit the workspace
    limit raises `WorkspaceError`.

    Sums, differences and products with a number are exact, and comparisons go by value, entry by entry. Indexing
    gives an `MPArray` again, of no axes for an entry. Nothing converts to an array of floats unasked: ``np.asarray``
    and functions of NumPy raise TypeError.

    Examples
    --------
    >>> import exactla as xl
    >>> x = xl.MPArray.from_strings([["0.1", "2"], ["-1/3", "1e-3"]], precision=200)
    >>> x
    MPArray([[0.1, 2], [-0.33333333333333333, 0.001]], 200 bits * 2**-209)
    >>> x.to_strings(digits=50)[0, 0]
    '0.1'
    >>> (x + x == 2 * x).all()
    np.True_
    >>> x.to_float("float32")[1, 0]
    np.float32(-0.33333334)
    """

    __slots__ = ("exponent", "limbs")
    __array_ufunc__ = None  # operators of NumPy arrays leave it to ours
    __hash__ = None  # type: ignore[assignment]

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

    # ---- from other numbers ------------------------------------------------------------------------------------------
    @classmethod
    def from_float(cls, array: Any) -> "MPArray":
        """The exact values of floats or integers.

        Parameters
        ----------
        array : array
            Of any supported library and real type: floats of 8 to 64 bits, bool, and integers of any size.

        Raises
        ------
        TypeError
            The array is of an unknown library or type, or complex.
        NonFiniteError
            An entry is NaN or infinite.
        WorkspaceError
            The exponents are so far apart that the limbs do not fit.
        """
        source = _real(array, "array")
        encodings = source.library.host_encodings(source)
        if isinstance(source.format, BigIntegerFormat):
            return cls._of_integers(encodings, 0)
        numbers = decoded(np.ascontiguousarray(encodings).reshape(-1), source.format)
        _check_finite(numbers, source.name, source.shape)
        return cls._of_parts([numbers], source.shape)

    @classmethod
    def from_components(cls, array: Any) -> "MPArray":
        """The exact sums of double-double, triple-double or quad-double numbers.

        Parameters
        ----------
        array : array of float64, shape (*shape, 2), (*shape, 3) or (*shape, 4)
            The components of each number, the largest first. Each is less than one unit in the last place of the one
            before it, and only zeros follow a zero.

        Raises
        ------
        TypeError
            The entries are not float64.
        ValueError
            The last axis has another length, or the components of a number overlap.
        NonFiniteError
            An entry is NaN or infinite.
        WorkspaceError
            The exponents are so far apart that the limbs do not fit.
        """
        source = _real(array, "array")
        if source.format != FLOAT64:
            raise TypeError(f"components are float64, and {source.name} holds {source.format}")
        if not source.shape or source.shape[-1] not in COMPONENTS:
            raise ValueError(f"{source.name} has shape {source.shape}; its last axis holds 2, 3 or 4 components")
        encodings = np.ascontiguousarray(source.library.host_encodings(source)).reshape(-1, source.shape[-1])
        _check_finite(decoded(encodings.reshape(-1), FLOAT64), source.name, source.shape)
        parts = [decoded(np.ascontiguousarray(column), FLOAT64) for column in encodings.T]
        shape = source.shape[:-1]
        if (wrong := expansions.first_overlap(parts)) >= 0:
            index = tuple(int(i) for i in np.unravel_index(wrong, shape))
            values = encodings[wrong].view(np.float64).tolist()
            raise ValueError(
                f"the components of {source.name}[{', '.join(map(str, index))}] overlap: {values}; each has to be less "
                "than one unit in the last place of the one before it"
            )
        return cls._of_parts(parts, shape)

    @classmethod
    def from_mpfr(cls, array: Any) -> "MPArray":
        """The exact values of ``gmpy2.mpfr`` numbers; nested lists and object arrays of them, and of integers."""
        return cls._of_objects(array, dyadics.exact, "numbers are gmpy2.mpfr, or of other exact types")

    @classmethod
    def from_mpmath(cls, array: Any) -> "MPArray":
        """The exact values of ``mpmath.mpf`` numbers: an ``mpmath.matrix``, nested lists or an object array."""
        return cls._of_objects(array, dyadics.exact, "numbers are mpmath.mpf, or of other exact types")

    @classmethod
    def from_flint(cls, array: Any, precision: int | None = None) -> "MPArray":
        """Midpoints of python-flint balls, and exact numbers.

        Parameters
        ----------
        array : flint.arb_mat, fmpz_mat or fmpq_mat, nested list or object array
            Of ``arb``, of which the radius is left out, ``fmpz`` and ``fmpq``.
        precision : int, optional
            As in `from_fractions`.
        """
        return cls._of_objects(array, _reader(precision), "numbers are of python-flint: arb, fmpz or fmpq")

    @classmethod
    def from_fractions(cls, array: Any, precision: int | None = None) -> "MPArray":
        """Rational numbers, exactly or rounded once.

        Parameters
        ----------
        array : nested list or object array
            Of Fractions, ``gmpy2.mpq``, integers and other exact numbers.
        precision : int, optional
            Significant bits to which every entry is rounded: to nearest, ties to even. Without it all have to be
            integers times powers of two.

        Raises
        ------
        TypeError
            An entry is no number.
        ValueError
            Without a precision, an entry is no integer times a power of two; or the precision is below 2.
        NonFiniteError
            An entry is NaN or infinite.
        WorkspaceError
            The exponents are so far apart that the limbs do not fit.
        """
        return cls._of_objects(array, _reader(precision), "numbers are Fractions, or of other exact types")

    @classmethod
    def from_strings(cls, array: Any, precision: int) -> "MPArray":
        """Decimal numerals such as "-1.5e-3", and ratios such as "1/3", rounded once.

        Parameters
        ----------
        array : nested list or array of str
            The numerals.
        precision : int
            Significant bits to which every entry is rounded: to nearest, ties to even.

        Raises
        ------
        TypeError
            An entry is no string.
        ValueError
            An entry is no numeral, or the precision is below 2.
        WorkspaceError
            The exponents are so far apart that the limbs do not fit.
        """
        rounder = dyadics.Rounder(checked_precision(precision))

        def read_one(text: Any) -> dyadics.Dyadic:
            if not isinstance(text, str):
                raise TypeError
            return rounder.of_text(text)

        return cls._of_objects(array, read_one, "numerals are strings")

    @classmethod
    def _of_objects(cls, array: Any, read_one: Any, accepted: str) -> "MPArray":
        return cls._of(*mp_objects.read(mp_objects.as_objects(array, "array"), "array", read_one, accepted))

    @classmethod
    def _of_parts(cls, parts: list[Numbers], shape: tuple[int, ...]) -> "MPArray":
        """The sums of components that do not overlap, each a flat array."""
        needed = expansions.extent(parts)
        check_room(len(parts[0].significand), needed.limbs)
        limbs = trimmed(expansions.sums(parts, needed))
        return cls._of(limbs.reshape(*shape, limbs.shape[-1]), needed.exponent)

    @classmethod
    def _of_integers(cls, integers: NDArray[np.object_], exponent: int) -> "MPArray":
        """The array of Python integers, an object array, times 2**exponent."""
        count = limbs_needed(integers.ravel().tolist())
        check_room(integers.size, count)
        return cls._of(to_limbs(integers, count), exponent)

    # ---- to other numbers --------------------------------------------------------------------------------------------
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
        numpy.ndarray
            Of the same shape.
        """
        format = _float_format(dtype)
        words = expansions.encodings(self._flat(), self.exponent, format, _rounding(rounding))
        return float_bits.typed(words.astype(float_bits.encoding_type(format)), format).reshape(self.shape)

    def to_components(self, count: int) -> NDArray[np.float64]:
        """Every entry as a double-double, triple-double or quad-double number.

        Parameters
        ----------
        count : {2, 3, 4}
            Number of components.

        Returns
        -------
        float64 array, shape (*shape, count)
            Each component is the nearest float64, ties to even, to what those before it leave of the entry.

        Raises
        ------
        OverflowError
            An entry is beyond the largest float64.
        """
        if count not in COMPONENTS:
            raise ValueError(f"a number has 2, 3 or 4 components, got {count}")
        words = expansions.components(self._flat(), self.exponent, count)
        beyond = (words & np.uint64((1 << 63) - 1)) > FLOAT64.largest
        if beyond.any():
            place = np.unravel_index(int(beyond.any(axis=1).argmax()), self.shape)
            raise OverflowError(f"entry {[int(i) for i in place]} is beyond the largest float64")
        return words.view(np.float64).reshape(*self.shape, count)

    def to_mpfr(self, precision: int | None = None) -> NDArray[np.object_]:
        """An object array of ``gmpy2.mpfr``, exact, or rounded once to a precision (to nearest, ties to even)."""
        wanted = max(self.bits, dyadics.LEAST_PRECISION) if precision is None else checked_precision(precision)
        return mp_objects.to_mpfr(self._integers(), self.exponent, wanted)

    def to_mpmath(self, precision: int | None = None) -> NDArray[np.object_]:
        """An object array of ``mpmath.mpf``, exact, or rounded once to a precision (to nearest, ties to even)."""
        wanted = None if precision is None else checked_precision(precision)
        return mp_objects.to_mpmath(self._integers(), self.exponent, wanted)

    def to_flint(self) -> Any:
        """A ``flint.arb_mat`` of exact numbers, of one column for a vector; needs python-flint."""
        if self.ndim not in (1, 2):
            raise ValueError(f"a flint matrix has two axes, and the shape is {self.shape}")
        return mp_objects.to_flint(self._integers(), self.exponent)

    def to_fractions(self) -> NDArray[np.object_]:
        """An object array of Fractions: the exact values."""
        scale = Fraction(2) ** self.exponent
        return mapped(self._integers(), lambda v: v * scale)

    def to_strings(self, digits: int | None = None) -> NDArray[np.object_]:
        """An object array of decimal numerals.

        Parameters
        ----------
        digits : int, optional
            Significant digits to which every entry is rounded: to nearest, ties to even. Without it all digits are
            given, of which there are about as many as bits.
        """
        if digits is None:
            return mapped(self._integers(), lambda v: numerals.exact(v, self.exponent))
        wanted = operator.index(digits)
        if wanted < 1:
            raise ValueError(f"a numeral has 1 digit or more, got digits={wanted}")
        return mapped(self._integers(), lambda v: numerals.rounded(v, self.exponent, wanted))

    def tolist(self) -> Any:
        """Nested lists of Fractions; a Fraction for an array without axes."""
        return self.to_fractions().tolist()

    def item(self) -> Fraction:
        """The only entry, as a Fraction."""
        found: Fraction = self.to_fractions().item()
        return found

    def __float__(self) -> float:
        return float(self.reshape(()).to_float())

    def rounded(self, precision: int, rounding: str = "nearest") -> "MPArray":
        """Every entry rounded to so many significant bits.

        Parameters
        ----------
        precision : int
            At least 2.
        rounding : {"nearest", "down", "up", "zero"}
            As in `mm`.
        """
        limbs = mp_arithmetic.rounded(self._flat(), checked_precision(precision), _rounding(rounding))
        return self._of(limbs.reshape(*self.shape, limbs.shape[-1]), self.exponent)

    def normalized(self) -> "MPArray":
        """The same numbers with the largest exponent and, for that, the fewest limbs; 0 for zeros only."""
        if not self.size or not self.limbs.any():
            return self._of(np.zeros((*self.shape, 1), np.uint64), 0)
        spare = int(limb_entries.lowest_bits(self._flat()).min())
        return self._of(trimmed(shifted_down(self.limbs, spare) if spare else self.limbs), self.exponent + spare)

    def _canonical_bytes(self) -> bytes:
        """What `digest` hashes: the same for the same shape and values."""
        normal = self.normalized()
        header = " ".join(map(str, ("mp", self.ndim, *self.shape, normal.exponent, normal.limbs.shape[-1])))
        return f"{header}\n".encode() + normal.limbs.astype("<u8", copy=False).tobytes()

    # ---- shape -------------------------------------------------------------------------------------------------------
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
        return mp_arithmetic.most_bits(self._flat())

    @property
    def nbytes(self) -> int:
        """Bytes of the limbs."""
        return int(self.limbs.nbytes)

    @property
    def T(self) -> "MPArray":
        """The array with its axes in reverse order, copied."""
        return self.transpose()

    def transpose(self, *axes: Any) -> "MPArray":
        """The array with its axes in another order, in reverse without one; copied."""
        order = _axes(axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes, self.ndim)
        return self._of(np.ascontiguousarray(self.limbs.transpose(*order, self.ndim)), self.exponent)

    def reshape(self, *shape: Any) -> "MPArray":
        """The same entries in C order in another shape; one length may be -1."""
        wanted = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        places = np.empty(self.shape, np.bool_).reshape(wanted).shape
        return self._of(self.limbs.reshape(*places, self.limbs.shape[-1]), self.exponent)

    def copy(self) -> "MPArray":
        """A copy with limbs of its own."""
        return self._of(self.limbs.copy(), self.exponent)

    def __copy__(self) -> "MPArray":
        return self.copy()

    def __deepcopy__(self, _: Any) -> "MPArray":
        return self.copy()

    def __reduce__(self) -> Any:
        return MPArray._of, (self.limbs, self.exponent)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("an MPArray without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator["MPArray"]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> "MPArray":
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

    # ---- arithmetic --------------------------------------------------------------------------------------------------
    def __neg__(self) -> "MPArray":
        return self._of(mp_arithmetic.negated(self.limbs), self.exponent)

    def __pos__(self) -> "MPArray":
        return self

    def __abs__(self) -> "MPArray":
        limbs = mp_arithmetic.absolute(self._flat())
        return self._of(limbs.reshape(*self.shape, limbs.shape[-1]), self.exponent)

    def __add__(self, other: Any) -> "MPArray":
        return self._combined(other, mp_arithmetic.added)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "MPArray":
        return self._combined(other, mp_arithmetic.subtracted)

    def __rsub__(self, other: Any) -> "MPArray":
        return (-self)._combined(other, mp_arithmetic.added)

    def _combined(self, other: Any, combine: Any) -> "MPArray":
        right = _operand(other)
        if right is None:
            return NotImplemented  # type: ignore[no-any-return]
        left, limbs, exponent = self._aligned(right)
        return self._of(combine(left, limbs), exponent)

    def __mul__(self, factor: Any) -> "MPArray":
        if isinstance(factor, MPArray) and factor.ndim:
            raise TypeError("an MPArray is multiplied by a number; exactla.mp_mm multiplies matrices")
        scale = _operand(factor)
        if scale is None or scale.ndim:
            return NotImplemented
        number = scale.normalized()
        multiplier = int(from_limbs(number.limbs).item())
        limbs = mp_arithmetic.multiplied(self._flat(), multiplier)
        return self._of(limbs.reshape(*self.shape, limbs.shape[-1]), self.exponent + number.exponent)

    __rmul__ = __mul__

    def scaled(self, exponent: int) -> "MPArray":
        """Every entry times 2**exponent, exactly; the limbs are shared."""
        return self._of(self.limbs, self.exponent + operator.index(exponent))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, lambda x, y: (x == y).all(axis=-1))

    def __ne__(self, other: object) -> Any:
        return self._compared(other, lambda x, y: (x != y).any(axis=-1))

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, mp_arithmetic.is_less)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, lambda x, y: mp_arithmetic.is_less(y, x))

    def __le__(self, other: Any) -> Any:
        return self._compared(other, lambda x, y: ~mp_arithmetic.is_less(y, x))

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, lambda x, y: ~mp_arithmetic.is_less(x, y))

    def _compared(self, other: Any, compare: Any) -> Any:
        right = _operand(other)
        if right is None:
            return NotImplemented
        left, limbs, _ = self._aligned(right)
        found = compare(left, limbs)
        return found if found.ndim else np.bool_(found)

    def _aligned(self, other: "MPArray") -> tuple[Limbs, Limbs, int]:
        """Limbs of equal count of both in units of one power of two, which sums of theirs do not overflow."""
        try:
            shape = np.broadcast_shapes(self.shape, other.shape)
        except ValueError:
            raise ValueError(f"arrays of shapes {self.shape} and {other.shape} do not broadcast") from None
        sides = [(side.limbs, side.exponent, side.size) for side in (self, other)]
        exponent, count = mp_arithmetic.common_unit([(limbs, e) for limbs, e, _ in sides])
        check_room(int(np.prod(shape, dtype=object)), count)
        left, right = (mp_arithmetic.in_unit(limbs, e, exponent, count) for limbs, e, _ in sides)
        return left, right, exponent

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


def _operand(value: Any) -> MPArray | None:
    """The other side of an operator: an array or a number of an exact value; None for what is no number."""
    if isinstance(value, MPArray):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return MPArray.from_float(value)
    if isinstance(value, (list, tuple, str, bytes)) or value is None:
        return None
    try:
        return MPArray._of_objects(value, dyadics.exact, "")
    except TypeError:
        return None


def _real(array: Any, name: str) -> Source:
    source = read(array, name)
    if source.complex:
        raise TypeError(f"{name} holds complex entries; an MPArray holds real numbers")
    return source


def _check_finite(numbers: Numbers, name: str, shape: tuple[int, ...]) -> None:
    if not numbers.finite.all():
        place = np.unravel_index(int((~numbers.finite).argmax()), shape)
        raise NonFiniteError(name, tuple(int(i) for i in place))


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


def checked_precision(precision: int) -> int:
    """A precision as an integer, or the error that says what is wrong with it."""
    try:
        bits = operator.index(precision)
    except TypeError:
        raise TypeError(f"a precision is a number of bits, got a {type_name(precision)}") from None
    if bits < dyadics.LEAST_PRECISION:
        raise ValueError(f"a precision is of {dyadics.LEAST_PRECISION} bits or more, got {bits}")
    return bits


def _reader(precision: int | None) -> Any:
    return dyadics.exact if precision is None else dyadics.Rounder(checked_precision(precision))


def _axes(axes: Any, ndim: int) -> tuple[int, ...]:
    order = tuple(operator.index(a) % ndim for a in axes) if axes else tuple(reversed(range(ndim)))
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"axes {axes} are no order of {ndim} axes")
    return order
