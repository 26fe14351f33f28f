"""Typed NumPy arrays and the encodings of their entries: the same bits, seen in two ways.

Knows NumPy's types and those of ml_dtypes, which is imported only when one of its types is met or asked for.
"""

import importlib
import importlib.util
from functools import cache
from typing import Any

import numpy as np

from exactla.formats import FLOAT_FORMATS, INTEGER_FORMATS, FloatFormat, Format
from exactla.libraries.base import HostArray, Part, check_complex

REMEDY = " unless the package ml_dtypes is installed, in a version that has it"
NATIVE = ("float16", "float32", "float64")

UNSIGNED = {octets: np.dtype(f"u{octets}") for octets in (1, 2, 4, 8)}
"""The types of encodings, by their width."""

_KNOWN: dict[np.dtype[Any], tuple[Format, bool]] = {
    **{np.dtype(name): (FLOAT_FORMATS[name], False) for name in NATIVE},
    **{np.dtype(name): (format, False) for name, format in INTEGER_FORMATS.items()},
    np.dtype("complex64"): (FLOAT_FORMATS["float32"], True),
    np.dtype("complex128"): (FLOAT_FORMATS["float64"], True),
}


def describe(dtype: np.dtype[Any]) -> tuple[Format, bool] | None:
    """Format of an entry or of its parts, and whether it is complex; None where the type is not supported.

    Types of foreign byte order are not.
    """
    known = _KNOWN.get(dtype)
    if known is None and dtype.type.__module__ == "ml_dtypes" and dtype.name in FLOAT_FORMATS:
        return FLOAT_FORMATS[dtype.name], False
    return known


def last_name(dtype: Any) -> str:
    """The name that libraries share for a type, from one such as `torch.float32`."""
    return str(dtype).rpartition(".")[2]


@cache
def exists(name: str) -> bool:
    """Whether NumPy arrays can have the float format of this name here."""
    if name in NATIVE:
        return True
    return importlib.util.find_spec("ml_dtypes") is not None and hasattr(importlib.import_module("ml_dtypes"), name)


@cache
def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's type for the float format of this name."""
    if name in NATIVE:
        return np.dtype(name)
    dtype: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    return dtype


def encoding_type(format: Format) -> str:
    """NumPy's name for the type that encodings of a format have: unsigned for floats, the integers' own."""
    return f"u{format.bits // 8}" if isinstance(format, FloatFormat) else format.name


def encodings(array: HostArray, part: Part = "real") -> HostArray:
    """View of the entries, or of one of their parts, as encodings. CuPy arrays are viewed by the same words."""
    kind = array.dtype.kind
    if kind in "biuO":
        return array
    if kind == "c":
        array = array.real if part == "real" else array.imag
    return array.view(UNSIGNED[array.itemsize])


def typed(encodings: HostArray, format: FloatFormat) -> HostArray:
    """View of encodings as numbers."""
    return encodings.view(dtype_of(format.name))


def typed_complex(real: HostArray, imag: HostArray, format: FloatFormat) -> HostArray:
    """Complex numbers from the encodings of their parts, copied as integers so that no payload of a NaN is lost."""
    check_complex(format)
    parts = np.empty((*real.shape, 2), real.dtype)
    parts[..., 0] = real
    parts[..., 1] = imag
    complex_type = "complex64" if format.name == "float32" else "complex128"
    return np.asarray(parts.view(complex_type)[..., 0])
