"""What every array library has to offer: `Library`, and the description `Source` of an array that it has accepted.

This file knows no array library, and NumPy only as the carrier of entries on the host.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from exactla.formats import FLOAT_FORMATS, FloatFormat, Format, IntegerFormat

Part = Literal["real", "imag"]
SUPPORTED = (
    "numpy, cupy, torch, jax, dpnp and array_api_strict arrays, other arrays on CUDA devices that have __dlpack__, "
    "and nested lists of numbers"
)
HostArray = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True, eq=False)
class Source:
    """An array of the caller that has been checked. Nobody changes it; frozen it would take five times as long to make.

    Attributes
    ----------
    array : Any
        The array, as the library holds it. Nested lists and numbers are NumPy arrays by now.
    name : str
        Name of the argument that it was passed as, for messages.
    library : Library
        The library that it belongs to.
    format : Format
        Format of an entry, or of its real and its imaginary part where `complex` holds.
    complex : bool
        Whether the entries are complex.
    shape : tuple of int
        The shape.
    device : Any
        What the library calls the array's device; equal for arrays that may be combined.
    device_kind : str
        The kind of device: "cpu", "cuda", "sycl", ...
    prepared : exactla.prepared.Prepared, optional
        What earlier calls have made of the array, where the caller passed it as such.
    """

    array: Any
    name: str
    library: "Library"
    format: Format
    complex: bool
    shape: tuple[int, ...]
    device: Any
    device_kind: str
    prepared: Any = None


@cache
def _unsigned(octets: int) -> "np.dtype[Any]":
    return np.dtype(f"u{octets}")


_INSTEAD = {
    "exactla.MPArray": "exactla.mp_mm multiplies it, and to_float() or to_fractions() convert it",
    "exactla.Rational": "round(), enclose() and tolist() give its entries",
    "exactla.Enclosure": "pass its lo and hi",
    "exactla.Prepared": "only products take it",
    "flint.arb_mat": "MPArray.from_flint reads it",
    "mpmath.mpf": "MPArray.from_mpmath reads it",
    "mpmath.matrix": "MPArray.from_mpmath reads it",
}
"""What helps, by the package and the name of the type of an argument that is no array."""


def type_name(value: Any) -> str:
    """The name of a value's type, for messages."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def refuse(value: Any, name: str) -> TypeError:
    """The error for an argument that is no array of a known library."""
    kind = type(value)
    known = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    instead = _INSTEAD.get(known) or f"supported are {SUPPORTED}"
    return TypeError(f"{name} is a {type_name(value)}; {instead}")


def refuse_subclass(value: Any, name: str, plain: str) -> TypeError:
    """The error for an array of a subclass, with the expression that makes it a plain one."""
    return TypeError(f"{name} is a {type_name(value)}, and what it adds to an array would be lost; pass {plain}")


def _no_device(source: Source) -> TypeError:
    """The error for an array that only backends of the host can take."""
    return TypeError(
        f"{source.name} is a {source.library.name} array on a {source.device_kind!r} device, and only backends that "
        "work in the host's memory take those"
    )


class Library(ABC):
    """An array library.

    Entries travel as *encodings* in NumPy arrays: floats as unsigned integers of the width of the format, integers
    and bool in their own type, Python integers as objects. Encodings handed to a `from_host` method belong to the
    library afterwards: the result may share their memory.

    On devices whose memory is not the host's, entries travel as the same encodings in the arrays of *the device's own
    library*, for the backends that compute there: `cupy.ndarray` on "cuda", dpnp's `usm_ndarray` on "sycl".
    The methods for that are called inside `scope`, which raises where backends of the host alone can take an array.
    """

    name: ClassVar[str]
    remedy: ClassVar[str] = ""  # what helps where a float format cannot be held, for messages
    beyond: ClassVar[str] = ""  # entries that this library has beyond floats and integers, for messages

    @abstractmethod
    def read(self, array: Any, name: str) -> Source:
        """Check an array of this library, passed as the argument `name`, and describe it."""

    @abstractmethod
    def host_encodings(self, source: Source, part: Part = "real") -> HostArray:
        """Encodings of the entries or of one of their parts; not copied where the host sees the memory.

        The result has the shape of the array, and any strides. Nobody may write to it.
        """

    @abstractmethod
    def from_host(self, encodings: HostArray, format: FloatFormat, like: Source) -> Any:
        """The real array with these encodings, on the device of `like`."""

    @abstractmethod
    def from_host_complex(self, real: HostArray, imag: HostArray, format: FloatFormat, like: Source) -> Any:
        """The complex array with these encodings of its parts, on the device of `like`."""

    @abstractmethod
    def from_host_integers(self, values: HostArray, like: Source) -> Any:
        """The array of these integers (int64 or bool), on the device of `like`."""

    def scope(self, source: Source) -> AbstractContextManager[None]:
        """Enter the device of an array, and the stream that its library works on now, in the device's own library.

        Work of the library that was started before is done before the backend's, and the backend's before the
        library's that is started after.
        """
        raise _no_device(source)

    def device_encodings(self, source: Source, part: Part = "real") -> Any:
        """Encodings of the entries or of one of their parts, in the device's own library; not copied.

        The result has the shape of the array, and any strides. Nobody may write to it.
        """
        raise _no_device(source)

    def device_entries(self, source: Source) -> tuple[Any, int, tuple[int, ...]]:
        """An owner of the entries of a real array, and where they lie: an address and strides in bytes.

        For devices whose own library is CuPy.
        """
        encodings = self.device_encodings(source)
        return encodings, encodings.data.ptr, encodings.strides

    def device_type(self, format: FloatFormat) -> "np.dtype[Any]":
        """A type of entries, of any kind, in which `from_device` takes encodings with the least to do."""
        return _unsigned(format.bits // 8)

    def from_device(self, encodings: Any, format: FloatFormat, like: Source) -> Any:
        """The real array with these encodings, contiguous in C order in the device's own library; not copied."""
        raise _no_device(like)

    def from_device_complex(self, real: Any, imag: Any, format: FloatFormat, like: Source) -> Any:
        """The complex array with these encodings of its parts, contiguous and in the device's own library."""
        raise _no_device(like)

    @abstractmethod
    def holds(self, format_name: str, device: Any) -> bool:
        """Whether arrays on a device can have the float format of this name."""

    def check_result(self, format: FloatFormat | IntegerFormat, like: Source) -> None:
        """Raise where a result of this format cannot be given back; called before any work is done."""
        if isinstance(format, FloatFormat) and not self.holds(format.name, like.device):
            raise TypeError(
                f"{self.name} arrays cannot hold {format.name}{self.remedy}; "
                f"dtype may be {', '.join(self._float_formats(like.device))}"
            )

    def refuse_dtype(self, name: str, dtype: Any, device: Any) -> TypeError:
        """The error for an array whose entries are not supported."""
        return TypeError(
            f"{name} has dtype {dtype}; {self.name} arrays may hold {', '.join(self._float_formats(device))}, "
            f"complex64, complex128, bool and integers of 8 to 64 bits{self.beyond}"
        )

    def _float_formats(self, device: Any) -> list[str]:
        return [name for name in FLOAT_FORMATS if self.holds(name, device)]


def check_complex(format: FloatFormat) -> None:
    """Raise where there is no complex type with parts of a format."""
    if format.name not in ("float32", "float64"):
        raise TypeError(f"there is no complex type with parts of {format.name}; dtype may be complex64 or complex128")
