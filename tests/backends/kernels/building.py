"""Compiles the host kernels once for each instruction set, into a folder of the user's own that runs share."""

import hashlib
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import exactla_backends.kernels
from tests.made_once import made_once

SOURCES = Path(exactla_backends.kernels.__file__).parent
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fPIC", "-shared")


@dataclass(frozen=True)
class Variant:
    """A way to compile the kernels, and the flags of /proc/cpuinfo without which the result does not run."""

    name: str
    flags: tuple[str, ...]
    needs: frozenset[str] = frozenset()


_AVX2 = frozenset({"avx2", "bmi1", "bmi2", "fma", "f16c", "movbe", "abm"})
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_SANITIZED = ("-O1", "-g", "-fsanitize=undefined", "-fno-sanitize-recover=all")

# in this order of what they exercise: plain C on one lane as on a device, on some, on all; then vector instructions
EVERYWHERE = (
    Variant("lanes1", ("-O1", "-DXL_LANES=1")),
    Variant("lanes16", ("-O2", "-DXL_LANES=16")),
    Variant("native", ("-O3",)),
    Variant("checked", _SANITIZED),
)
X86 = (
    Variant("avx2", ("-O3", "-march=x86-64-v3"), _AVX2),
    Variant("avx512", ("-O3", "-march=x86-64-v4"), _AVX512),
    Variant(
        "vnni",
        ("-O3", "-march=x86-64-v4", "-mavx512vnni", "-mavx512vpopcntdq", "-mprefer-vector-width=512"),
        _AVX512 | {"avx512_vnni", "avx512_vpopcntdq"},
    ),
    Variant(
        "vnni_checked",
        ("-march=x86-64-v4", "-mavx512vnni", *_SANITIZED),
        _AVX512 | {"avx512_vnni"},
    ),
)


def variants() -> tuple[Variant, ...]:
    """What can be compiled for this processor's architecture."""
    return EVERYWHERE + (X86 if platform.machine().lower() in ("x86_64", "amd64") else ())


def why_not(variant: Variant) -> str | None:
    """Why a variant cannot be built or run here."""
    if compiler() is None:
        return "no C compiler: install gcc or clang, or name one in CC"
    missing = variant.needs - _processor_flags()
    return f"this processor has no {', '.join(sorted(missing))}" if missing else None


def compiler() -> str | None:
    """The C compiler."""
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")


@cache
def _processor_flags() -> frozenset[str]:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return frozenset(line.split(":")[1].split())
    except OSError:
        pass
    return frozenset()


@cache
def build(variant: Variant) -> Path:
    """The shared object of a variant, its entry points ending in the variant's name."""
    command = compiler()
    if command is None:
        raise RuntimeError("no C compiler")
    flags = (*STRICT, *variant.flags, f"-DXL_TARGET={variant.name}")
    key = hashlib.sha256(repr((command, flags)).encode())
    for source in sorted(SOURCES.glob("*.[ch]")):
        key.update(source.read_bytes())
    return made_once(
        f"{variant.name}-{key.hexdigest()[:16]}.so",
        lambda path: subprocess.run([command, *flags, str(SOURCES / "host.c"), "-o", str(path)], check=True),
    )
