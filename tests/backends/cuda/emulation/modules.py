"""The parts of CuPy's bindings that the CUDA backend uses beside arrays, over kernels that run on this host."""

import ctypes
import itertools
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.backends.cuda.emulation import compiler
from tests.libraries import fake_cupy

MULTIPROCESSORS = 3


@dataclass(frozen=True)
class Launch:
    """A launch that has been done."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    stream: int


@dataclass
class Gpu:
    """The pretended devices: what they are, and what has been done on them."""

    capability: tuple[int, int]
    launches: list[Launch] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)  # options of each compilation
    products: list[tuple[int, ...]] = field(default_factory=list)  # shapes that cuBLAS was asked for

    def modules(self) -> dict[str, ModuleType]:
        """Modules by name, as `sys.modules` holds them."""
        cupy: Any = fake_cupy.module()
        cuda = _module("cupy.cuda", **vars(cupy.cuda))
        cupy.cuda = cuda
        fake_cupy.Device.capability = self.capability
        fake_cupy.Device.multiprocessors = MULTIPROCESSORS
        functions: dict[int, Function] = {}
        found = {
            "cupy": cupy,
            "cupy.cuda": cuda,
            "cupy.cuda.function": _module("cupy.cuda.function", Module=lambda: Module(functions)),
            "cupy.cuda.device": _module("cupy.cuda.device", get_cublas_handle=Handle),
            "cupy_backends.cuda.api.driver": _module(
                "cupy_backends.cuda.api.driver",
                launchKernel=lambda *arguments: self._launch(functions, *arguments),
                funcSetAttribute=lambda address, attribute, value: functions[address].set_attribute(attribute, value),
            ),
            "cupy_backends.cuda.libs.nvrtc": nvrtc(self.compiled),
            "cupy_backends.cuda.libs.cublas": cublas(self.products),
        }
        for name in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.api", "cupy_backends.cuda.libs"):
            found[name] = _module(name)
        for name, module in found.items():
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(found[parent], child, module)
        return found

    def _launch(self, functions: "dict[int, Function]", address: int, *rest: Any) -> None:
        *sizes, shared_bytes, stream, arguments, _ = rest
        grid, block = sizes[:3], sizes[3:]
        function = functions[address]
        if not (all(0 < n < 1 << 31 for n in grid) and max(grid[1:]) < 1 << 16 and np.prod(block) <= 1024):
            raise ValueError(f"{function.name} on a grid of {grid} blocks of {block} threads")
        if shared_bytes > max(48 << 10, function.shared_bytes):
            raise ValueError(f"{function.name} may not use {shared_bytes} octets of shared memory")
        self.launches.append(Launch(function.name, tuple(grid), tuple(block), shared_bytes, stream))
        function.run((ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), ctypes.c_void_p(arguments))


@dataclass
class Function:
    name: str
    run: Any
    shared_bytes: int = 0

    def set_attribute(self, attribute: int, value: int) -> None:
        if attribute != 8:
            raise ValueError(f"attribute {attribute}")
        self.shared_bytes = value


class Module:
    """A module that has been loaded on the current device."""

    def __init__(self, functions: dict[int, Function]) -> None:
        self._functions = functions

    def load(self, code: bytes) -> None:
        handle, path = tempfile.mkstemp(suffix=".so")
        with os.fdopen(handle, "wb") as file:
            file.write(code)
        self._library = ctypes.PyDLL(path)  # which keeps other threads out
        os.unlink(path)

    def get_function(self, name: str) -> Any:
        run = self._library[f"launch_{name}"]
        address = ctypes.cast(run, ctypes.c_void_p).value or 0
        self._functions[address] = Function(name, run)
        return SimpleNamespace(ptr=address)


def nvrtc(compiled: list[str]) -> ModuleType:
    """The compiler; an option of the backend that it does not know is an error, as it is for NVRTC."""
    programs: dict[int, Any] = {}
    numbers = itertools.count(1)
    known = ("-arch=sm_", "-D", "-std=c++17", "-default-device", "-lineinfo", "-diag-suppress=")

    class NVRTCError(RuntimeError):
        pass

    def create(text: str, name: str, headers: Sequence[str], names: Sequence[str]) -> int:
        number = next(numbers)
        programs[number] = SimpleNamespace(text=text, code=b"", log="")
        return number

    def compile(number: int, options: Sequence[str]) -> None:
        unknown = [option for option in options if not option.startswith(known)]
        compiled.append(" ".join(options))
        try:
            if unknown:
                raise RuntimeError(f"unrecognized options {unknown}")
            programs[number].code = compiler.module(programs[number].text, options)
        except RuntimeError as error:
            programs[number].log = str(error)
            raise NVRTCError("NVRTC_ERROR_COMPILATION (6)") from error

    return _module(
        "cupy_backends.cuda.libs.nvrtc",
        NVRTCError=NVRTCError,
        createProgram=create,
        compileProgram=compile,
        getCUBIN=lambda number: programs[number].code,
        getProgramLog=lambda number: programs[number].log,
        destroyProgram=programs.pop,
        getVersion=lambda: (0, 0),
        programs=programs,
    )


class Handle:
    stream = -1


_KINDS: dict[tuple[int, int, int], tuple[Any, Any, int]] = {
    (3, 10, 72): (np.int8, np.int32, (1 << 31) - 1),
    (2, 0, 68): (np.float16, np.float32, 1 << 24),
    (1, 1, 70): (np.float64, np.float64, 1 << 53),
}
"""Types of entries and sums by the library's numbers for them and for how it computes, and the largest exact sum."""


def cublas(products: list[tuple[int, ...]]) -> ModuleType:
    """Products of bytes and of half precision, in columns as the library has them."""

    def multiply(*arguments: Any) -> None:
        handle, trans_a, trans_b, m, n, k, alpha, a, type_a, lda, step_a, b, type_b, ldb, step_b = arguments[:15]
        beta, c, type_c, ldc, step_c, batch, compute, algorithm = arguments[15:]
        if (trans_a, trans_b, type_a, algorithm) != (1, 0, type_b, -1) or handle.stream < 0:
            raise ValueError("only the transpose of one matrix times another is pretended, on a stream")
        entry, total, largest = _KINDS[type_a, type_c, compute]
        if (_at(alpha, 1, total)[0], _at(beta, 1, total)[0]) != (1, 0):
            raise ValueError("factors other than 1 and 0")
        products.append((batch, n, m, k))
        size = np.dtype(entry).itemsize
        for i in range(batch):
            # sums of octets are exact in float64, whose products are many times faster
            by = np.float64 if entry is np.int8 else np.int64
            left = _matrix(b + i * step_b * size, n, k, ldb, entry).astype(by)
            right = _matrix(a + i * step_a * size, m, k, lda, entry).astype(by)
            exact = left @ right.T
            if np.abs(exact).max(initial=0) > largest:
                raise OverflowError("a sum leaves what the library holds exactly")
            _matrix(c + np.dtype(total).itemsize * i * step_c, n, m, ldc, total)[...] = exact

    def set_stream(handle: Handle, stream: int) -> None:
        handle.stream = stream

    return _module("cupy_backends.cuda.libs.cublas", gemmStridedBatchedEx=multiply, setStream=set_stream)


def _at(address: int, count: int, dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


def _matrix(address: int, rows: int, columns: int, stride: int, dtype: Any) -> Any:
    """[rows, columns] entries at an address, rows `stride` entries apart."""
    flat = _at(address, (rows - 1) * stride + columns, dtype)
    return np.lib.stride_tricks.as_strided(flat, (rows, columns), (stride * flat.itemsize, flat.itemsize))


def encode_tiled(result: Any, kind: Any, rank: int, address: Any, *rest: Any) -> int:
    """cuTensorMapEncodeTiled, with its rules of alignment; the map is what `hopper.h` reads."""
    sizes, strides, box, steps, interleave, swizzle, _, fill = rest
    fine = (
        rank == 3
        and address.value % 16 == 0
        and all(stride % 16 == 0 and 0 < stride < 1 << 40 for stride in strides)
        and all(0 < size <= 1 << 32 for size in sizes)
        and all(0 < n <= 256 for n in box)
        and box[0] == 128
        and (kind, list(steps), interleave, swizzle, fill) == (0, [1, 1, 1], 0, 3, 0)
    )
    if not fine:
        return 1
    words = (address.value, *sizes, *strides, *box)
    result._obj.words[: len(words)] = words
    return 0


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []  # type: ignore[attr-defined]
    vars(module).update(contents)
    return module
