"""`python -m bench.lu_device`: LU factors of Lotkin matrices on the CUDA backend, checked and timed by parts.

The factors of a small one are compared with those of the cpu backend, limb by limb. The parts are timed in a run of
their own, in which the host waits for the device after each of them; the whole is timed without that.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from time import perf_counter
from typing import Any

import numpy as np

import exactla as xl
from exactla import registry

CHECKED = (256, 3136)
TIMED = ((1024, 6272), (1024, 8192), (2048, 12544))
ELIMINATION = (
    *("open_columns", "column", "put_column", "rest_of_row", "put_row"),
    *("exchange", "open_rows", "row", "close"),
)
VERBS = ("largest", "divide", "scale", "store", "gather", "most_bits", "product", "substitute")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", type=_case, metavar="N,P", help="order and bits; default: all")
    parser.add_argument("--no-parts", action="store_true", help="do not time the parts")
    given = parser.parse_args(arguments)
    _check(*CHECKED)
    for size, precision in given.case or TIMED:
        _time(size, precision, parts=not given.no_parts)


def _case(text: str) -> tuple[int, int]:
    size, precision = text.split(",")
    return int(size), int(precision)


def _factored(backend: str, size: int, precision: int) -> Any:
    with xl.backend(backend):
        return xl.lu_factor(xl.gallery.lotkin(size, precision), precision=precision)


def _check(size: int, precision: int) -> None:
    ours, theirs = (_factored(backend, size, precision) for backend in ("cuda", "cpu"))
    for name in ("lower", "upper"):
        one, other = (x._verbs.download(getattr(x._factors, name)) for x in (ours, theirs))
        if not np.array_equal(one, other):
            raise SystemExit(f"n = {size}, p = {precision}: {name} differs in {np.sum(one != other)} limbs")
    if ours._factors.order != theirs._factors.order:
        raise SystemExit(f"n = {size}, p = {precision}: other pivots")
    print(f"n = {size}, p = {precision}: the factors of the cpu backend, limb by limb", flush=True)


def _time(size: int, precision: int, *, parts: bool) -> None:
    matrix = xl.gallery.lotkin(size, precision)
    right = np.ones(size)
    with xl.backend("cuda"):
        start = perf_counter()
        factors = xl.lu_factor(matrix, precision=precision)
        _wait()
        between = perf_counter()
        factors.solve(right)
        _wait()
        end = perf_counter()
        print(
            f"n = {size}, p = {precision}: factors {between - start:.3f} s, solution {end - between:.3f} s", flush=True
        )
        if parts:
            with _parts() as seconds:
                start = perf_counter()
                factors = xl.lu_factor(matrix, precision=precision)
                _print("  factors", seconds, perf_counter() - start)
                start = perf_counter()
                factors.solve(right)
                _print("  solution", seconds, perf_counter() - start)


def _print(name: str, seconds: dict[str, list[float]], total: float) -> None:
    found = sorted(((sum(s), len(s), part) for part, s in seconds.items()), reverse=True)
    text = ", ".join(f"{part} {spent:.3f} s / {count}" for spent, count, part in found)
    print(f"{name} {total:.3f} s with waits: {text}", flush=True)
    seconds.clear()


@contextmanager
def _parts() -> Iterator[dict[str, list[float]]]:
    """Seconds of each part, in calls that wait for the device."""
    from exactla_backends.cuda.multiprecision.elimination import CudaElimination

    seconds: dict[str, list[float]] = defaultdict(list)
    kinds = ((CudaElimination, ELIMINATION), (type(registry.load("cuda").multiprecision), VERBS))
    before = [(kind, name, getattr(kind, name)) for kind, names in kinds for name in names]
    for kind, name, method in before:
        setattr(kind, name, _timed(method, name, seconds))
    try:
        yield seconds
    finally:
        for kind, name, method in before:
            setattr(kind, name, method)


def _timed(method: Any, name: str, seconds: dict[str, list[float]]) -> Any:
    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        start = perf_counter()
        found = method(*arguments, **options)
        _wait()
        seconds[name].append(perf_counter() - start)
        return found

    return call


def _wait() -> None:
    import cupy

    cupy.cuda.get_current_stream().synchronize()


if __name__ == "__main__":
    main()
