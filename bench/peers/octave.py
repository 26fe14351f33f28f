"""Octave's interval package in a process of its own, which keeps the operands and multiplies at each byte it reads."""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.contestant import Bounds, Contestant, Guarantee, Job, Problem

_SCRIPT = Path(__file__).with_name("octave_product.m")
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def _program() -> str | None:
    return shutil.which("octave-cli") or shutil.which("octave")


@cache
def _version() -> str:
    """Versions of the package and of Octave; empty where the package is missing."""
    text = 'd = pkg("describe", "interval"); printf("%s (Octave %s)", d{1}.version, OCTAVE_VERSION)'
    command = [_program() or "octave-cli", "--norc", "--quiet", "--eval", text]
    answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return answer.stdout.strip()


class _OctaveJob(Job):
    """One Octave process, its operands read before the clock starts; a call costs a byte and a line through pipes."""

    def __init__(self, problem: Problem, accuracy: str, threads: int) -> None:
        self._shape = (problem.shape[0], problem.shape[2])
        self._folder = tempfile.TemporaryDirectory(prefix="exactla-bench-")
        for name, operand in (("a", problem.a), ("b", problem.b)):
            np.asfortranarray(operand, dtype=np.float64).ravel(order="K").tofile(self._file(name))
        arguments = [accuracy, self._folder.name, *map(str, problem.shape)]
        self._process = subprocess.Popen(
            [_program() or "octave-cli", "--norc", "--quiet", str(_SCRIPT), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,  # where Octave leaves its core file when it is killed
            text=True,
            env={**os.environ, **dict.fromkeys(_VARIABLES, str(threads))},
        )
        self._expect("ready")

    def run(self) -> None:
        self._ask("p")

    def bounds(self, result: Any) -> Bounds:
        self._ask("s")
        lo, hi = (np.fromfile(self._file(name)).reshape(self._shape, order="F") for name in ("lo", "hi"))
        return lo, hi

    def close(self) -> None:
        self._process.communicate()
        self._folder.cleanup()

    def _file(self, name: str) -> Path:
        return Path(self._folder.name, name)

    def _ask(self, request: str) -> None:
        if self._process.stdin is None:
            raise RuntimeError("octave was started without a pipe")
        self._process.stdin.write(request)
        self._process.stdin.flush()
        self._expect("done")

    def _expect(self, answer: str) -> None:
        line = self._process.stdout.readline().strip() if self._process.stdout else ""
        if line != answer:
            raise RuntimeError(f"octave answered {line!r} where {answer!r} was expected")


class OctaveProduct(Contestant):
    """`mtimes` of the interval package: "tight" by an exact accumulator, "valid" by Rump's BLAS method."""

    in_process = False

    def __init__(self, accuracy: str) -> None:
        self.name = f"octave-{accuracy}"
        self.summary = f'octave-interval mtimes(a, b, "{accuracy}")'
        self.guarantee = Guarantee.TIGHTEST if accuracy == "tight" else Guarantee.ENCLOSURE
        self._accuracy = accuracy

    def missing(self) -> str | None:
        if _program() is None:
            return "octave is not on PATH; apt-get install octave octave-interval"
        if not self.version():
            return "Octave has no package named interval; apt-get install octave-interval"
        return None

    def version(self) -> str:
        return _version()

    def prepare(self, problem: Problem, threads: int) -> Job:
        return _OctaveJob(problem, self._accuracy, threads)
