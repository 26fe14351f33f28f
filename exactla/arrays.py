"""The border between the caller's arrays and exactla: whose array is it, what do its entries mean, where does it live.

A library is found by the type of the array, among those that its own file in `exactla.libraries` describes, and only
when the array exists: the caller has imported the library by then, and exactla never does so first.
"""

import importlib
import importlib.util
from functools import cache
from typing import Any

import numpy as np

from exactla.formats import FLOAT32, FLOAT64, FLOAT_FORMATS, INTEGER_FORMATS, FloatFormat
from exactla.libraries.base import HostArray, Library, Part, Source, refuse
from exactla.libraries.bits import last_name

__all__ = ["HostArray", "Library", "Part", "Source", "agree", "agree_where_arrays", "dtype_format", "is_array", "read"]

# the package that defines a type, and the file in exactla.libraries that reads its instances
_READERS = {
    "array_api_strict": "array_api_strict",
    "cupy": "cupy",
    "dpnp": "dpnp",
    "gmpy2": "numpy",
    "jax": "jax",
    "jaxlib": "jax",
    "ml_dtypes": "numpy",
    "numpy": "numpy",
    "torch": "torch",
}
_CUDA = (2, 13)  # kDLCUDA and kDLCUDAManaged of DLPack
_NUMBERS = (list, tuple, int, float, complex)


def read(array: Any, name: str) -> Source:
    """Check an operand and describe it.

    Parameters
    ----------
    array : array or nested list
        What the caller passed. It is not copied, unless it is a list, has a foreign byte order, or is an object array
        of integers other than Python's.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    Source
        The description.

    Raises
    ------
    TypeError
        The array is of an unknown library, or its entries are of a type that is not supported.
    ValueError
        The array is a tensor that requires grad, is spread over devices, or is a ragged list.
    """
    library = _library_of(type(array))  # type: ignore[arg-type]  # mypy takes no class for hashable
    if library is None:
        if not _exchangeable(array):
            raise refuse(array, name)
        library = _load("dlpack")
    return library.read(array, name)


def is_array(value: Any) -> bool:
    """Whether a value is an array of a supported library, by its type; numbers and nested lists are none."""
    if not hasattr(value, "dtype") or isinstance(value, np.generic):
        return False
    kind = type(value)
    return _library_of(kind) is not None or _exchangeable(value)  # type: ignore[arg-type]  # as in `read`


@cache
def _library_of(kind: type) -> Library | None:
    for ancestor in kind.__mro__:
        reader = _READERS.get(ancestor.__module__.partition(".")[0])
        if reader is not None or ancestor in _NUMBERS:
            return _load(reader or "numpy")
    return None


def _load(reader: str) -> Library:
    library: Library = importlib.import_module(f"exactla.libraries.{reader}").LIBRARY
    return library


def _exchangeable(array: Any) -> bool:
    """Whether an array of an unknown library is on a CUDA device, where CuPy can take it over by DLPack."""
    device = getattr(type(array), "__dlpack_device__", None)
    return device is not None and device(array)[0] in _CUDA and importlib.util.find_spec("cupy") is not None


def agree(*sources: Source) -> None:
    """Check that operands can be combined: one library, one device.

    Raises
    ------
    TypeError
        Two operands belong to different libraries.
    ValueError
        Two operands live on different devices.
    """
    first = sources[0]
    for other in sources[1:]:
        if other.library is not first.library:
            raise TypeError(
                f"{first.name} is a {first.library.name} array and {other.name} is a {other.library.name} array; "
                "convert one of them"
            )
        if other.device != first.device:
            # a device of SYCL is a queue, and two of one processor have one name
            queue = " through another queue" if str(first.device) == str(other.device) else ""
            raise ValueError(
                f"{first.name} is on device {first.device} and {other.name} is on device {other.device}{queue}; "
                "move one of them"
            )


def agree_where_arrays(**operands: Any) -> None:
    """As `agree`, for those of the arguments that are arrays of a library, and not of objects."""
    sources = [read(x, name) for name, x in operands.items() if is_array(x) and not _holds_objects(x)]
    if sources:
        agree(*sources)


def _holds_objects(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.hasobject


def dtype_format(dtype: Any, source: Source) -> tuple[FloatFormat, bool]:
    """The format that a `dtype` argument stands for, and whether it is complex.

    Parameters
    ----------
    dtype : dtype, type or str
        A floating-point or complex type of any supported library or of ml_dtypes, or its name.
    source : Source
        An operand: the result will be an array of its library on its device.

    Raises
    ------
    TypeError
        `dtype` is not understood, is not a floating-point type, or is one that the library cannot hold.
    ValueError
        The library can hold it only in another setting (JAX and 64 bits).
    """
    name = _dtype_name(dtype)
    if name in ("complex64", "complex128"):
        format, is_complex = (FLOAT32 if name == "complex64" else FLOAT64), True
    elif name in FLOAT_FORMATS:
        format, is_complex = FLOAT_FORMATS[name], False
    elif name in INTEGER_FORMATS or name == "object":
        raise TypeError(f"dtype={name} is not a floating-point type; exactla.mm_exact gives exact integers")
    else:
        raise TypeError(f"dtype={name} is not supported; it may be {', '.join(FLOAT_FORMATS)}, complex64 or complex128")
    source.library.check_result(format, source)
    return format, is_complex


def _dtype_name(dtype: Any) -> str:
    """The name that libraries share for the type that a `dtype` argument stands for."""
    if isinstance(dtype, str) and dtype in FLOAT_FORMATS:
        return dtype
    if type(dtype).__module__.partition(".")[0] in ("torch", "array_api_strict"):
        return last_name(dtype)
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        found = None
    # NumPy reads None as float64, and any class that it does not know as object
    if found is None or dtype is None or (found.hasobject and isinstance(dtype, type) and dtype is not object):
        raise TypeError(f"dtype={dtype!r} is not understood; pass a floating-point type or its name")
    return str(found.name)
