"""CuPy arrays on any of its devices. Knows CuPy; the types of its entries are NumPy's and those of ml_dtypes."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import cupy
import numpy as np

from exactla.formats import FloatFormat
from exactla.libraries import bits
from exactla.libraries.base import HostArray, Library, Part, Source, check_complex, refuse, refuse_subclass

_DEVICE_KIND = "rocm" if cupy.cuda.runtime.is_hip else "cuda"


class CuPy(Library):
    """Arrays of CuPy. Subclasses are refused, as those of NumPy are.

    Entries may be of any type of ml_dtypes that CuPy can view, not only of those that it computes with.
    """

    name = "cupy"
    remedy = bits.REMEDY

    def read(self, array: Any, name: str) -> Source:
        if type(array) is not cupy.ndarray:
            if isinstance(array, cupy.ndarray):
                raise refuse_subclass(array, name, f"{name}.view(cupy.ndarray)")
            raise refuse(array, name)
        known = bits.describe(array.dtype)
        if known is None:
            raise self.refuse_dtype(name, array.dtype, array.device)
        return Source(array, name, self, known[0], known[1], array.shape, array.device, _DEVICE_KIND)

    def host_encodings(self, source: Source, part: Part = "real") -> HostArray:
        # viewed as integers on the device: CuPy has no kernels to make strided entries of a small float contiguous
        with source.device:
            entries: HostArray = cupy.asnumpy(self.device_encodings(source, part))
        return entries

    def from_host(self, encodings: HostArray, format: FloatFormat, like: Source) -> Any:
        return _on_device(encodings, like).view(bits.dtype_of(format.name))

    def from_host_complex(self, real: HostArray, imag: HostArray, format: FloatFormat, like: Source) -> Any:
        return _on_device(bits.typed_complex(real, imag, format), like)

    def from_host_integers(self, values: HostArray, like: Source) -> Any:
        return _on_device(values, like)

    def scope(self, source: Source) -> AbstractContextManager[None]:
        device: AbstractContextManager[None] = source.device  # which keeps the current stream that it has
        return device

    def device_encodings(self, source: Source, part: Part = "real") -> Any:
        return bits.encodings(source.array, part)

    def device_entries(self, source: Source) -> tuple[Any, int, tuple[int, ...]]:
        array = source.array
        return array, array.data.ptr, array.strides

    def device_type(self, format: FloatFormat) -> "np.dtype[Any]":
        # arrays of the other types can only be views
        return bits.dtype_of(format.name) if format.name in bits.NATIVE else super().device_type(format)

    def from_device(self, encodings: Any, format: FloatFormat, like: Source) -> Any:
        dtype = bits.dtype_of(format.name)
        return encodings if encodings.dtype == dtype else encodings.view(dtype)

    def from_device_complex(self, real: Any, imag: Any, format: FloatFormat, like: Source) -> Any:
        check_complex(format)
        parts = cupy.stack((real, imag), axis=-1)
        return parts.view("complex64" if format.name == "float32" else "complex128")[..., 0]

    def holds(self, format_name: str, device: Any) -> bool:
        return bits.exists(format_name)


def _on_device(values: HostArray, like: Source) -> Any:
    with like.device:
        return cupy.asarray(values)


@contextmanager
def finished(device: int) -> Iterator[None]:
    """Enter a device for arrays of a library that does not order its own work after CuPy's.

    Once an operand is let go, such a library may use its memory again while kernels still read it. So all of them
    have run at the end.
    """
    with cupy.cuda.Device(device):
        try:
            yield
        finally:
            cupy.cuda.get_current_stream().synchronize()


LIBRARY = CuPy()
