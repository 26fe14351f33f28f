"""dpnp arrays on any SYCL device. Knows dpnp; entries that the host reads are copied to it."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import dpnp

from exactla.formats import FloatFormat
from exactla.libraries import bits
from exactla.libraries.base import HostArray, Library, Part, Source, check_complex, refuse


class DPNP(Library):
    """Arrays of dpnp. Their device is a SYCL queue: arrays of two queues cannot be combined, as in dpnp itself."""

    name = "dpnp"

    def read(self, array: Any, name: str) -> Source:
        if not isinstance(array, dpnp.ndarray):
            raise refuse(array, name)
        known = bits.describe(array.dtype)
        if known is None:
            raise self.refuse_dtype(name, array.dtype, array.device)
        return Source(array, name, self, known[0], known[1], tuple(array.shape), array.device, "sycl")

    def host_encodings(self, source: Source, part: Part = "real") -> HostArray:
        return bits.encodings(dpnp.asnumpy(source.array), part)

    def from_host(self, encodings: HostArray, format: FloatFormat, like: Source) -> Any:
        return _beside(like.array, bits.typed(encodings, format))

    def from_host_complex(self, real: HostArray, imag: HostArray, format: FloatFormat, like: Source) -> Any:
        return _beside(like.array, bits.typed_complex(real, imag, format))

    def from_host_integers(self, values: HostArray, like: Source) -> Any:
        return _beside(like.array, values)

    def scope(self, source: Source) -> AbstractContextManager[None]:
        return nullcontext()  # the queue is part of the array

    def device_encodings(self, source: Source, part: Part = "real") -> Any:
        entries = source.array.get_array()
        if source.complex:
            entries = entries.real if part == "real" else entries.imag
        return _viewed(entries, f"u{entries.itemsize}") if isinstance(source.format, FloatFormat) else entries

    def from_device(self, encodings: Any, format: FloatFormat, like: Source) -> Any:
        return dpnp.asarray(_viewed(encodings, format.name), copy=False)

    def from_device_complex(self, real: Any, imag: Any, format: FloatFormat, like: Source) -> Any:
        check_complex(format)
        parts = dpnp.stack((dpnp.asarray(real, copy=False), dpnp.asarray(imag, copy=False)), axis=-1)
        complex_type = "complex64" if format.name == "float32" else "complex128"
        array = parts.get_array()
        return dpnp.asarray(type(array)(real.shape, dtype=complex_type, buffer=array), copy=False)

    def holds(self, format_name: str, device: Any) -> bool:
        capabilities = device.sycl_device
        return format_name == "float32" or bool(
            (format_name == "float16" and capabilities.has_aspect_fp16)
            or (format_name == "float64" and capabilities.has_aspect_fp64)
        )


def _beside(array: Any, values: HostArray) -> Any:
    """A dpnp array of these values, on the queue and in the kind of memory that another has."""
    return dpnp.asarray(values, usm_type=array.usm_type, sycl_queue=array.sycl_queue)


def _viewed(array: Any, dtype: str) -> Any:
    """The memory of a `usm_ndarray` as entries of another type of the same width."""
    offset = array.__sycl_usm_array_interface__["offset"]
    return type(array)(array.shape, dtype=dtype, strides=array.strides, buffer=array, offset=offset)


LIBRARY = DPNP()
