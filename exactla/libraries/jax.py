"""JAX arrays on one device.

Knows jax, whose types of entries are NumPy's and those of ml_dtypes; and CuPy as the carrier of entries on CUDA
devices, imported for those alone.
"""

from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from exactla.formats import FLOAT_FORMATS, FloatFormat, Format, IntegerFormat
from exactla.libraries import bits
from exactla.libraries.base import HostArray, Library, Part, Source, refuse


class Jax(Library):
    """Concrete JAX arrays."""

    name = "jax"

    def read(self, array: Any, name: str) -> Source:
        if isinstance(array, jax.core.Tracer):
            raise TypeError(
                f"{name} is a JAX tracer; exactla needs concrete values and cannot be called inside jit, vmap or grad"
            )
        if not isinstance(array, jax.Array):
            raise refuse(array, name)
        devices = array.devices()
        if len(devices) != 1:
            raise ValueError(f"{name} is spread over {len(devices)} devices; gather it on one with jax.device_put")
        (device,) = devices
        known = bits.describe(array.dtype) if isinstance(array.dtype, np.dtype) else None
        if known is None:
            raise self.refuse_dtype(name, array.dtype, device)
        return Source(array, name, self, known[0], known[1], array.shape, device, _device_kind(device))

    def host_encodings(self, source: Source, part: Part = "real") -> HostArray:
        return bits.encodings(np.asarray(source.array), part)

    def from_host(self, encodings: HostArray, format: FloatFormat, like: Source) -> Any:
        self.check_result(format, like)
        return jax.device_put(bits.typed(encodings, format), like.device)

    def from_host_complex(self, real: HostArray, imag: HostArray, format: FloatFormat, like: Source) -> Any:
        self.check_result(format, like)
        return jax.device_put(bits.typed_complex(real, imag, format), like.device)

    def from_host_integers(self, values: HostArray, like: Source) -> Any:
        if values.dtype.kind != "b":
            self._check_x64("int64", "")
        return jax.device_put(values, like.device)

    def scope(self, source: Source) -> AbstractContextManager[None]:
        if source.device_kind not in ("cuda", "rocm"):
            return super().scope(source)
        from exactla.libraries.cupy import finished

        return finished(source.device.local_hardware_id)

    # JAX works on streams of its own. Where arrays are handed over by DLPack, each side has the other's stream wait for
    # what it has made; that CuPy is done with an operand before JAX takes its memory back is for `scope` to see to.

    def device_encodings(self, source: Source, part: Part = "real") -> Any:
        import cupy

        array = source.array
        if _unknown_to_dlpack(source.format):
            array = jax.lax.bitcast_convert_type(array, bits.encoding_type(source.format))  # JAX has no views
        return bits.encodings(cupy.from_dlpack(array), part)

    def from_device(self, encodings: Any, format: FloatFormat, like: Source) -> Any:
        self.check_result(format, like)
        if _unknown_to_dlpack(format):
            return jax.lax.bitcast_convert_type(jax.dlpack.from_dlpack(encodings), bits.dtype_of(format.name))
        return jax.dlpack.from_dlpack(encodings.view(bits.dtype_of(format.name)))

    def from_device_complex(self, real: Any, imag: Any, format: FloatFormat, like: Source) -> Any:
        from exactla.libraries.cupy import LIBRARY as CUPY

        self.check_result(format, like)
        return jax.dlpack.from_dlpack(CUPY.from_device_complex(real, imag, format, like))

    def holds(self, format_name: str, device: Any) -> bool:
        return bits.exists(format_name)

    def check_result(self, format: FloatFormat | IntegerFormat, like: Source) -> None:
        super().check_result(format, like)
        if format.bits == 64:
            self._check_x64(format.name, " or ask for dtype='float32'" if isinstance(format, FloatFormat) else "")

    def _check_x64(self, result: str, instead: str) -> None:
        """Raise where JAX would quietly store 64 bits as 32."""
        if not jax.config.jax_enable_x64:
            raise ValueError(
                f"the result is of {result}, which JAX holds only after jax.config.update('jax_enable_x64', True); "
                f"enable it{instead}"
            )


def _device_kind(device: Any) -> str:
    """JAX calls every graphics processor a "gpu"."""
    if device.platform != "gpu":
        return str(device.platform)
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def _unknown_to_dlpack(format: Format) -> bool:
    """Whether CuPy takes and gives a type only as integers."""
    return format.name in FLOAT_FORMATS and format.name not in ("float16", "float32", "float64")


LIBRARY = Jax()
