"""Builds the checker for this machine and for others, runs each on the conformance cases, and prints a table.

It needs gcc, for other machines Debian's cross compilers and qemu-user, and a Python that can run exactla's conformance
suite, for the case file. What is missing is installed where this runs as root on Debian.
"""

# ruff: noqa: S603, T201

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent.parent
CHECKER, KERNELS, MATRIX = (
    Path("conformance/checker"),
    Path("backends/exactla_backends/kernels"),
    Path("backends/exactla_backends/cpu/matrix"),
)
INCLUDES = tuple(f"-I{folder}" for folder in (CHECKER, KERNELS, MATRIX))
FLAGS = ("-std=c11", "-O2", "-funroll-loops", "-Wall", "-Wextra", "-Werror", *INCLUDES)
"""Unrolled, the loops take a third less time."""

SOURCES = (KERNELS / "host.c", *(MATRIX / name for name in ("check.c", "modulus.c", "portable.c", "tile.c")))
"""What is under test, beside the checker's own files. Paths are relative to the root of the checkout."""

TIMEOUT = 900

NATIVE = platform.machine().lower()
NO_FLOATS = {"x86_64": ("-mgeneral-regs-only",), "aarch64": ("-mgeneral-regs-only",)}
"""Flags under which a compiler refuses any floating-point operation."""


@dataclass(frozen=True)
class Architecture:
    """A way to build the checker, and what runs it: the machine itself where no emulator is named.

    A machine `also_on` may run it without the emulator.
    """

    name: str
    compiler: str
    flags: tuple[str, ...]
    emulator: str = ""
    packages: tuple[str, ...] = ()
    also_on: str = ""

    def missing(self) -> list[str]:
        """The programs that are not here."""
        return [program for program in (self.compiler, self.emulator) if program and not shutil.which(program)]


def _foreign(name: str, compiler: str, library: str, *flags: str) -> Architecture:
    """An architecture that Debian has a cross compiler for, with statically linked programs."""
    packages = (f"gcc-{compiler}", f"libc6-dev-{library}-cross", "qemu-user")
    return Architecture(name, f"{compiler}-gcc", ("-static", *flags), f"qemu-{name.partition('-')[0]}", packages)


ARCHITECTURES = (
    Architecture("native", "gcc", NO_FLOATS.get(NATIVE, ()), packages=("gcc", "libc6-dev")),
    Architecture(
        "native-sanitized",
        "gcc",
        ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
        packages=("gcc", "libc6-dev"),
    ),
    _foreign("aarch64", "aarch64-linux-gnu", "arm64", "-mgeneral-regs-only"),
    _foreign(
        "aarch64-i8mm",
        "aarch64-linux-gnu",
        "arm64",
        *("-march=armv8.2-a+i8mm", "-DCHECKER_MATRIX=xl_matrix_neon_i8mm", str(MATRIX / "neon_i8mm.c")),
    ),
    _foreign("riscv64", "riscv64-linux-gnu", "riscv64"),
    _foreign("s390x", "s390x-linux-gnu", "s390x", "-msoft-float"),
    replace(_foreign("i386", "i686-linux-gnu", "i386", "-mgeneral-regs-only"), also_on="x86_64"),
)


@dataclass(frozen=True)
class Outcome:
    """A line of the table: what the checker said, and whether it passed everything."""

    architecture: str
    compiler: str
    machine: str
    result: str
    passed: bool
    seconds: float
    output: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """0 where every architecture that was exercised passed, 1 where one did not, 2 where there are no cases."""
    arguments = _parse(argv)
    wanted = [a for a in ARCHITECTURES if not arguments.only or a.name in arguments.only]
    if not arguments.no_install:
        _install(wanted)
    with tempfile.TemporaryDirectory(prefix="exactla-checker-") as temporary:
        folder = Path(arguments.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        cases = folder / "cases.bin"
        if not _export(cases, arguments.select):
            return 2
        present = [a for a in wanted if not a.missing()]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            outcomes = list(threads.map(lambda a: exercise(a, folder, cases), present))
    absent = [a for a in wanted if a.missing()]
    _print_table(outcomes, absent)
    failed = [o for o in outcomes if not o.passed] or not outcomes or (arguments.all and absent)
    print("FAIL" if failed else "PASS")
    return 1 if failed else 0


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance/checker/run", description=__doc__)
    names = ", ".join(a.name for a in ARCHITECTURES)
    parser.add_argument("only", nargs="*", metavar="ARCHITECTURE", help=f"only these of {names}")
    parser.add_argument("--all", action="store_true", help="fail where one of them cannot be exercised")
    parser.add_argument("--no-install", action="store_true", help="install nothing")
    parser.add_argument("--select", metavar="PATTERN", help="only the cases whose name matches or contains this")
    parser.add_argument("--folder", metavar="FOLDER", help="keep the case file and the programs in this folder")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.only) - {a.name for a in ARCHITECTURES}
    if unknown:
        parser.error(f"there is no architecture {', '.join(sorted(unknown))}; there are {names}")
    return arguments


def _install(wanted: Sequence[Architecture]) -> None:
    """Install what is missing, as far as that is possible here."""
    missing = [a for a in wanted if a.missing()]
    if not missing or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    _apt(environment, "update")
    for architecture in missing:
        print(f"installing {' '.join(architecture.packages)}", flush=True)
        _apt(environment, "install", "--yes", "--no-install-recommends", *architecture.packages)


def _apt(environment: dict[str, str], *arguments: str) -> None:
    command = ["apt-get", "--quiet=2", *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        print(f"{' '.join(command)} failed", file=sys.stderr)


def _export(cases: Path, select: str | None) -> bool:
    """Write the case file with the exactla of this checkout; whether that worked."""
    folders = [str(ROOT), str(ROOT / "backends"), str(ROOT / "conformance"), os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, folders)))
    options = ["--select", select] if select else []
    command = [sys.executable, "-m", "exactla", "conformance", "export", str(cases), *options]
    return subprocess.run(command, check=False, env=environment, cwd=ROOT).returncode == 0


def build(architecture: Architecture, program: Path, root: Path = ROOT) -> str:
    """Compile the checker of a checkout; returns the compiler's messages, which are empty where it worked."""
    sources = [*sorted((root / CHECKER).glob("*.c")), *SOURCES]
    command = [architecture.compiler, *FLAGS, *map(str, sources), *architecture.flags, "-o", str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=root)
    return done.stderr if done.returncode else ""


def exercise(architecture: Architecture, folder: Path, cases: Path) -> Outcome:
    """Build the checker for one architecture and run it on the case file."""
    start = perf_counter()
    program = folder / f"checker-{architecture.name}"
    compiler = f"{architecture.compiler} {_version(architecture.compiler)}"
    messages = build(architecture, program)
    if messages:
        return Outcome(architecture.name, compiler, "", "DOES NOT COMPILE", False, perf_counter() - start, messages)
    emulator = _emulator(architecture, program)
    command = [*filter(None, [emulator]), str(program), str(cases)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return Outcome(architecture.name, compiler, "", "TOOK TOO LONG", False, TIMEOUT)
    lines = done.stdout.splitlines()
    machine, result = (lines[0], lines[-1]) if len(lines) > 2 else ("", f"ENDED WITH {done.returncode}")
    runner = emulator or NATIVE
    passed = done.returncode == 0 and result.endswith(" passed, 0 failed")
    output = "" if passed else done.stdout + done.stderr
    seconds = perf_counter() - start
    return Outcome(architecture.name, compiler, f"{runner}, {machine}", result, passed, seconds, output)


def _emulator(architecture: Architecture, program: Path) -> str:
    """What has to run the program; "" for the machine itself."""
    if architecture.also_on != NATIVE:
        return architecture.emulator
    try:
        subprocess.run([str(program)], check=False, capture_output=True)  # only says how it is used
    except OSError:
        return architecture.emulator
    return ""


def _version(compiler: str) -> str:
    return subprocess.run([compiler, "-dumpfullversion"], check=False, capture_output=True, text=True).stdout.strip()


def _print_table(outcomes: Sequence[Outcome], absent: Sequence[Architecture]) -> None:
    for outcome in outcomes:
        if outcome.output:
            print(f"---- {outcome.architecture}\n{outcome.output[-4000:]}")
    for o in outcomes:
        print(f"{o.architecture:17} {o.compiler:32} {o.machine:48} {o.result:24} {o.seconds:6.1f} s")
    for a in absent:
        hint = f"apt-get install {' '.join(a.packages)}"
        print(f"{a.name:17} NOT EXERCISED: no {' and no '.join(a.missing())}; {hint}")


if __name__ == "__main__":
    sys.exit(main())
