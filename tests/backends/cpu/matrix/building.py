"""Compiles the matrix kernels, as a library or with a C program, into a folder of the user's own that runs share."""

import getpass
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import exactla_backends

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
    target = _cache_folder() / f"matrix-{key.hexdigest()[:24]}"
    if not target.exists():
        partial = target.with_suffix(f".{os.getpid()}")
        subprocess.run([*arguments, *map(str, sources), "-o", str(partial)], check=True)
        partial.rename(target)
    return target


def _cache_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"exactla-kernels-{getpass.getuser()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
