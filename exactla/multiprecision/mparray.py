"""`MPArray`: arrays of integers of many limbs times one power of two.

Conversions of floats work on bit patterns in NumPy, those of objects entry by entry (`exactla.multiprecision.objects`).
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactla.arguments import integer
from exactla.arrays import is_array, read
from exactla.backend import Buffer, Multiprecision
from exactla.core import dyadics
from exactla.core.limbs import LIMB, from_limbs, limbs_needed, to_limbs, trimmed
from exactla.errors import NonFiniteError
from exactla.formats import FLOAT64, BigIntegerFormat, FloatFormat
from exactla.libraries import bits as float_bits
from exactla.libraries.base import Source
from exactla.multiprecision import arithmetic, objects, places
from exactla.multiprecision.conversions import COMPONENTS, Convertible
from exactla.multiprecision.limits import check_room, checked_precision
from exactla.multiprecision.places import HOST


class MPArray(Convertible):
    """An array of multiple-precision numbers: integers of many limbs times one power of two.

    It is made by ``MPArray.from_float``, ``from_components``, ``from_mpfr``, ``from_mpmath``, ``from_flint``,
    ``from_fractions`` or ``from_strings``, and never changes.

    Attributes
    ----------
    limbs : uint64 array, shape (..., L)
        Integers in two's complement, the least significant limb first, contiguous in C order; read-only. On a CUDA
        device they are a CuPy array, wherever the caller's floats came from (PyTorch, say), and on the host NumPy's.
    exponent : int
        An entry is integer * 2**exponent.

    Notes
    -----
    All entries share the exponent, so the limbs are as many as the distance from the highest bit of the largest entry
    to the lowest bit of any asks for: ``[1e300, 1e-300]`` takes 33 limbs an entry. What does not fit the workspace
    limit raises `WorkspaceError`.

    Sums, differences and products with a number are exact, and comparisons go by value, entry by entry, with rational
    and decimal numbers and infinities too; a NaN raises `NonFiniteError`. Indexing gives an `MPArray` again, of no axes
    for an entry. Nothing converts to an array of floats unasked: ``np.asarray``
    and functions of NumPy raise TypeError.

    Numbers made of an array on a device live there, and so does what is computed of them; ``to_device`` moves them.
    Operators take arrays of one device, and numbers. What is made entry by entry (``abs``, directed rounding, and all
    conversions to and from other numbers) is made on the host: the limbs are copied to it, and the result back.

    Examples
    --------
    >>> import exactla as xl
    >>> x = xl.MPArray.from_strings([["0.1", "2"], ["-1/3", "1e-3"]], precision=200)
    >>> x
    MPArray([[0.1, 2], [-0.33333333333333333, 0.001]], 211 bits * 2**-209)
    >>> x.to_strings(digits=50)[0, 0]
    '0.1'
    >>> (x + x == 2 * x).all()
    np.True_
    >>> x.to_float("float32")[1, 0]
    np.float32(-0.33333334)
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    limbs: Buffer
    exponent: int

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
        source = read(array, "array")
        _check_real(source)
        encodings = source.library.host_encodings(source)
        if isinstance(source.format, BigIntegerFormat):
            return cls._of_integers(encodings, 0)
        words = np.ascontiguousarray(encodings).reshape(-1, 1)
        _check_finite(words, source)
        return cls._of_sums(words, source, source.shape)

    @classmethod
    def from_components(cls, array: Any) -> "MPArray":
        """The exact sums of double-double, triple-double or quad-double numbers.

        Parameters
        ----------
        array : array of float64, shape (..., 2), (..., 3) or (..., 4)
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
        return cls._of_components(read(array, "array"))

    @classmethod
    def _of_components(cls, source: Source) -> "MPArray":
        _check_real(source)
        if source.format != FLOAT64:
            raise TypeError(f"components are float64, and {source.name} holds {source.format}")
        if not source.shape or source.shape[-1] not in COMPONENTS:
            raise ValueError(f"{source.name} has shape {source.shape}; its last axis holds 2, 3 or 4 components")
        encodings = np.ascontiguousarray(source.library.host_encodings(source)).reshape(-1, source.shape[-1])
        _check_finite(encodings, source)
        shape = source.shape[:-1]
        if (wrong := places.expansions().first_overlap(encodings)) >= 0:
            index = tuple(int(i) for i in np.unravel_index(wrong, shape))
            values = encodings[wrong].view(np.float64).tolist()
            raise ValueError(
                f"the components of {source.name}[{', '.join(map(str, index))}] overlap: {values}; each has to be less "
                "than one unit in the last place of the one before it"
            )
        return cls._of_sums(encodings, source, shape)

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
            Of Fractions, ``gmpy2.mpq``, integers, decimals and other exact numbers.
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
        OverflowError
            Without a precision, a decimal number takes more than 2**28 bits.
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
    def _of_objects(cls, array: Any, read_one: Any, accepted: str, name: str = "array") -> "MPArray":
        return cls._of(*objects.read(objects.as_objects(array, name), name, read_one, accepted))

    @classmethod
    def _of_sums(cls, words: NDArray[Any], source: Source, shape: tuple[int, ...]) -> "MPArray":
        """The sums of rows of encodings of an array, of components that do not overlap, on its device."""
        conversions = places.expansions()
        needed = conversions.extent(words, source.format)
        check_room(len(words), needed.limbs)
        limbs = trimmed(conversions.sums(words, source.format, needed))
        return cls._of(places.beside(limbs.reshape(*shape, limbs.shape[-1]), source), needed.exponent)

    @classmethod
    def _of_integers(cls, integers: NDArray[np.object_], exponent: int) -> "MPArray":
        """The array of Python integers, an object array, times 2**exponent."""
        count = limbs_needed(integers.ravel().tolist())
        check_room(integers.size, count)
        return cls._of(to_limbs(integers, count), exponent)

    # ---- arithmetic --------------------------------------------------------------------------------------------------
    def __neg__(self) -> "MPArray":
        with self._scope():
            return self._of(arithmetic.negated(self._verbs, self.limbs), self.exponent)

    def __pos__(self) -> "MPArray":
        return self

    def __abs__(self) -> "MPArray":
        with self._scope():
            limbs = arithmetic.absolute(self._verbs, self._flat())
        return self._of(limbs.reshape(*self.shape, limbs.shape[-1]), self.exponent)

    def __add__(self, other: Any) -> "MPArray":
        return self._combined(other, "add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> "MPArray":
        return self._combined(other, "subtract")

    def __rsub__(self, other: Any) -> "MPArray":
        return (-self)._combined(other, "add")

    def _combined(self, other: Any, verb: Literal["add", "subtract"]) -> "MPArray":
        right = _operand(other)
        if right is None:
            return NotImplemented  # type: ignore[no-any-return]
        left, right = _on_one_device(self, right)
        with left._scope():
            verbs = left._verbs
            x, y, exponent = _aligned(verbs, left, right)
            found = verbs.add(x, y, x.shape[-1]) if verb == "add" else verbs.subtract(x, y, x.shape[-1])
            return self._of(arithmetic.fitted(verbs, found), exponent)

    def __mul__(self, factor: Any) -> "MPArray":
        if isinstance(factor, MPArray) and factor.ndim:
            if not self.ndim:
                return factor * self
            raise TypeError("an MPArray is multiplied by a number; the operator @ and exactla.mp_mm multiply matrices")
        scale = _operand(factor)
        if scale is None or scale.ndim:
            return NotImplemented
        if scale.device != HOST:
            check_one_device(self, "an MPArray", scale, "its factor")
        number, exponent = scale._normal_form()
        multiplier = int(from_limbs(number).item())
        with self._scope():
            limbs = arithmetic.multiplied(self._verbs, self._flat(), multiplier)
        return self._of(limbs.reshape(*self.shape, limbs.shape[-1]), self.exponent + exponent)

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> "MPArray":
        return _matmul(self, _operand(other))

    def __rmatmul__(self, other: Any) -> "MPArray":
        return _matmul(_operand(other), self)

    def scaled(self, exponent: int) -> "MPArray":
        """Every entry times 2**exponent, exactly; the limbs are shared."""
        return self._of(self.limbs, self.exponent + integer(exponent, "an exponent"))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, lambda signs: signs == 0)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, lambda signs: signs != 0)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, lambda signs: signs < 0)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, lambda signs: signs > 0)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, lambda signs: signs <= 0)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, lambda signs: signs >= 0)

    def _compared(self, other: Any, told_by: Any) -> Any:
        """A bool for each entry, told by the sign of the difference, in an array of the limbs' library."""
        try:
            right = _operand(other)
        except (ValueError, OverflowError):  # numbers that no array holds
            right = _standing_in(other, self)
        if right is None:
            return NotImplemented
        left, right = _on_one_device(self, right)
        with left._scope():
            x, y, _ = _aligned(left._verbs, *_brought_near(left, right))
            return told_by(left._verbs.compare(x, y))


def _on_one_device(*operands: MPArray) -> tuple[MPArray, ...]:
    """Operands, of which a number of the host goes to the device of the other one.

    Raises
    ------
    ValueError
        Arrays are on different devices.
    """
    first, second = operands
    if first.device != second.device:
        for number, other in (operands, operands[::-1]):
            if not number.ndim and number.device == HOST:
                with other._scope():
                    there = MPArray._of(other._verbs.upload(number.limbs), number.exponent)
                return (there, second) if number is first else (first, there)
    check_one_device(first, "an MPArray", second, "the other operand")
    return operands


def _brought_near(left: MPArray, right: MPArray) -> tuple[MPArray, MPArray]:
    """Arrays that compare as these do: beyond all bits of the others, numbers but 0 are longer at any distance."""
    distance = left.exponent - right.exponent
    if distance < 0:
        right, left = _brought_near(right, left)
    elif distance > LIMB * right.limbs.shape[-1]:
        left = left._of(left.limbs, right.exponent + LIMB * right.limbs.shape[-1])
    return left, right


def _aligned(verbs: Multiprecision, left: MPArray, right: MPArray) -> tuple[Buffer, Buffer, int]:
    """Limbs of equal count and shape of both in units of one power of two, which sums of theirs do not overflow."""
    try:
        shape = np.broadcast_shapes(left.shape, right.shape)
    except ValueError:
        raise ValueError(f"arrays of shapes {left.shape} and {right.shape} do not broadcast") from None
    sides = [(side.limbs, side.exponent) for side in (left, right)]
    exponent, count = arithmetic.common_unit(verbs, sides)
    check_room(int(np.prod(shape, dtype=object)), count, verbs)
    x, y = (
        arithmetic.broadcast(verbs, arithmetic.in_unit(verbs, limbs, e - exponent, count), shape) for limbs, e in sides
    )
    return x, y, exponent


def check_one_device(first: MPArray, name: str, other: MPArray, other_name: str) -> None:
    """Raise where two arrays are on different devices."""
    if first.device != other.device:
        raise ValueError(
            f"{name} is on device {first.device} and {other_name} is on device {other.device}; "
            "move one of them with to_device"
        )


def _matmul(left: MPArray | None, right: MPArray | None) -> MPArray:
    if left is None or right is None:
        return NotImplemented  # type: ignore[no-any-return]
    from exactla.multiprecision.products import multiplied

    return multiplied(left, right, None)[0]


def _operand(value: Any) -> MPArray | None:
    """The other side of an operator: an array or a number of an exact value; None for what is no number."""
    if isinstance(value, MPArray):
        return value
    if isinstance(value, (list, tuple, str, bytes)) or value is None:
        return None
    if is_array(value) and not (isinstance(value, np.ndarray) and value.dtype.hasobject):
        return MPArray.from_float(value)
    try:
        return MPArray._of_objects(value, dyadics.exact, "", objects.OPERAND)
    except TypeError:
        return None


def _standing_in(value: Any, compared: MPArray) -> MPArray:
    """Numbers that compare with an array as other ones do which no array holds: infinities, and 1/3 or 0.1.

    Raises
    ------
    NonFiniteError
        One of them is a NaN.
    OverflowError
        One is a decimal number that is too long to be written out.
    """
    name, source = objects.OPERAND, None
    if is_array(value) and not (isinstance(value, np.ndarray) and value.dtype.hasobject):
        source = read(value, "array")
        _check_real(source)
        name, encodings = source.name, source.library.host_encodings(source)
        value = float_bits.typed(encodings, source.format) if isinstance(source.format, FloatFormat) else encodings
    exponent, bits = compared.exponent, compared.bits
    try:
        found = MPArray._of_objects(value, lambda x: dyadics.standing_in(x, exponent, bits), "numbers are exact", name)
    except NonFiniteError as fault:
        raise NonFiniteError(fault.operand, fault.index, "a NaN compares with no number") from None
    return found if source is None else MPArray._of(places.beside(found.limbs, source), found.exponent)


def _check_real(source: Source) -> None:
    if source.complex:
        raise TypeError(f"{source.name} holds complex entries; an MPArray holds real numbers")


def _check_finite(words: NDArray[Any], source: Source) -> None:
    if (wrong := places.expansions().first_not_finite(words, source.format)) >= 0:
        raise NonFiniteError(source.name, tuple(int(i) for i in np.unravel_index(wrong, source.shape)))


def _reader(precision: int | None) -> Any:
    return dyadics.exact if precision is None else dyadics.Rounder(checked_precision(precision))
