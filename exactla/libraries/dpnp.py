"""dpnp arrays on any SYCL device. Knows dpnp; entries that the host reads are copied to it."""

from typing import Any

import dpnp

from exactla.formats import FloatFormat
from exactla.libraries import bits
from exactla.libraries.base import HostArray, Library, Part, Source, refuse


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

    def holds(self, format_name: str, device: Any) -> bool:
        capabilities = device.sycl_device
        return format_name == "float32" or bool(
            (format_name == "float16" and capabilities.has_aspect_fp16)
            or (format_name == "float64" and capabilities.has_aspect_fp64)
        )


def _beside(array: Any, values: HostArray) -> Any:
    """A dpnp array of these values, on the queue and in the kind of memory that another has."""
    return dpnp.asarray(values, usm_type=array.usm_type, sycl_queue=array.sycl_queue)


LIBRARY = DPNP()
