"""Between the suite's encodings and NumPy arrays. Bit patterns only: no value is ever converted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from exactla_conformance.encodings import COMPLEX, FLOATS, INTEGERS, Encoded, part_format

Array = np.ndarray[Any, np.dtype[Any]]

_NUMPY_FLOATS = ("float64", "float32", "float16")


def dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a format; ImportError where it takes ml_dtypes and that is missing."""
    if name == "int":
        return np.dtype(object)
    if name in COMPLEX or name in INTEGERS or name in _NUMPY_FLOATS:
        return np.dtype(name)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def to_array(encoded: Encoded) -> Array:
    """A NumPy array of these encodings, laid out as they ask."""
    entries, name = encoded.entries, encoded.format
    if name in INTEGERS:
        array = np.array(entries, dtype=dtype(name))
    else:
        array = np.array(entries, dtype=f"u{part_format(name).bits // 8}").view(dtype(name))
    return _LAYOUTS[encoded.layout](array.reshape(encoded.shape))


def _reversed(array: Array) -> Array:
    back = (slice(None, None, -1),) * array.ndim
    return array[back].copy()[back]


def _strided(array: Array) -> Array:
    for axis in range(array.ndim):
        array = np.repeat(array, 2, axis)
    return array[(slice(None, None, 2),) * array.ndim]


def _readonly(array: Array) -> Array:
    array.setflags(write=False)
    return array


def _offset(array: Array) -> Array:
    """At an address that is no multiple of the item size."""
    buffer = bytearray(1) + array.tobytes()
    return np.frombuffer(buffer, array.dtype, offset=1).reshape(array.shape)


_LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": lambda array: array,
    "F": np.asfortranarray,
    "reversed": _reversed,
    "strided": _strided,
    "readonly": _readonly,
    "offset": _offset,
    "repeated": lambda array: np.broadcast_to(array[:1], array.shape),
}


def from_array(value: Any) -> Encoded:
    """The encodings of an array or a NumPy scalar, every NaN made the canonical one."""
    array = np.asarray(value)
    name = "int" if array.dtype == object else array.dtype.name
    flat = np.ascontiguousarray(array.reshape(-1))
    if name in INTEGERS:
        return Encoded(name, array.shape, [int(entry) for entry in flat.tolist()])
    format = FLOATS[COMPLEX.get(name, name)]
    return Encoded(name, array.shape, format.canonical(flat.view(f"u{format.bits // 8}").tolist()))
