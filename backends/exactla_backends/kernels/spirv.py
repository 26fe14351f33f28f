"""Makes SPIR-V of the kernels, with clang and llvm-spirv: `python -m exactla_backends.kernels.spirv FILE`.

The build of exactla runs it where it finds those programs; with `--check` for a file it only says what is missing.
Knows the standard library only.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from exactla_backends.kernels.modules import Module, modules, with_dot_products

_VERSIONS = ("", *(f"-{version}" for version in range(22, 13, -1)))
_DOTS = ("-D__opencl_c_integer_dot_product_input_4x8bit_packed=1", "-D__opencl_c_integer_dot_product_input_4x8bit=1")


@cache
def tools() -> tuple[str, str] | None:
    """A translator, and the clang of its version: it reads bitcode of its own LLVM."""
    for version in _VERSIONS:
        clang, translator = shutil.which(f"clang{version}"), shutil.which(f"llvm-spirv{version}")
        if clang is not None and translator is not None:
            return clang, translator
    return None


def why_none() -> str | None:
    """Why there is no SPIR-V."""
    return None if tools() else "no clang and llvm-spirv of one version: apt-get install clang-14 llvm-spirv-14"


def spirv(text: str, options: Sequence[str]) -> bytes:
    """A module of all kernels of a text.

    Raises
    ------
    RuntimeError
        With the compiler's messages, or where there is no compiler.
    """
    found = tools()
    if found is None:
        raise RuntimeError(why_none())
    clang, translator = found
    with tempfile.TemporaryDirectory() as folder:
        source, bitcode, module = (Path(folder) / f"device.{suffix}" for suffix in ("cl", "bc", "spv"))
        source.write_text(text, encoding="utf-8")
        run = [clang, "-x", "cl", "-cl-std=CL3.0", "-target", "spir64", "-Xclang", "-finclude-default-header"]
        run += ["-Xclang", "-fdeclare-opencl-builtins", "-O2", "-Xclang", "-disable-llvm-passes"]
        run += ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", *options]  # a text holds all headers
        _run([*run, "-c", "-emit-llvm", str(source), "-o", str(bitcode)])
        _run([translator, "--spirv-max-version=1.1", str(bitcode), "-o", str(module)])
        return module.read_bytes()


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - found by name above
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr}")


def made(module: Module) -> bytes:
    """The SPIR-V of one of the modules."""
    options = [f"-D{name}={value}" for name, value in module.macros.items()]
    if "XL_DOT_PRODUCTS" not in module.macros:
        return spirv(module.text, options)
    return with_dot_products(spirv(module.text, [*options, *_DOTS]))


def write(path: Path) -> None:
    """A file of all modules, which appears as a whole."""
    wanted = list(modules())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        contents = list(pool.map(made, wanted))
    partial = path.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as file:
        for module, content in zip(wanted, contents, strict=True):
            file.writestr(zipfile.ZipInfo(module.name), content, zipfile.ZIP_DEFLATED)  # the same bytes each time
    partial.replace(path)


def main(argument: str) -> str | None:
    """Write the file, or with `--check` nothing; what went wrong."""
    if argument == "--check":
        return why_none()
    try:
        write(Path(argument))
    except RuntimeError as error:  # a compiler of some other kind: what needs the file says that it is missing
        sys.stderr.write(f"exactla is built without SPIR-V: {error}\n")
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
