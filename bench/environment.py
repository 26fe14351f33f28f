"""What a timing depends on, as plain values for the record: processor, threads, libraries, versions, commit.

Holds no path and no name of a machine, so that results can be published.
"""

import importlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import numpy as np
import threadpoolctl

import exactla

CLONE = Path(__file__).resolve().parent.parent

_FLAGS = (
    "avx2",
    "fma",
    "avx512f",
    "avx512_vnni",
    "avx512_fp16",
    "avx_vnni",
    "amx_tile",
    "amx_int8",
    "asimd",
    "i8mm",
    "sve",
)
_PREFIXES = ("OMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "KMP_", "RAYON_", "NPY_", "EXACTLA_")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "RAYON_NUM_THREADS")

_GIVEN = {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_PREFIXES)}
"""The variables as the user set them, before `thread_limit` changes some."""


@contextmanager
def thread_limit(threads: int) -> Iterator[None]:
    """Let exactla, every BLAS and OpenMP pool in this process, FLINT and peers in Rust use so many threads.

    Enter it before the first product: some pools are made then and keep their size.
    """
    flint = _flint()
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}, 1 if flint is None else flint.ctx.threads
    _set_threads(dict.fromkeys(_THREAD_VARIABLES, str(threads)), threads)
    try:
        with threadpoolctl.threadpool_limits(threads):
            yield
    finally:
        _set_threads(*before)


def _set_threads(variables: Mapping[str, str | None], flint_threads: int) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    flint = _flint()
    if flint is not None:
        flint.ctx.threads = flint_threads


def describe(threads: int) -> dict[str, object]:
    """The environment of a run, ready for JSON. Call it inside `thread_limit`."""
    flint = _flint()
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
        "commit": _commit(),
        "exactla": exactla.__version__,
        "bits_version": exactla.BITS_VERSION,
        "exactla_from": "this clone" if Path(exactla.__file__).resolve().is_relative_to(CLONE) else "installed package",
        "cpu": _cpu_model(),
        "cpu_flags": _cpu_flags(),
        "cores": os.cpu_count(),
        "cores_usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "memory_bytes": _memory_bytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": [
            {key: pool.get(key) for key in ("internal_api", "version", "architecture", "num_threads", "user_api")}
            for pool in threadpoolctl.threadpool_info()
        ],
        "flint": None if flint is None else str(flint.__FLINT_VERSION__),
        "flint_threads": None if flint is None else int(flint.ctx.threads),
        "threads": threads,
        "variables": _GIVEN,
    }


def lines(environment: dict[str, object]) -> Iterator[str]:
    """The environment as text, one fact a line, with a warning where a setting slows NumPy."""
    for key, value in environment.items():
        if key == "blas":
            for pool in value if isinstance(value, list) else []:
                yield f"{'blas':<14} " + ", ".join(f"{k} {v}" for k, v in pool.items() if v is not None)
        elif isinstance(value, dict):
            yield f"{key:<14} " + (", ".join(f"{k}={v}" for k, v in value.items()) or "none set")
        elif isinstance(value, list):
            yield f"{key:<14} " + (" ".join(map(str, value)) or "none known")
        else:
            yield f"{key:<14} {value}"
    variables = environment.get("variables")
    if isinstance(variables, dict) and variables.get("OPENBLAS_CORETYPE"):
        yield (
            f"warning: OPENBLAS_CORETYPE={variables['OPENBLAS_CORETYPE']} overrides the choice of BLAS kernels; "
            "NumPy, and exactla on NumPy, may run well below what this processor can do"
        )
    load = environment.get("load")
    if isinstance(load, float) and load > 0.5:
        yield f"warning: other work is running here (load {load}); the times below are not to be quoted"


def _flint() -> ModuleType | None:
    try:
        return importlib.import_module("flint")
    except ImportError:
        return None


def _commit() -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(CLONE), "describe", "--always", "--dirty", "--tags"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def _proc(path: str) -> Iterator[tuple[str, str]]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines():
        key, _, value = line.partition(":")
        yield key.strip(), value.strip()


def _cpu_model() -> str:
    models = [value for key, value in _proc("/proc/cpuinfo") if key == "model name"]
    return models[0] if models else platform.processor() or sys.platform


def _cpu_flags() -> list[str]:
    fields = [value for key, value in _proc("/proc/cpuinfo") if key in ("flags", "Features")]
    present = set(fields[0].split()) if fields else set()
    return [flag for flag in _FLAGS if flag in present]


def _memory_bytes() -> int | None:
    totals = [int(value.split()[0]) * 1024 for key, value in _proc("/proc/meminfo") if key == "MemTotal"]
    return totals[0] if totals else None
