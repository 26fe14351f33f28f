"""`python -m bench gpu`: products of CuPy arrays beside cuBLAS, and where their time goes, by events of the device.

Whole calls are timed from arrays on the device to arrays on the device, and a result is let go before the next sample.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from time import perf_counter
from typing import Any

import numpy as np

import exactla as xl
from bench import data
from bench.record import Row
from bench.timing import Timing
from exactla import registry

BACKEND = "cuda"
PARTS = {
    "scan": ("scan", "truncate"),
    "conversion": ("residues",),
    "products": ("multiply", "combine"),
    "rounding": ("round", "round_certified", "round_settled", "integers"),
}
"""Verbs of the backend, by what a reader wants to know."""

BLOCK = 4096
"""Larger operands that the host makes repeat a block of so many rows and columns."""

WARM_UP = 0.5
"""Seconds of calls before the clock starts: kernels are compiled, and the device is at its full clock."""

SMALL_CALLS, LARGE = 20, 1024
"""Calls that a sample of a small product takes the mean of, and where large ones begin, of which it is one."""


@dataclass(frozen=True)
class Case:
    """A product, or `batch` of them in one call."""

    m: int
    k: int
    n: int
    dtype: str
    data: str = "normal"
    batch: int = 1

    @property
    def macs(self) -> int:
        """Multiply-and-add steps of the schoolbook product."""
        return self.batch * self.m * self.k * self.n

    @property
    def calls(self) -> int:
        """Calls in a sample."""
        return 1 if min(self.m, self.n) >= LARGE else SMALL_CALLS

    def facts(self) -> Row:
        """How a record names the problem."""
        return {name: getattr(self, name) for name in ("batch", "m", "k", "n", "dtype", "data")}

    def operands(self) -> tuple[Any, Any]:
        """Arrays on the device, which makes large ones of normal numbers itself."""
        import cupy

        if self.data == "normal" and min(self.m, self.n) >= LARGE:
            random = cupy.random.RandomState(data.SEED)
            shapes = (self.m, self.k), (self.k, self.n)
            left, right = (random.standard_normal(shape).astype(self.dtype) for shape in shapes)
            return left, right
        pairs = [self._member(i) for i in range(self.batch)]
        sides = [np.stack(side) if self.batch > 1 else side[0] for side in zip(*pairs, strict=True)]
        return cupy.asarray(sides[0]), cupy.asarray(sides[1])

    def _member(self, member: int) -> tuple[Any, Any]:
        problem = data.product(self.data, self.dtype, *(min(x, BLOCK) for x in (self.m, self.k, self.n)), member=member)
        return _repeated(problem.a, (self.m, self.k)), _repeated(problem.b, (self.k, self.n))


def cases(sizes: Sequence[int], dtypes: Sequence[str], wide: Sequence[int]) -> list[Case]:
    """What is timed: two small shapes, squares of normal data, and squares of wide float64 data."""
    small = [Case(256, 1024, 256, "float64"), Case(20, 256, 12, "float64", batch=5)]
    squares = [Case(n, n, n, dtype) for dtype in dtypes for n in sizes]
    return [*small, *squares, *(Case(n, n, n, "float64", "wide") for n in wide)]


def run(case: Case, repeat: int) -> list[Row]:
    """Rows of one problem: exactla's call with its parts, and the products of cuBLAS."""
    import cupy

    a, b = case.operands()
    call = xl.bmm_enclose if case.batch > 1 else xl.mm_enclose
    rows = [_own_row(case, call, (a, b), repeat)]
    rows.append(_row(case, f"cublas-{case.dtype}", timed(lambda: cupy.matmul(a, b), case.calls, repeat), case.macs))
    moduli = rows[0]["details"]["moduli"]
    if rows[0]["details"]["engine"] == "int8" and case.batch == 1:
        with int8_products(case, moduli) as product:
            rows.append(_row(case, "cublas-int8", timed(product, case.calls, repeat), moduli * case.macs))
    for row in rows:
        row["ratio"] = row["seconds_median"] / rows[0]["seconds_median"]
    return rows


def _own_row(case: Case, call: Callable[..., Any], operands: tuple[Any, Any], repeat: int) -> Row:
    row = _row(case, call.__name__, timed(lambda: call(*operands), case.calls, repeat), case.macs)
    _, info = call(*operands, return_info=True)
    names = ("backend", "engine", "moduli", "bits", "capacity", "passes", "host_syncs", "workspace_bytes")
    row["details"] = {name: getattr(info, name) for name in names}
    row["parts"] = parts(lambda: call(*operands), repeat)
    useful = 2 * info.moduli * case.macs
    products = row["parts"]["products"]
    row["int8_rate"] = {
        "end_to_end": useful / row["seconds_median"],
        "products": useful / products if products else None,
    }
    return row


def _row(case: Case, contestant: str, timing: Timing, macs: int) -> Row:
    return {
        "contestant": contestant,
        **case.facts(),
        "reason": None,
        "seconds_median": timing.median,
        "seconds_minimum": timing.minimum,
        "samples": list(timing.seconds),
        "calls_per_sample": timing.calls,
        "macs_per_second": macs / timing.median,
        "ratio": None,
    }


def _repeated(block: Any, shape: tuple[int, int]) -> Any:
    times = tuple(-(-n // have) for n, have in zip(shape, block.shape, strict=True))
    return np.ascontiguousarray(np.tile(block, times)[: shape[0], : shape[1]])


# ---- time ------------------------------------------------------------------------------------------------------------


def timed(run: Callable[[], object], calls: int, repeat: int) -> Timing:
    """Seconds a call, between two events of the current stream."""
    from cupy.cuda import Event, get_current_stream, get_elapsed_time

    begin = perf_counter()
    while perf_counter() - begin < WARM_UP:
        run()
        get_current_stream().synchronize()
    seconds = []
    for _ in range(repeat):
        start, end = Event(), Event()
        start.record()
        for _ in range(calls):
            result = run()
        end.record()
        end.synchronize()
        del result
        seconds.append(get_elapsed_time(start, end) / 1e3 / calls)
    return Timing(tuple(seconds), calls)


def parts(run: Callable[[], object], repeat: int) -> dict[str, float]:
    """Median seconds a call of each of PARTS; what the device waits for in between belongs to none.

    All are 0 where a small product takes the backend's direct path, which calls no verbs.
    """
    from cupy.cuda import get_elapsed_time

    samples: dict[str, list[float]] = {name: [] for name in PARTS}
    for _ in range(repeat):
        with recorded() as spans:
            run()
        for name in PARTS:
            samples[name].append(sum(get_elapsed_time(*span) for part, span in spans if part == name) / 1e3)
    return {name: float(np.median(found)) for name, found in samples.items()}


@contextmanager
def recorded() -> Iterator[list[tuple[str, tuple[Any, Any]]]]:
    """Pairs of events around each verb that is called inside the block; all have happened at its end."""
    from cupy.cuda import Event

    backend: Any = registry.load(BACKEND)
    spans: list[tuple[str, tuple[Any, Any]]] = []

    def around(part: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def call(*arguments: Any, **keywords: Any) -> Any:
            start, end = Event(), Event()
            start.record()
            result = verb(*arguments, **keywords)
            end.record()
            spans.append((part, (start, end)))
            return result

        return call

    names = [(part, name) for part, verbs in PARTS.items() for name in verbs]
    for part, name in names:
        setattr(backend, name, around(part, getattr(backend, name)))
    try:
        yield spans
        if spans:
            spans[-1][1][1].synchronize()
    finally:
        for _, name in names:
            delattr(backend, name)


# ---- cuBLAS ----------------------------------------------------------------------------------------------------------


@contextmanager
def int8_products(case: Case, moduli: int) -> Iterator[Callable[[], None]]:
    """All residue products of a case by cuBLAS in its fastest layout, without a reduction of their sums."""
    import cupy
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    transposed, as_it_is, int8, int32, compute, default = 1, 0, 3, 10, 72, -1
    m, k, n = (-(-x // 16) * 16 for x in (case.m, case.k, case.n))
    entries = np.random.default_rng(data.SEED).integers(-127, 128, (2, 1 << 20), np.int8)
    left, right = (cupy.asarray(np.resize(side, size)) for side, size in zip(entries, (m * k, n * k), strict=True))
    sums = cupy.cuda.alloc(4 * moduli * m * n)
    one, zero = np.array(1, np.int32), np.array(0, np.int32)
    handle = device.get_cublas_handle()

    def run() -> None:
        cublas.setStream(handle, cupy.cuda.get_current_stream().ptr)
        # every modulus reads the same operands, which takes less memory, and if anything is faster
        cublas.gemmStridedBatchedEx(
            *(handle, transposed, as_it_is, n, m, k, one.ctypes.data),
            *(right.data.ptr, int8, k, 0, left.data.ptr, int8, k, 0),
            *(zero.ctypes.data, sums.ptr, int32, n, m * n, moduli, compute, default),
        )

    yield run


# ---- the device ------------------------------------------------------------------------------------------------------


def describe() -> dict[str, object]:
    """The device and the software on top of it."""
    import cupy

    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(runtime.getDevice())
    name = properties["name"]
    return {
        "device": name.decode() if isinstance(name, bytes) else name,
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "multiprocessors": properties["multiProcessorCount"],
        "device_memory_bytes": properties["totalGlobalMem"],
        "cuda_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "cupy": cupy.__version__,
        **_from_driver(),
    }


def _from_driver() -> dict[str, object]:
    """Version of the driver, and clocks in MHz and power in W as they are now; nothing where its tool is missing."""
    fields = ("driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "power.limit")
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {}
    command = [tool, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", "--id=0"]
    found = subprocess.run(command, check=False, capture_output=True, text=True, timeout=20)
    values = [value.strip() for value in found.stdout.split(",")]
    if found.returncode or len(values) != len(fields):
        return {}
    return dict(zip((field.replace(".", "_") for field in fields), values, strict=True))
