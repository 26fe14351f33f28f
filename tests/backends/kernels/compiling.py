"""Compiles the device kernels to SPIR-V and PTX, and finds the compilers for that."""

import ctypes
import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from exactla_backends.kernels.text import device_text

DEFINES = ("-DXL_MAX_LIMBS=12", "-DXL_MAX_GROUPS=17")
"""Sizes for all kernels of the text of a device."""

_VERSIONS = ("", *(f"-{version}" for version in range(22, 13, -1)))


@cache
def tool(name: str) -> str | None:
    """A program of LLVM, of the version without a number or of the newest one."""
    return next((path for v in _VERSIONS if (path := shutil.which(name + v)) is not None), None)


def why_no_spirv() -> str | None:
    """Why there is no SPIR-V."""
    missing = [name for name in ("clang", "llvm-spirv") if tool(name) is None]
    return f"no {' and no '.join(missing)}: apt-get install clang llvm-spirv-14" if missing else None


@cache
def spirv(text: str, options: Sequence[str]) -> bytes:
    """A module of all kernels of a text. The translator reads bitcode of its own LLVM, before optimisation."""
    translator = tool("llvm-spirv") or "llvm-spirv"
    version = translator.rpartition("llvm-spirv")[2]
    clang = shutil.which(f"clang{version}") or tool("clang") or "clang"
    with tempfile.TemporaryDirectory() as folder:
        source, bitcode, module = (Path(folder) / f"device.{suffix}" for suffix in ("cl", "bc", "spv"))
        source.write_text(text, encoding="utf-8")
        run = [clang, "-x", "cl", "-cl-std=CL1.2", "-target", "spir64", "-Xclang", "-finclude-default-header"]
        run += ["-O2", "-Xclang", "-disable-llvm-passes", "-Wall", "-Wextra", "-Werror"]
        run += ["-Wno-unused-function", *options]  # a text holds all headers
        subprocess.run([*run, "-c", "-emit-llvm", str(source), "-o", str(bitcode)], check=True)
        subprocess.run([translator, str(bitcode), "-o", str(module)], check=True)
        return module.read_bytes()


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
