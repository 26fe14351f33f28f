"""PyTorch tensors on any device.

Knows torch; NumPy as the carrier of entries on the host, and on devices CuPy or what `torch_xpu` knows, imported for
those alone.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import torch

from exactla.formats import FLOAT32, FLOAT64, FLOAT_FORMATS, INTEGER_FORMATS, FloatFormat, Format
from exactla.libraries import bits
from exactla.libraries.base import HostArray, Library, Part, Source, refuse

_FLOATS = tuple(name for name in FLOAT_FORMATS if hasattr(torch, name))
_KNOWN: dict[Any, tuple[Format, bool]] = {
    **{getattr(torch, name): (FLOAT_FORMATS[name], False) for name in _FLOATS},
    **{getattr(torch, name): (format, False) for name, format in INTEGER_FORMATS.items() if hasattr(torch, name)},
    torch.complex64: (FLOAT32, True),
    torch.complex128: (FLOAT64, True),
}
_SIGNED = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_DEVICE_KINDS = {"xpu": "sycl", "cuda": "rocm" if torch.version.hip else "cuda"}
# for DLPack: nothing has to wait, since inside `scope` CuPy works on the stream that torch works on
_SAME_STREAM = -1


class Torch(Library):
    """Dense tensors of PyTorch."""

    name = "torch"

    def read(self, array: Any, name: str) -> Source:
        _check_tensor(array, name)
        return self.describe(array, name)

    def describe(self, array: Any, name: str) -> Source:
        """What `read` says of a tensor, whether or not it has entries that can be read."""
        known = _KNOWN.get(array.dtype)
        if known is None:
            raise self.refuse_dtype(name, array.dtype, array.device)
        device = array.device
        kind = _DEVICE_KINDS.get(device.type, device.type)
        return Source(array, name, self, known[0], known[1], tuple(array.shape), device, kind)

    def host_encodings(self, source: Source, part: Part = "real") -> HostArray:
        entries: HostArray = _signed(source, part).cpu().numpy()
        return entries.view(bits.encoding_type(source.format))

    def from_host(self, encodings: HostArray, format: FloatFormat, like: Source) -> Any:
        signed = _tensor(encodings.view(f"i{encodings.itemsize}"))
        return signed.view(getattr(torch, format.name)).to(like.device)

    def from_host_complex(self, real: HostArray, imag: HostArray, format: FloatFormat, like: Source) -> Any:
        return _tensor(bits.typed_complex(real, imag, format)).to(like.device)

    def from_host_integers(self, values: HostArray, like: Source) -> Any:
        return _tensor(values).to(like.device)

    def scope(self, source: Source) -> AbstractContextManager[None]:
        if source.device_kind == "sycl":
            return torch.xpu.device(source.device)  # type: ignore[no-any-return]
        return _current_stream(source.device.index) if source.array.is_cuda else super().scope(source)

    def device_encodings(self, source: Source, part: Part = "real") -> Any:
        if source.device_kind == "sycl":
            from exactla.libraries import torch_xpu

            return torch_xpu.encodings(_signed(source, part), bits.encoding_type(source.format))
        import cupy

        entries = cupy.from_dlpack(_signed(source, part).__dlpack__(stream=_SAME_STREAM))
        return entries.view(bits.encoding_type(source.format))

    def device_entries(self, source: Source) -> tuple[Any, int, tuple[int, ...]]:
        tensor = source.array.detach().resolve_neg()
        return tensor, tensor.data_ptr(), tuple(n * tensor.element_size() for n in tensor.stride())

    def from_device(self, encodings: Any, format: FloatFormat, like: Source) -> Any:
        if like.device_kind == "sycl":
            from exactla.libraries import torch_xpu

            return torch_xpu.tensor(encodings, like.device).view(getattr(torch, format.name))
        signed = encodings.view(f"i{encodings.itemsize}")
        return torch.from_dlpack(signed.__dlpack__(stream=_SAME_STREAM)).view(getattr(torch, format.name))

    def from_device_complex(self, real: Any, imag: Any, format: FloatFormat, like: Source) -> Any:
        if like.device_kind == "sycl":
            parts = [self.from_device(part, format, like) for part in (real, imag)]
            return torch.view_as_complex(torch.stack(parts, dim=-1))
        from exactla.libraries.cupy import LIBRARY as CUPY

        joined = CUPY.from_device_complex(real, imag, format, like)
        return torch.from_dlpack(joined.__dlpack__(stream=_SAME_STREAM))

    def holds(self, format_name: str, device: Any) -> bool:
        return format_name in _FLOATS


@contextmanager
def _current_stream(index: int) -> Iterator[None]:
    """Have CuPy work on a device, and there on the stream that torch works on."""
    import cupy

    stream = torch.cuda.current_stream(index)
    with cupy.cuda.Device(index):
        if hasattr(cupy.cuda.Stream, "from_external") and hasattr(stream, "__cuda_stream__"):
            current = cupy.cuda.Stream.from_external(stream)
        else:
            current = cupy.cuda.ExternalStream(stream.cuda_stream, index)
        with current:
            yield


def _signed(source: Source, part: Part) -> Any:
    """A tensor of signed integers with the bits of the entries, or of one of their parts; not copied."""
    tensor = source.array.detach()
    if source.complex:
        # a tensor may be a lazy conjugate, and the part of one a lazy negative: those are copied
        tensor = torch.view_as_real(tensor.resolve_conj())[..., 0 if part == "real" else 1]
    tensor = tensor.resolve_neg()
    return tensor.view(_SIGNED[tensor.element_size()])


def _tensor(array: HostArray) -> Any:
    """A tensor in the memory of an array, or of its copy where torch could not use that."""
    return torch.from_numpy(np.require(array, requirements=["C", "W"]))


def _check_tensor(array: Any, name: str) -> None:
    """Raise unless a tensor has entries that can be read, and nobody expects a gradient."""
    if not isinstance(array, torch.Tensor):
        raise refuse(array, name)
    # inside torch.func.vmap and grad, and in subclasses that take over every operation, there are no entries to see
    transformed = torch._C._functorch.is_functorch_wrapped_tensor(array)
    if transformed or type(array).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        raise TypeError(f"{name} is a transformed or wrapped tensor; its entries must be known: pass a plain tensor")
    if array.is_nested or array.is_quantized or array.layout is not torch.strided:
        layout = "nested" if array.is_nested else "quantized" if array.is_quantized else str(array.layout)
        raise TypeError(f"{name} is a tensor of {layout} layout; pass a dense one, such as {name}.to_dense()")
    if array.is_meta:
        raise TypeError(f"{name} is a tensor on the meta device, which has no entries")
    if array.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name} requires grad, and exactla computes no gradients; pass {name}.detach()")


LIBRARY = Torch()
