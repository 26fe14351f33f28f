"""Compiles the CUDA backend's kernels by NVRTC, which needs no device, to PTX and to machine code."""

import ctypes
from dataclasses import dataclass
from functools import cache

from tests.backends.kernels.compiling import nvrtc_path, nvrtc_text


@dataclass(frozen=True)
class Compiled:
    """What the compiler made, and said."""

    ptx: str
    log: str


@cache
def architectures() -> tuple[int, ...]:
    """The compute capabilities that this NVRTC knows, as 80 for 8.0."""
    library = ctypes.CDLL(str(nvrtc_path()))
    count = ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    known = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(known)
    return tuple(known)


@cache
def compiled(text: str, options: tuple[str, ...], target: str) -> Compiled:
    """A text for a target, such as sm_90a: machine code is made too, and what the assembler says of it is in the log.

    A text of several kernels is compiled once for the tests of all of them.

    Raises
    ------
    RuntimeError
        With the compiler's messages.
    """
    library = ctypes.CDLL(str(nvrtc_path()))
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    every = [f"-arch={target}", *options, "--ptxas-options=-v"]
    encoded = (ctypes.c_char_p * len(every))(*(option.encode() for option in every))
    try:
        failed = library.nvrtcCompileProgram(program, len(every), encoded)
        log = nvrtc_text(library, "ProgramLog", program)
        if failed:
            raise RuntimeError(log)
        return Compiled(nvrtc_text(library, "PTX", program), log)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
