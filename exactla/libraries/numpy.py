"""NumPy arrays, and the lists and numbers that are taken as such.

Knows NumPy; types of ml_dtypes are met through `exactla.libraries.bits`.
"""

from collections.abc import Iterator
from numbers import Integral, Number
from typing import Any

import numpy as np

from exactla.formats import BIGINT, FloatFormat
from exactla.libraries import bits
from exactla.libraries.base import HostArray, Library, Part, Source, refuse, refuse_subclass, type_name

_INTEGERS = (Integral, np.bool_)


class NumPy(Library):
    """NumPy arrays: `numpy.ndarray` and `numpy.memmap`, nested lists of numbers and numbers alone.

    Other subclasses are refused: what they add (a mask, a unit, another meaning of an operator) would be lost.
    """

    name = "numpy"
    remedy = bits.REMEDY
    beyond = ", or Python integers as objects"

    def read(self, array: Any, name: str) -> Source:
        if type(array) is not np.ndarray:
            array = _as_ndarray(array, name)
        known = bits.describe(array.dtype)
        if known is None:
            array = self._convert(array, name)
            known = bits.describe(array.dtype) or (BIGINT, False)
        return Source(array, name, self, known[0], known[1], array.shape, "cpu", "cpu")

    def _convert(self, array: HostArray, name: str) -> HostArray:
        """An array of supported entries: Python integers, or the native order of another byte order."""
        if array.dtype.kind == "O":
            return _python_integers(array, name)
        if not array.dtype.isnative and bits.describe(array.dtype.newbyteorder("=")):
            # swapped as bytes: a conversion by value could change the payload of a NaN
            return array.byteswap().view(array.dtype.newbyteorder("="))
        raise self.refuse_dtype(name, array.dtype, "cpu")

    def host_encodings(self, source: Source, part: Part = "real") -> HostArray:
        return bits.encodings(source.array, part)

    def from_host(self, encodings: HostArray, format: FloatFormat, like: Source) -> Any:
        return bits.typed(encodings, format)

    def from_host_complex(self, real: HostArray, imag: HostArray, format: FloatFormat, like: Source) -> Any:
        return bits.typed_complex(real, imag, format)

    def from_host_integers(self, values: HostArray, like: Source) -> Any:
        return values

    def holds(self, format_name: str, device: Any) -> bool:
        return bits.exists(format_name)


def _as_ndarray(value: Any, name: str) -> HostArray:
    """The array that an argument other than an ndarray stands for."""
    if isinstance(value, np.memmap):
        return value.view(np.ndarray)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost; pass {name}.filled(...)")
    if isinstance(value, np.ndarray):
        raise refuse_subclass(value, name, f"numpy.asarray({name})")
    return _from_nested(value, name)


def _from_nested(value: Any, name: str) -> HostArray:
    """The array of nested lists or tuples of numbers; no number changes its value."""
    has_integers = False
    for index, leaf in _leaves(value):
        if not (isinstance(leaf, (*_INTEGERS, float, complex, np.generic)) or type(leaf) is np.ndarray):
            if not index:
                raise refuse(leaf, name)
            instead = "; MPArray.from_fractions takes other exact numbers" if isinstance(leaf, Number) else ""
            raise TypeError(
                f"{_entry(name, index)} is a {type_name(leaf)}; nested lists may hold integers, floats, complex "
                f"numbers and NumPy arrays{instead}"
            )
        has_integers = has_integers or isinstance(leaf, (*_INTEGERS, np.ndarray))
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is ragged: its nested lists differ in length") from error
    except TypeError as error:
        raise TypeError(f"{name} holds numbers that have no common type in numpy: {error}") from error
    if array.dtype.kind not in "biuO" and has_integers:
        return _keep_integers(value, array, name)
    return array


def _keep_integers(value: Any, array: HostArray, name: str) -> HostArray:
    """`array`, unless NumPy's choice of a float type has changed one of the integers among its entries."""
    objects = np.array(value, dtype=object)
    integers = [(index, entry) for index, entry in np.ndenumerate(objects) if isinstance(entry, _INTEGERS)]
    if len(integers) == objects.size:
        return objects
    for index, entry in integers:
        if int(entry) != array[index].item():
            raise ValueError(
                f"{_entry(name, index)} = {entry} is no {array.dtype} value, and floats beside it make the array that"
            )
    return array


def _leaves(value: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The entries of nested lists and tuples with their indices. Named tuples are no such lists: they are results."""
    if type(value) is list or type(value) is tuple:
        for position, item in enumerate(value):
            yield from _leaves(item, (*index, position))
    else:
        yield index, value


def _python_integers(array: HostArray, name: str) -> HostArray:
    """An object array of Python integers, not copied where it is one already."""
    if set(map(type, array.ravel().tolist())) <= {int}:
        return array
    integers = np.empty(array.shape, dtype=object)
    for index, entry in np.ndenumerate(array):
        if not isinstance(entry, _INTEGERS):
            raise TypeError(
                f"{_entry(name, index)} is a {type_name(entry)}; object arrays, and lists with an integer beyond 64 "
                "bits, may hold integers only"
            )
        integers[index] = int(entry)
    return integers


def _entry(name: str, index: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


LIBRARY = NumPy()
