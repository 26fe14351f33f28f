"""Compiles the matrix kernels, as a library or with a C program, into a folder of the user's own that runs share."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import exactla_backends
from tests.made_once import made_once

SOURCES = Path(exactla_backends.__file__).parent / "cpu" / "matrix"
SELFCHECK = Path(__file__).parent / "selfcheck.c"
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror")


def compiler() -> str | None:
    """The C compiler of this machine."""
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")


@cache
def library() -> Path:
    """The kernels as a shared object."""
    return build(SOURCES, (), ("-O3", "-fPIC", "-shared"))


def build(folder: Path, programs: Sequence[Path], flags: Sequence[str], command: str | None = None) -> Path:
    """What the C files of a folder, and programs, compile to; not compiled again while nothing changes."""
    sources = [*sorted(folder.glob("*.c")), *programs]
    arguments = [command or compiler() or "cc", *STRICT, *flags, f"-I{folder}"]
    key = hashlib.sha256(repr(arguments[:-1]).encode())
    for source in [*sources, *sorted(folder.glob("*.h"))]:
        key.update(source.read_bytes())
    return made_once(
        f"matrix-{key.hexdigest()[:24]}",
        lambda path: subprocess.run([*arguments, *map(str, sources), "-o", str(path)], check=True),
    )
