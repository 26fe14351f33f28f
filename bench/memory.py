"""`python -m bench memory`: peak resident memory of one product, each contestant in a process of its own.

The peak is the kernel's high-water mark, reset once the operands are made and a small product has loaded what is
loaded only once. Where it cannot be reset (outside Linux) the growth of the process's own peak is given.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import exactla as xl
from bench import data
from bench.contestant import Contestant
from bench.environment import CLONE, thread_limit
from bench.measuring import FAILED
from bench.record import Row

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5)


@dataclass(frozen=True)
class Product:
    """The product whose memory is measured."""

    backend: str
    dtype: str
    data: str
    n: int
    threads: int
    workspace_limit: int | None


def run(contestants: Sequence[Contestant], product: Product) -> list[Row]:
    """A row for each contestant, from `child` in a new process."""
    return [_spawn(contestant, product) for contestant in contestants]


def _spawn(contestant: Contestant, product: Product) -> Row:
    name = contestant.name
    if not contestant.in_process:
        return {"contestant": name, **asdict(product), "reason": "it computes in a process that is not watched"}
    command = [sys.executable, "-m", "bench", "memory-child", name, json.dumps(asdict(product))]
    answer = subprocess.run(command, cwd=CLONE, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        return {"contestant": name, **asdict(product), "reason": f"{FAILED}the process ended with {answer.returncode}"}
    row: Row = json.loads(answer.stdout)
    return row


def child(contestant: Contestant, product: Product) -> Row:
    """Measure in this process, which must have computed nothing before."""
    with thread_limit(product.threads), xl.workspace_limit(product.workspace_limit):
        _warm_up(contestant, product)
        problem = data.product(product.data, product.dtype, product.n, product.n, product.n)
        job = contestant.prepare(problem, product.threads)
        before = _reset_peak()
        result = job.run()
        peak = _resident()[1]
        returned = _array_bytes(result)
        del result
        details = job.details()
        job.close()
    workspace = details.get("workspace_bytes")
    known = (returned or 0) + (workspace if isinstance(workspace, int) else 0)
    return {
        "contestant": contestant.name,
        **asdict(product),
        "reason": None,
        "operand_bytes": problem.a.nbytes + problem.b.nbytes,
        "before_bytes": before,
        "peak_bytes": peak,
        "growth_bytes": peak - before,
        "result_bytes": returned,
        "workspace_bytes": workspace,
        "other_bytes": peak - before - known,
        "details": dict(details),
    }


def _warm_up(contestant: Contestant, product: Product) -> None:
    job = contestant.prepare(data.product(product.data, product.dtype, 64, 64, 64), product.threads)
    job.run()
    job.close()


def _array_bytes(result: Any) -> int | None:
    if isinstance(result, np.ndarray):
        return result.nbytes
    if isinstance(result, tuple):
        return sum(x.nbytes for x in result if isinstance(x, np.ndarray))
    return None


def _reset_peak() -> int:
    """Bytes resident now, which from now on are the peak."""
    try:
        _RESET.write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return _resident()[1]
    return _resident()[0]


def _resident() -> tuple[int, int]:
    """Bytes resident now and at the peak; the peak twice where the system does not tell."""
    if not _STATUS.exists():
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        return peak, peak
    fields = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="ascii").splitlines())
    now, peak = (int(fields[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))
    return now, peak
