"""The CUDA driver and NVRTC as this backend uses them: compile and cache, load, launch, and describe tensors.

Knows CuPy's bindings, and the driver itself for what they lack. Nothing here knows what a kernel computes.
"""

import ctypes
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cupy.cuda import Device, function
from cupy_backends.cuda.api import driver
from cupy_backends.cuda.libs import nvrtc

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_STATIC_SHARED = 1 << 10
_OPTIONS = ("-std=c++17", "-default-device", "-lineinfo", "-diag-suppress=177")


MAP_ALIGNMENT = 64
MOST_WORDS = 64


class TensorMap(ctypes.Structure):
    """CUtensorMap: how the copy engine finds a tile of a tensor."""

    _fields_ = (("words", ctypes.c_uint64 * 16),)


@cache
def architecture(device: int) -> tuple[int, int]:
    """The compute capability of a device."""
    text = Device(device).compute_capability
    return int(text[:-1]), int(text[-1])


@cache
def target(device: int) -> str:
    """The architecture that kernels for a device are compiled for."""
    major, minor = architecture(device)
    return f"sm_{major}{minor}"


@cache
def processors(device: int) -> int:
    """The number of multiprocessors of a device."""
    return int(Device(device).attributes["MultiProcessorCount"])


@cache
def most_shared_bytes(device: int) -> int:
    """Dynamic shared memory that a block of threads may have which has little of its own besides."""
    return int(Device(device).attributes["MaxSharedMemoryPerBlockOptin"]) - _STATIC_SHARED


@cache
def kernel(text: str, name: str, options: tuple[str, ...], target: str, device: int, shared_bytes: int = 0) -> int:
    """A function of the driver: `text` compiled for `target` (such as sm_90a) and loaded on a device.

    Postcondition: the function may use `shared_bytes` of dynamic shared memory.
    """
    with Device(device):
        module = function.Module()
        module.load(_compiled(text, (*_OPTIONS, *options), target))
        found = module.get_function(name)
        if shared_bytes:
            driver.funcSetAttribute(found.ptr, _MAX_DYNAMIC_SHARED, shared_bytes)
    _LOADED.append((module, found))
    return int(found.ptr)


_LOADED: list[object] = []
"""Modules live as long as the process: a function is an address in one."""


class Launch:
    """A kernel with a grid and arguments by value (ctypes numbers, arrays and structures), to be run on streams.

    Whoever changes a structure between two runs keeps others from running it meanwhile. `kept` is whatever has to live
    as long.
    """

    __slots__ = ("_addresses", "_at", "_head", "arguments", "kept")

    def __init__(
        self,
        function: int,
        grid: Sequence[int],
        block: tuple[int, int],
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        self._head = (function, *grid, *block, 1, shared_bytes)
        self.arguments = arguments
        self.kept: object = None
        self._addresses = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self._at = ctypes.addressof(self._addresses)

    def run(self, stream: int) -> None:
        """Have the device run the kernel after all that the stream has been given."""
        driver.launchKernel(*self._head, stream, self._at, 0)


def launch_words(function: int, grid: Sequence[int], block: tuple[int, int], stream: int, words: Sequence[int]) -> None:
    """Launch a function whose arguments all are addresses and 64-bit integers, up to MOST_WORDS of them."""
    _WORDS.values[: len(words)] = [*words]
    driver.launchKernel(function, *grid, *block, 1, 0, stream, _WORDS.address, 0)


class _Words(threading.local):
    """Room for the arguments of a launch, which the driver copies, and what it finds them by; of each thread."""

    def __init__(self) -> None:
        self.values = (ctypes.c_int64 * MOST_WORDS)()
        start = ctypes.addressof(self.values)
        self._addresses = (ctypes.c_void_p * MOST_WORDS)(*range(start, start + ctypes.sizeof(self.values), 8))
        self.address = ctypes.addressof(self._addresses)


_WORDS = _Words()


def tensor_map(address: int, sizes: Sequence[int], strides: Sequence[int], box: Sequence[int]) -> TensorMap:
    """The map of a tensor of octets: sizes and box with the fastest axis first, strides in bytes of the other axes.

    A tile that reaches past the tensor is filled with zeros; its rows of 128 octets are swizzled in shared memory.
    """
    # the driver asks for maps at multiples of 64 bytes, and ctypes gives 16
    storage = (ctypes.c_char * (ctypes.sizeof(TensorMap) + MAP_ALIGNMENT - 1))()
    result = TensorMap.from_buffer(storage, -ctypes.addressof(storage) % MAP_ALIGNMENT)
    rank = len(sizes)
    status = _encode_tiled()(
        ctypes.byref(result),
        _UINT8,
        rank,
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * rank)(*sizes),
        (ctypes.c_uint64 * (rank - 1))(*strides),
        (ctypes.c_uint32 * rank)(*box),
        (ctypes.c_uint32 * rank)(*([1] * rank)),
        _NO_INTERLEAVE,
        _SWIZZLE_128,
        _PROMOTE_256,
        _ZEROS,
    )
    if status:
        raise RuntimeError(
            f"the driver refuses a tensor of sizes {tuple(sizes)} and strides {tuple(strides)}: {status}"
        )
    return result


_UINT8, _NO_INTERLEAVE, _SWIZZLE_128, _PROMOTE_256, _ZEROS = 0, 0, 3, 3, 0


@cache
def _encode_tiled() -> "ctypes._FuncPointer":
    library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    function = library.cuTensorMapEncodeTiled
    function.restype = ctypes.c_int
    return function


# ---- compiling -------------------------------------------------------------------------------------------------------


def _compiled(text: str, options: tuple[str, ...], target: str) -> bytes:
    """Machine code, from the user's cache folder where the same compiler has made it before."""
    key = "\0".join((text, target, *options, str(nvrtc.getVersion())))
    path = cache_folder() / f"{hashlib.sha256(key.encode()).hexdigest()}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        pass
    code = compile_text(text, options, target)
    _keep(path, code)
    return code


def compile_text(text: str, options: tuple[str, ...], target: str) -> bytes:
    """Machine code of `text` for a target; RuntimeError with the compiler's log where it fails."""
    program = nvrtc.createProgram(text, "exactla.cu", (), ())
    try:
        nvrtc.compileProgram(program, (f"-arch={target}", *options))
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError as error:
        raise RuntimeError(f"a kernel does not compile for {target}: {nvrtc.getProgramLog(program)}") from error
    finally:
        nvrtc.destroyProgram(program)


def cache_folder() -> Path:
    """Where compiled kernels are kept: EXACTLA_CACHE_DIR, else the user's cache folder."""
    chosen = os.environ.get("EXACTLA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "exactla" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exactla"


def _keep(path: Path, code: bytes) -> None:
    """Write to a temporary name and rename; a folder that cannot be written to costs only the next compilation."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, path)
    except OSError:
        return
