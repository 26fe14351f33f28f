"""Compiles the device kernels to PTX, and finds the compiler for that."""

import ctypes
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from exactla_backends.kernels.text import device_text

DEFINES = ("-DXL_MAX_LIMBS=12", "-DXL_MAX_GROUPS=17")
"""Sizes for all kernels of the text of a device."""


def why_no_ptx() -> str | None:
    """Why there is no PTX."""
    return None if nvrtc_path() else "no NVRTC: pip install nvidia-cuda-nvrtc-cu12"


def nvrtc_path() -> Path | None:
    """The compiler's library, from a package of NVIDIA's."""
    for package in ("nvidia.cuda_nvrtc", "nvidia.cu13"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (spec.submodule_search_locations or []) if spec else []:
            found = sorted(Path(folder).glob("lib/libnvrtc.so.*"))
            if found:
                return found[0]
    return None


def ptx(architecture: str, defines: Sequence[str]) -> str:
    """The kernels as PTX.

    Raises
    ------
    RuntimeError
        With the compiler's messages.
    """
    library = ctypes.CDLL(str(nvrtc_path()))
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), device_text().encode(), b"device.cl", 0, None, None)
    options = [f"--gpu-architecture={architecture}", *defines]
    encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    try:
        if library.nvrtcCompileProgram(program, len(options), encoded):
            raise RuntimeError(nvrtc_text(library, "ProgramLog", program))
        return nvrtc_text(library, "PTX", program)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def nvrtc_text(library: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> str:
    """A text that the compiler has made: PTX, or ProgramLog."""
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.value.decode()
