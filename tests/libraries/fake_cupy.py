"""A CuPy whose devices are pretended: as much of it as `exactla.libraries` uses, on memory of NumPy's.

It is strict where CuPy is: nothing becomes a NumPy array silently, and work on arrays of another than the current
device fails. Streams do nothing; waiting for one is counted.
"""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np


class Device:
    current: ClassVar = [0]

    def __init__(self, id: int) -> None:
        self.id = id

    def __enter__(self) -> "Device":
        self.current.append(self.id)
        return self

    def __exit__(self, *_: object) -> None:
        self.current.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


class Stream:
    waits = 0

    def synchronize(self) -> None:
        Stream.waits += 1


class ndarray:
    __module__ = "cupy"

    def __init__(self, memory: Any, device: int) -> None:
        self.memory = memory
        self.device = Device(device)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __getattr__(self, name: str) -> Any:
        if name not in ("dtype", "shape", "strides", "itemsize"):
            raise AttributeError(name)
        return getattr(self.memory, name)

    def __getitem__(self, index: Any) -> "ndarray":
        return type(self)(self.memory[index], self.device.id)

    def view(self, dtype: Any) -> "ndarray":
        if isinstance(dtype, type) and issubclass(dtype, ndarray):
            return dtype(self.memory, self.device.id)
        return type(self)(self.memory.view(dtype), self.device.id)

    @property
    def real(self) -> "ndarray":
        return type(self)(self.memory.real, self.device.id)

    @property
    def imag(self) -> "ndarray":
        return type(self)(self.memory.imag, self.device.id)

    def __dlpack_device__(self) -> Any:
        return self.memory.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        return self.memory.__dlpack__()


def asarray(values: Any) -> ndarray:
    return ndarray(np.array(values, order="K"), Device.current[-1])


def asnumpy(array: ndarray) -> Any:
    if array.dtype.kind == "V":
        raise TypeError(f"no kernel makes entries of {array.dtype} contiguous")
    return np.array(_here(array).memory)


def stack(arrays: Any, axis: int) -> ndarray:
    return ndarray(np.stack([_here(x).memory for x in arrays], axis=axis), Device.current[-1])


def from_dlpack(array: Any) -> ndarray:
    if not hasattr(array, "__dlpack__"):  # a capsule, of which NumPy asks to be made when it wants it
        capsule = array
        array = SimpleNamespace(__dlpack__=lambda **_: capsule, __dlpack_device__=lambda: (1, 0))
    index = array.__dlpack_device__()[1]
    host = array.on_the_host() if hasattr(array, "on_the_host") else array
    return ndarray(np.from_dlpack(host), index)


def _here(array: ndarray) -> ndarray:
    if array.device.id != Device.current[-1]:
        raise ValueError(f"array on device {array.device.id}, current is {Device.current[-1]}")
    return array


def module() -> ModuleType:
    """The module, as `import cupy` would find it."""
    cupy = ModuleType("cupy")
    cupy.__spec__ = ModuleSpec("cupy", None)
    for name in ("ndarray", "asarray", "asnumpy", "stack", "from_dlpack"):
        setattr(cupy, name, getattr(sys.modules[__name__], name))
    cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        Device=Device, Stream=Stream, get_current_stream=Stream, runtime=SimpleNamespace(is_hip=False)
    )
    return cupy
