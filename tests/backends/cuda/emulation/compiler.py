"""Compiles kernels for CUDA on a host, with threads and instructions of `threads.h` and `instructions.h`.

Stands in for NVRTC: text and options in, a module out, the bytes of a shared object.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.made_once import made_once

HERE = Path(__file__).parent

_KERNEL = re.compile(r"__global__ void\s+(?:__launch_bounds__\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\s*\(")
_ASSEMBLY = re.compile(
    r'asm\("(dp[24]a[.\w]*) %0, %1, %2, (?:%3|0);" : "=r"\((\w+)\) : "r"\((\w+)\), "r"\((\w+)\)(?:, "r"\((\w+)\))?\);'
)
_MMA = re.compile(r'asm volatile\("mma\.sync\.aligned\.m16n8k32\.row\.col\.f32\.e4m3.*?\);\n', re.DOTALL)
_HOPPER = re.compile(r"/\* ---- barriers and copies ---- \*/.*?(?=/\* ---- reduction ---- \*/)", re.DOTALL)
_REST = (
    (re.compile(r"^#define XL_PRODUCT .*", re.MULTILINE), ""),
    (re.compile(r"asm volatile\(.*?\);", re.DOTALL), ";"),
    (re.compile(r"__shared__ (alignas\(\d+\))"), r"\1 __shared__"),
)
"""What Hopper's kernel says in assembly, in one part of it, and what little there is elsewhere."""

_DYNAMIC = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")
_TOGETHER = re.compile(r"__syncthreads|_sync\(")
# alignment that a device insists on, and what the language leaves undefined, end the process with a message
CHECKED = ("-O1", "-fsanitize=alignment,bounds,shift,signed-integer-overflow", "-fno-sanitize-recover=all")
FAST = ("-O3", "-march=native")
"""For products of matrices, which take long enough without checks."""

OF_ITS_OWN = ("-fPIC", "-shared", "-fno-gnu-unique")
"""Modules share no variables: addresses in the shared memory of one are 32 bits apart."""


def compiler() -> str | None:
    """A C++ compiler."""
    return shutil.which("g++")


def why_not() -> str | None:
    """Why kernels cannot run here."""
    return None if compiler() else "no compiler for C++: apt-get install g++"


def module(text: str, options: Sequence[str]) -> bytes:
    """A shared object with a function `launch_<kernel>` for each kernel; RuntimeError with the compiler's messages."""
    # of devices of all generations, which differ in nothing else
    return _compiled(text, tuple(option for option in options if option.startswith("-D")))


@cache
def _compiled(text: str, defines: tuple[str, ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.cpp"
        source.write_text(_without_assembly(text) if "wgmma" in text else text)
        program = _program(_run("-E", "-P", "-D__CUDACC_RTC__", *defines, str(source)))
        source.write_text(program)
        flags = FAST if "wgmma" in text or "mma.sync" in text else CHECKED
        arguments = ("-w", *OF_ITS_OWN, f"-I{HERE}", *flags)
        key = hashlib.sha256(repr((compiler(), arguments, program)).encode())
        for header in sorted(HERE.glob("*.h")):
            key.update(header.read_bytes())
        name = f"cuda-{key.hexdigest()[:24]}.so"
        return made_once(name, lambda path: _run(*arguments, str(source), "-o", str(path))).read_bytes()


def _run(*arguments: str) -> str:
    command = [compiler() or "g++", "-std=c++20", "-x", "c++", *arguments]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    if found.returncode:
        raise RuntimeError(found.stderr)
    return found.stdout


def _without_assembly(text: str) -> str:
    text = _HOPPER.sub(lambda _: (HERE / "hopper.h").read_text(), text)
    for pattern, replacement in _REST:
        text = pattern.sub(replacement, text)
    return text


def _program(plain: str) -> str:
    kernels = _KERNEL.findall(plain)
    together = "true" if _TOGETHER.search(plain) else "false"
    plain = _DYNAMIC.sub(r"\1 *const \2 = (\1 *)emulation::shared;", plain)
    body = _MMA.sub("emulation::mma_e4m3(d, a, b, c);\n", _ASSEMBLY.sub(_function, plain))
    launches = (
        f'extern "C" void launch_{name}(const unsigned *grid, const unsigned *block, void **arguments) {{\n'
        f"    emulation::launch([](void **from) {{ emulation::call(kernels::{name}, from); }}, grid, block, arguments, "
        f"{together});\n}}\n"
        for name in kernels
    )
    return f'#include "threads.h"\n#include "instructions.h"\nnamespace kernels {{\n{body}\n}}\n{"".join(launches)}'


def _function(instruction: re.Match[str]) -> str:
    name, result, x, y, total = instruction.groups()
    return f"{result} = {name.replace('.', '_')}({x}, {y}, {total or 0});"
