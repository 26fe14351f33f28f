"""Arrays of array-api-strict: the array API standard and nothing else, with devices that are only pretended.

Knows of array_api_strict what the standard has, and that its CPU arrays convert to NumPy.
"""

from typing import Any

import array_api_strict as xp
import numpy as np

from exactla.formats import FloatFormat, IntegerFormat
from exactla.libraries import bits
from exactla.libraries.base import HostArray, Library, Part, Source, refuse

_ARRAY = type(xp.empty(0))
_CPU = xp.empty(0).device


class ArrayAPIStrict(Library):
    """Arrays of array-api-strict."""

    name = "array_api_strict"

    def read(self, array: Any, name: str) -> Source:
        if not isinstance(array, _ARRAY):
            raise refuse(array, name)
        known = bits.describe(np.dtype(bits.last_name(array.dtype)))
        if known is None:
            raise self.refuse_dtype(name, array.dtype, array.device)
        return Source(array, name, self, known[0], known[1], array.shape, array.device, "cpu")

    def host_encodings(self, source: Source, part: Part = "real") -> HostArray:
        array = source.array if source.device == _CPU else source.array.to_device(_CPU)
        return bits.encodings(np.asarray(array), part)

    def from_host(self, encodings: HostArray, format: FloatFormat, like: Source) -> Any:
        return xp.asarray(bits.typed(encodings, format), device=like.device)

    def from_host_complex(self, real: HostArray, imag: HostArray, format: FloatFormat, like: Source) -> Any:
        return xp.asarray(bits.typed_complex(real, imag, format), device=like.device)

    def from_host_integers(self, values: HostArray, like: Source) -> Any:
        return xp.asarray(values, device=like.device)

    def holds(self, format_name: str, device: Any) -> bool:
        return format_name in ("float32", "float64") and _exists(format_name, device)

    def check_result(self, format: FloatFormat | IntegerFormat, like: Source) -> None:
        super().check_result(format, like)
        if isinstance(format, IntegerFormat) and not _exists(format.name, like.device):
            raise TypeError(f"{self.name} arrays on {like.device} cannot hold {format.name}, the type of the result")


def _exists(name: str, device: Any) -> bool:
    """Whether arrays of a type can be made on a device."""
    try:
        xp.empty(0, dtype=getattr(xp, name), device=device)
    except ValueError:
        return False
    return True


LIBRARY = ArrayAPIStrict()
