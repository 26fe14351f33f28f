"""Builds the whole native library through the project's CMake, with a sanitizer or for libFuzzer, and runs Python
programs on it.

Builds go into a folder of the user's own, which runs share, and are made again when a source changes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.made_once import made_once

ROOT = Path(__file__).resolve().parents[4]
SOURCES = ROOT / "backends" / "exactla_backends"


@dataclass(frozen=True)
class Build:
    """A way to build the library: its compiler, flags, and the runtime that has to be in the process first."""

    name: str
    compilers: tuple[str, ...]
    flags: str
    runtime: str | None = None
    openmp: bool = True
    links: str = ""


ADDRESS = Build(
    "address", ("gcc",), "-O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all", runtime="libasan.so"
)
# without OpenMP, whose barriers the sanitizer does not know: the threads are Python's
THREAD = Build("thread", ("gcc",), "-O2 -g -fsanitize=thread", runtime="libtsan.so", openmp=False)
LIBFUZZER = Build(
    "libfuzzer",
    ("clang", *(f"clang-{version}" for version in range(22, 13, -1))),
    "-O2 -g -fsanitize=fuzzer-no-link",
    openmp=False,
    links="libclang_rt.fuzzer_no_main-x86_64.a",
)


@cache
def why_not(build: Build) -> str | None:
    """Why the library cannot be built that way here."""
    if not (ROOT / "CMakeLists.txt").exists() or not (SOURCES / "cpu" / "native" / "native.h").exists():
        return "no sources: run from a checkout"
    if shutil.which("cmake") is None:
        return "no cmake: pip install cmake"
    if _compiler(build) is None:
        return f"no {build.compilers[0]} with its sanitizers: apt-get install {build.compilers[0]}"
    if build.runtime and not _file_of(_compiler(build), build.runtime):
        return f"{_compiler(build)} has no {build.runtime}"
    return None


def _compiler(build: Build) -> str | None:
    """The first of the compilers that is here and has what is linked."""
    found = (shutil.which(name) for name in build.compilers)
    return next((path for path in found if path and (not build.links or _file_of(path, build.links))), None)


@cache
def _file_of(compiler: str | None, name: str) -> str | None:
    """A file of the compiler's own runtime libraries."""
    if compiler is None:
        return None
    for option in (f"-print-file-name={name}", "-print-resource-dir"):
        done = subprocess.run([compiler, option], capture_output=True, text=True, check=False)
        place = Path(done.stdout.strip())
        for path in (place, place / "lib" / "linux" / name):
            if done.returncode == 0 and path.is_absolute() and path.is_file():
                return str(path)
    return None


@cache
def library(build: Build) -> Path:
    """The library, built that way."""
    compiler = _compiler(build)
    if compiler is None:
        raise RuntimeError(why_not(build))
    sources = [ROOT / "CMakeLists.txt", *sorted(SOURCES.rglob("*.[ch]"))]
    key = hashlib.sha256(repr((build, compiler)).encode())
    for source in sources:
        key.update(source.read_bytes())

    def make(path: Path) -> None:
        with tempfile.TemporaryDirectory(dir=path.parent) as work:
            _run_cmake(build, compiler, work)
            (Path(work) / "_native.so").rename(path)

    return made_once(f"{build.name}-{key.hexdigest()[:16]}.so", make)


def _run_cmake(build: Build, compiler: str, work: str) -> None:
    definitions = {
        "CMAKE_BUILD_TYPE": "Checked",  # none that brings flags of its own
        "CMAKE_C_COMPILER": compiler,
        "CMAKE_C_FLAGS": build.flags,
        "CMAKE_DISABLE_FIND_PACKAGE_OpenMP": "OFF" if build.openmp else "ON",
    }
    if build.links:
        archive = _file_of(compiler, build.links)
        definitions["CMAKE_MODULE_LINKER_FLAGS"] = f"-Wl,--whole-archive {archive} -Wl,--no-whole-archive -lstdc++"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    options = [f"-D{name}={value}" for name, value in definitions.items()]
    for arguments in ([*generator, "-S", str(ROOT), "-B", work, *options], ["--build", work, "--target", "_native"]):
        subprocess.run(["cmake", *arguments], check=True, stdout=subprocess.DEVNULL)


def run_jobs(build: Build, arguments: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run the fuzz target on the library of that build."""
    program = "tests.backends.cpu.fuzz"
    return run(build, ["-m", program, "--library", str(library(build)), *arguments], timeout)


def run(build: Build, arguments: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run Python with the runtime of that build."""
    environment = dict(
        os.environ,
        PYTHONMALLOC="malloc",  # a block for each object, which the sanitizer fences
        PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        ASAN_OPTIONS="detect_leaks=0",  # Python keeps what it has allocated
        TSAN_OPTIONS="halt_on_error=1",
        UBSAN_OPTIONS="print_stacktrace=1",
    )
    command = [sys.executable, *arguments]
    if build.runtime:
        environment["LD_PRELOAD"] = str(_file_of(_compiler(build), build.runtime))
    if build is THREAD and shutil.which("setarch"):
        command = ["setarch", "-R", *command]  # the sanitizer's memory map allows less randomness than new kernels use
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
