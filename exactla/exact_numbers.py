"""Exact numbers of every kind on their way into a solver: arrays of all libraries, `MPArray`, nested lists, objects.

A float is the dyadic number that it is. Every entry is read once, and the caller's array is not looked at again.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import gmpy2
import numpy as np

from exactla.arrays import Source, read
from exactla.core import dyadics
from exactla.core.decoding import decoded
from exactla.core.scaling import Integers, RationalRows, common_denominator, compact
from exactla.errors import NonFiniteError
from exactla.formats import FloatFormat
from exactla.libraries.base import type_name
from exactla.multiprecision.mparray import MPArray
from exactla.multiprecision.places import HOST

_FLINT_MATRICES = ("fmpz_mat", "fmpq_mat")


@dataclass(frozen=True)
class ExactArray:
    """A matrix of rational numbers, the shape that it was passed in, and the array that results are to be like."""

    rows: RationalRows
    shape: tuple[int, ...]
    like: Source
    listed: bool = False
    """Whether it was lists or objects, or numbers of the host, which go with arrays of any library."""


def read_exact(array: Any, name: str, dimensions: tuple[int, ...] = (2,)) -> ExactArray:
    """Read an argument of numbers; a vector becomes a matrix of one column.

    Raises
    ------
    TypeError
        The array is of an unknown library, or an entry is no real number.
    ValueError
        The number of axes is another, or nested lists differ in length.
    NonFiniteError
        An entry is NaN or infinite.
    OverflowError, WorkspaceError
        The exponent of an `MPArray` or of an entry is so far from 0 that it is too long for rational numbers.
    """
    if isinstance(array, MPArray):
        return _from_mparray(array, name, dimensions)
    if type(array).__name__ in _FLINT_MATRICES and type(array).__module__.startswith("flint"):
        array = np.array(array.tolist(), object).reshape(array.nrows(), array.ncols())
    if isinstance(array, (list, tuple)) or (type(array) is np.ndarray and array.dtype.hasobject):
        return _from_objects(_as_objects(array, name), name, dimensions)
    source = read(array, name)
    if source.complex:
        raise TypeError(f"{name} holds complex entries; exact numbers are real")
    shape = _checked(source.shape, name, dimensions)
    encodings = source.library.host_encodings(source).reshape(shape)
    if isinstance(source.format, FloatFormat):
        rows = _from_floats(encodings, source.format, name, source.shape)
    else:
        rows = RationalRows(compact(np.array(encodings, np.uint64 if encodings.dtype == np.uint64 else np.int64)), None)
    return ExactArray(rows, source.shape, source)


def _checked(shape: tuple[int, ...], name: str, dimensions: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of an array of that shape."""
    if len(shape) not in dimensions:
        wanted = " or ".join(map(str, dimensions))
        raise ValueError(f"{name} has shape {shape}; it must have {wanted} ax{'es' if max(dimensions) > 1 else 'is'}")
    return shape[0], shape[1] if len(shape) == 2 else 1


def _from_mparray(array: MPArray, name: str, dimensions: tuple[int, ...]) -> ExactArray:
    shape = _checked(array.shape, name, dimensions)
    integers, exponent = array._written_out(f"an entry of {name} as a rational number")
    scales = [gmpy2.mpq(2) ** exponent] * shape[0] if exponent else None
    # results are floats where the limbs are
    like = read(array.reshape(-1)[:0].to_float(), name)
    return ExactArray(
        RationalRows(compact(integers.reshape(shape)), scales), array.shape, like, listed=array.device == HOST
    )


def _as_objects(array: Any, name: str) -> Integers:
    if type(array) is np.ndarray:
        return array
    message = f"{name} is ragged: its nested lists differ in length"
    try:
        found: Integers = np.array(array, dtype=object)
    except ValueError as error:
        raise ValueError(message) from error
    if any(isinstance(entry, (list, tuple)) for entry in found.flat):
        raise ValueError(message)
    return found


def _from_objects(array: Integers, name: str, dimensions: tuple[int, ...]) -> ExactArray:
    # an empty list has one axis, whatever was meant
    given = (0, 0) if array.shape == (0,) and 1 not in dimensions else array.shape
    shape = _checked(given, name, dimensions)
    like = read(np.zeros(0), name)
    entries = array.reshape(shape)
    if set(map(type, entries.ravel().tolist())) <= {int}:
        return ExactArray(RationalRows(compact(entries.copy()), None), given, like, listed=True)
    ratios = [[_ratio(x, name, given, (i, j)) for j, x in enumerate(row)] for i, row in enumerate(entries)]
    divisors = [common_denominator(row) for row in ratios]
    integers = np.empty(shape, object)
    for i, (row, divisor) in enumerate(zip(ratios, divisors, strict=True)):
        integers[i] = [int(x * divisor) for x in row]
    scales = None if all(d == 1 for d in divisors) else [gmpy2.mpq(1, d) for d in divisors]
    return ExactArray(RationalRows(compact(integers), scales), given, like, listed=True)


def _ratio(entry: Any, name: str, shape: tuple[int, ...], index: tuple[int, int]) -> Any:
    """The rational number that an entry is, as a gmpy2.mpq."""
    if isinstance(entry, (Integral, np.bool_)):
        return gmpy2.mpq(int(entry))
    where = f"{name}[{', '.join(map(str, index[: len(shape)]))}]"
    kind = type(entry)
    if kind.__module__.startswith("flint") and kind.__name__ not in ("fmpz", "fmpq"):
        raise TypeError(f"{where} is a {type_name(entry)}; exact numbers are integers, rationals and floats")
    try:
        return gmpy2.mpq(*dyadics.ratio(entry))
    except dyadics.NotFiniteError:
        raise NonFiniteError(name, index[: len(shape)]) from None
    except OverflowError as error:
        raise OverflowError(f"{where}: {error}") from None
    except TypeError:
        if hasattr(entry, "numerator") and hasattr(entry, "denominator"):
            return gmpy2.mpq(int(entry.numerator), int(entry.denominator))
        raise TypeError(f"{where} is a {type_name(entry)}; exact numbers are integers, rationals and floats") from None


def _from_floats(encodings: Integers, format: FloatFormat, name: str, shape: tuple[int, ...]) -> RationalRows:
    """Every row as integers times a power of two."""
    numbers = decoded(encodings, format)
    if not numbers.finite.all():
        raise NonFiniteError(name, tuple(int(i) for i in np.argwhere(~numbers.finite.reshape(shape))[0]))
    negative, significand, exponent = numbers.negative, numbers.significand.astype(np.int64), numbers.exponent
    significand, exponent = _odd(significand, exponent)
    significand[negative] *= -1
    lowest = np.where(significand != 0, exponent, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    lowest[lowest == np.iinfo(np.int64).max] = 0
    shift = np.where(significand != 0, exponent - lowest[:, None], 0)
    if (shift + format.precision).max(initial=0) < 63:
        integers = significand << shift
    else:
        integers = significand.astype(object) << shift.astype(object)
    scales = [gmpy2.mpq(2) ** int(e) for e in lowest] if lowest.any() else None
    return RationalRows(compact(integers), scales)


def _odd(significand: Integers, exponent: Integers) -> tuple[Integers, Integers]:
    """The same numbers with odd significands; 0 stays."""
    below = (significand & -significand) - 1
    trailing = np.where(below >= 0, np.bitwise_count(below), 0).astype(np.int64)
    return significand >> trailing, exponent + trailing
