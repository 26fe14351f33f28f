"""A CuPy whose devices are pretended: as much of it as exactla uses for arrays, on memory of NumPy's.

It is strict where CuPy is: nothing becomes a NumPy array silently, and work on arrays of another than the current
device fails. Streams do nothing; waiting for one is counted.
"""

import ctypes
import itertools
import operator
import sys
import weakref
from importlib.machinery import ModuleSpec
from math import prod
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np


class Device:
    current: ClassVar = [0]
    capability: ClassVar = (8, 0)
    multiprocessors: ClassVar = 1
    shared_bytes: ClassVar = 5 << 10  # so that panels of systems are in it or not

    def __init__(self, id: int | None = None) -> None:
        self.id = self.current[-1] if id is None else id
        self.mem_info = (1 << 30, 1 << 31)

    @property
    def compute_capability(self) -> str:
        return "".join(map(str, self.capability))

    @property
    def attributes(self) -> dict[str, int]:
        return {"MultiProcessorCount": self.multiprocessors, "MaxSharedMemoryPerBlockOptin": self.shared_bytes}

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
    current: ClassVar = [0]

    numbers = itertools.count(100)

    def __init__(self, ptr: int | None = None, *, non_blocking: bool = False) -> None:
        self.ptr = ptr if ptr is not None else next(self.numbers) if non_blocking else self.current[-1]

    def __enter__(self) -> "Stream":
        self.current.append(self.ptr)
        return self

    def __exit__(self, *_: object) -> None:
        self.current.pop()

    def synchronize(self) -> None:
        Stream.waits += 1


class MemoryPointer:
    """Memory of the pool, or of an array's first entry."""

    __slots__ = ("holder", "mem", "ptr")

    def __init__(self, holder: Any, ptr: int, size: int) -> None:
        self.holder = holder
        self.ptr = ptr
        self.mem = SimpleNamespace(ptr=ptr, size=size)

    def __add__(self, offset: int) -> "MemoryPointer":
        made = MemoryPointer(self.holder, self.ptr + offset, 0)
        made.mem = self.mem
        return made

    def memset_async(self, value: int, size: int) -> None:
        ctypes.memset(self.ptr, value, size)

    def copy_from_host_async(self, address: ctypes.c_void_p, size: int) -> None:
        ctypes.memmove(self.ptr, address, size)

    def copy_from_device_async(self, source: "MemoryPointer", size: int) -> None:
        ctypes.memmove(self.ptr, source.ptr, size)

    def copy_to_host_async(self, address: ctypes.c_void_p, size: int) -> None:
        ctypes.memmove(address, self.ptr, size)


class Runtime:
    """Functions of CUDA's own; copies of the host's memory are the same in every direction."""

    is_hip = False
    memcpyDeviceToHost = 2

    @staticmethod
    def getDevice() -> int:
        return int(Device.current[-1])

    @staticmethod
    def getDeviceCount() -> int:
        return 2

    @staticmethod
    def memcpyAsync(to: int, source: int, size: int, kind: int, stream: int) -> None:
        ctypes.memmove(to, source, size)

    @staticmethod
    def memcpy2DAsync(
        to: int, to_pitch: int, source: int, pitch: int, width: int, height: int, kind: int, stream: int
    ) -> None:
        for row in range(height):
            ctypes.memmove(to + to_pitch * row, source + pitch * row, width)

    @staticmethod
    def streamSynchronize(stream: int) -> None:
        Stream.waits += 1


class MemoryHook:
    """What is told of all memory that is taken and let go inside a block; without weak references, as in CuPy."""

    active: ClassVar[list["MemoryHook"]] = []

    def __enter__(self) -> "MemoryHook":
        self.active.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.active.remove(self)

    def malloc_postprocess(self, **kwargs: int) -> None: ...

    def free_postprocess(self, **kwargs: int) -> None: ...


allocator: list[Any] = []


def set_allocator(function: Any) -> None:
    allocator[:] = [] if function is None else [function]


def alloc(size: int) -> MemoryPointer:
    """What the allocator in use gives."""
    return allocator[-1](size) if allocator else taken(size)


def taken(size: int) -> MemoryPointer:
    """Memory at a multiple of 512, as CuPy's is, full of what is no good for anything."""
    room = np.full(size + 512, 0xA5, np.uint8)
    address = -(-room.ctypes.data // 512) * 512
    for hook in MemoryHook.active:
        hook.malloc_postprocess(size=size, mem_ptr=address)
    weakref.finalize(room, _let_go, address)
    return MemoryPointer(room, address, size)


def _let_go(address: int) -> None:
    for hook in MemoryHook.active:
        hook.free_postprocess(mem_ptr=address)


class ndarray:
    __module__ = "cupy"

    def __init__(self, shape: Any, dtype: Any, memptr: MemoryPointer) -> None:
        dtype = np.dtype(dtype)
        octets = (ctypes.c_char * (prod(shape) * dtype.itemsize)).from_address(memptr.ptr)
        self.memory = np.frombuffer(octets, dtype).reshape(shape)
        self.device = Device()
        self._holder = memptr

    @classmethod
    def around(cls, memory: Any, device: int, holder: Any = None) -> "ndarray":
        """An array on a device whose entries lie in NumPy's memory."""
        made = cls.__new__(cls)
        made.memory, made.device, made._holder = memory, Device(device), holder
        return made

    @property
    def data(self) -> MemoryPointer:
        return MemoryPointer(self, self.memory.ctypes.data, self.memory.nbytes)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __getattr__(self, name: str) -> Any:
        if name not in ("dtype", "shape", "strides", "itemsize"):
            raise AttributeError(name)
        return getattr(self.memory, name)

    def __getitem__(self, index: Any) -> "ndarray":
        return self._like(self.memory[index])

    def view(self, dtype: Any) -> "ndarray":
        if isinstance(dtype, type) and issubclass(dtype, ndarray):
            return dtype.around(self.memory, self.device.id, self._holder)
        return self._like(self.memory.view(dtype))

    def reshape(self, *shape: Any) -> "ndarray":
        found = self.memory.reshape(*shape)
        if found.size and not np.shares_memory(found, self.memory):
            raise ValueError("a copy would be made")
        return self._like(found)

    @property
    def real(self) -> "ndarray":
        return self._like(self.memory.real)

    @property
    def imag(self) -> "ndarray":
        return self._like(self.memory.imag)

    def tolist(self) -> Any:
        return _here(self).memory.tolist()

    def _compared(self, other: Any, compare: Any) -> "ndarray":
        if isinstance(other, np.ndarray):
            raise TypeError(f"Unsupported type {type(other)}")
        other = _here(other).memory if isinstance(other, ndarray) else other
        return _here(self)._like(np.asarray(compare(self.memory, other)))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compared(other, operator.ne)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, operator.ge)

    __hash__ = None  # type: ignore[assignment]

    def _like(self, memory: Any) -> "ndarray":
        return self.around(memory, self.device.id, self._holder)

    def __dlpack_device__(self) -> Any:
        return self.memory.__dlpack_device__()

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        return self.memory.__dlpack__()


def asarray(values: Any) -> ndarray:
    return ndarray.around(np.array(values, order="K"), Device.current[-1])


def ascontiguousarray(array: ndarray) -> ndarray:
    return ndarray.around(np.ascontiguousarray(_here(array).memory), Device.current[-1])


def asnumpy(array: ndarray) -> Any:
    if array.dtype.kind == "V":
        raise TypeError(f"no kernel makes entries of {array.dtype} contiguous")
    return np.array(_here(array).memory)


def stack(arrays: Any, axis: int) -> ndarray:
    return ndarray.around(np.stack([_here(x).memory for x in arrays], axis=axis), Device.current[-1])


def from_dlpack(array: Any) -> ndarray:
    if not hasattr(array, "__dlpack__"):  # a capsule, of which NumPy asks to be made when it wants it
        capsule = array
        array = SimpleNamespace(__dlpack__=lambda **_: capsule, __dlpack_device__=lambda: (1, 0))
    index = array.__dlpack_device__()[1]
    host = array.on_the_host() if hasattr(array, "on_the_host") else array
    return ndarray.around(np.from_dlpack(host), index)


def _here(array: ndarray) -> ndarray:
    if array.device.id != Device.current[-1]:
        raise ValueError(f"array on device {array.device.id}, current is {Device.current[-1]}")
    return array


def module() -> ModuleType:
    """The module, as `import cupy` would find it."""
    cupy = ModuleType("cupy")
    cupy.__spec__ = ModuleSpec("cupy", None)
    for name in ("ndarray", "asarray", "ascontiguousarray", "asnumpy", "stack", "from_dlpack"):
        setattr(cupy, name, getattr(sys.modules[__name__], name))
    pool = SimpleNamespace(free_bytes=lambda: 0, malloc=taken)
    cupy.get_default_memory_pool = lambda: pool  # type: ignore[attr-defined]
    cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        Device=Device,
        Stream=Stream,
        get_current_stream=Stream,
        runtime=Runtime,
        alloc=alloc,
        alloc_pinned_memory=taken,
        set_allocator=set_allocator,
        MemoryHook=MemoryHook,
    )
    return cupy
