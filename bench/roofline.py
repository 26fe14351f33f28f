"""`python -m bench roofline`: how far the steps of a product of the cpu backend are from what bounds them.

A step is a verb of the Backend protocol on the operands of one product. Its operations are multiply-adds of bytes, its
bytes those that it reads and writes if every array crosses the memory bus once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from bench import data, peaks, timing
from bench.record import Row
from bench.timing import Run, Sampling
from exactla import registry
from exactla.arrays import read
from exactla.backend import Backend, Operand
from exactla.core.planning import Arithmetic, arithmetic, sum_bits
from exactla.results import Rounding
from exactla_backends.kernels import tables

BACKEND = "cpu"
ENDS = (Rounding.DOWN, Rounding.UP)
PAIRS = ((0,), (0,))
MATRIX, VECTOR = "amx", "avx512_vnni"
NEAR = 0.5
"""Share of a limit from which on it counts as what bounds a step; below, it is the instructions around."""


@dataclass(frozen=True)
class Step:
    """A part of a product, with what it does and the unit that does it."""

    name: str
    run: Run
    operations: int
    bytes: int
    unit: str


def run(n: int, dtype: str, threads: int, sampling: Sampling) -> list[Row]:
    """A row for each step of one n x n product, and for oneDNN's product of bytes where torch is installed."""
    steps = [*_steps(n, dtype), *_onednn(n, threads)]
    limits = peaks.measure(threads)
    warm = {step.name: timing.warm_up(step.run) for step in steps}
    timings = timing.alternate({step.name: step.run for step in steps}, warm, sampling)
    problem = {"n": n, "dtype": dtype, "data": "normal", "reason": None}
    return [{**_row(step, timings[step.name].median, limits), **problem} for step in steps]


def _row(step: Step, seconds: float, limits: Mapping[str, float]) -> Row:
    row: Row = {
        "contestant": step.name,
        "seconds_median": seconds,
        "operations": step.operations,
        "bytes": step.bytes,
        "unit": step.unit,
        "operations_per_second": step.operations / seconds,
        "bytes_per_second": step.bytes / seconds,
        "unit_peak": limits.get(step.unit),
        "memory_peak": limits["memory"],
    }
    shares = {"memory": row["bytes_per_second"] / limits["memory"]}
    if step.unit in limits:
        shares[step.unit] = row["operations_per_second"] / limits[step.unit]
    nearest = max(shares, key=lambda name: shares[name])
    return {**row, "shares": shares, "bound": nearest if shares[nearest] >= NEAR else "instructions"}


def _steps(n: int, dtype: str) -> list[Step]:
    """The verbs of one product, each on what the verb before it has made."""
    backend = registry.load(BACKEND)
    problem = data.product("normal", dtype, n, n, n)
    sources = read(problem.a, "a"), read(problem.b, "b")
    views = [backend.view(x, part="real", transpose=x is sources[1]) for x in sources]
    left, right = (side.operands[0] for side in backend.scan([(view,) for view in views]))
    plan = arithmetic(backend, sum_bits(left.bits, right.bits, n), None)
    return [
        Step("scan", lambda: backend.scan([(views[0],)]), 0, n * n * problem.a.itemsize, VECTOR),
        *_conversion(backend, left, plan, problem.a.itemsize),
        *_product(backend, (left, right), plan, sources[0].format, problem.a.itemsize),
    ]


def _conversion(backend: Backend, operand: Operand, plan: Arithmetic, width: int) -> list[Step]:
    """One operand into residues: for each a sum over the bytes of an entry."""
    _, rows, depth = operand.shape
    entries, moduli = rows * depth, len(plan.base.moduli)
    work = entries * moduli * 4 * tables.limbs_for(operand.bits)
    run = _of(backend.residues, operand, plan.base, plan.engine)
    return [Step("into residues", run, work, entries * (width + moduli), VECTOR)]


def _product(
    backend: Backend, operands: tuple[Operand, Operand], plan: Arithmetic, format: Any, width: int
) -> list[Step]:
    """The product of the residues; back, and rounding; and both, tile by tile, as calls have it."""
    (left, _), (right, _) = (backend.residues(x, plan.base, plan.engine) for x in operands)
    n, moduli = operands[0].shape[1], len(plan.base.moduli)
    crt = tables.crt(plan.base, 1)
    products, sums = moduli * n**3, n * n * 4 * (1 + crt.limbs) * 4 * crt.groups
    residues, encodings = n * n * moduli, len(ENDS) * n * n * width
    exponents = (*operands, PAIRS, 0)
    whole = backend.multiply([(1, left, right)], PAIRS, plan.base, plan.engine)
    backend.round(whole.residues, plan.base, exponents, format, ENDS)

    def multiply() -> Any:
        return backend.multiply([(1, left, right)], PAIRS, plan.base, plan.engine).residues

    def both() -> Any:
        pending = backend.multiply([(1, left, right)], PAIRS, plan.base, plan.engine)
        return backend.round(pending, plan.base, exponents, format, ENDS)

    rounding = _of(backend.round, whole.residues, plan.base, exponents, format, ENDS)
    return [
        Step("product of residues", multiply, products, 3 * residues, MATRIX),
        Step("back, and rounding", rounding, sums, residues + encodings, VECTOR),
        Step("product, back, and rounding", both, products, 2 * residues + encodings, MATRIX),
    ]


def _onednn(n: int, threads: int) -> list[Step]:
    """One product of bytes to 32-bit sums, as torch has it from oneDNN; nothing where torch is not installed."""
    try:
        import torch
    except ImportError:
        return []
    torch.set_num_threads(threads)
    a, b = (torch.randint(-128, 128, (n, n), dtype=torch.int8) for _ in range(2))
    return [Step("oneDNN", _of(torch._int_mm, a, b), n**3, 6 * n * n, MATRIX)]


def torch_version() -> str | None:
    """The version of torch; None where it is not installed."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def _of(function: Callable[..., Any], *arguments: Any) -> Run:
    return lambda: function(*arguments)


def missing() -> str | None:
    """Why the steps cannot be measured here; None where they can."""
    statuses: Sequence[Any] = registry.backends()
    reason = next((s.reason for s in statuses if s.name == BACKEND), f"there is no backend named {BACKEND!r}")
    return reason or peaks.missing()
