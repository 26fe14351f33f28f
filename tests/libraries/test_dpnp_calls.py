"""Every public call on dpnp arrays: the numbers of NumPy's arrays, on the operands' queue; two queues are refused."""

from typing import Any

import numpy as np
import pytest

import exactla as xl
from tests.array_libraries import missing

dpnp = pytest.importorskip("dpnp")
dpctl = pytest.importorskip("dpctl")
pytestmark = pytest.mark.skipif(missing("dpnp") is not None, reason=f"NOT EXERCISED: {missing('dpnp')}")

MATRIX = np.array([[3, 1, -4, 1], [5, -9, 2, 6], [-5, 3, 5, 8], [9, 7, -9, 3]])
OTHER = np.array([[2, 7, 1, 8], [-2, 8, 1, 8], [2, 8, 4, 5], [9, 0, 4, -5]])
FLOATS = (MATRIX / 8).astype(np.float32)
STACK = np.stack([FLOATS, OTHER.astype(np.float32)])
WIDE = np.array([[1.0, 2**-60], [3.0, -(2**-55)]])
PAIRS = np.stack([WIDE, WIDE * 2**-60], axis=-1)  # double-double components

ARRAYS: dict[str, tuple[Any, ...]] = {
    "mm": (xl.mm, FLOATS, FLOATS),
    "mm_nt": (lambda a, b: xl.mm_nt(a, b, rounding="down"), FLOATS, FLOATS),
    "bmm": (xl.bmm, STACK, STACK),
    "mm_enclose": (xl.mm_enclose, FLOATS, FLOATS),
    "mm_enclose_nt": (xl.mm_enclose_nt, FLOATS, FLOATS),
    "bmm_enclose": (xl.bmm_enclose, STACK, STACK),
    "mm_exact": (xl.mm_exact, MATRIX, OTHER),
    "mm_interval": (lambda a, b: xl.mm_interval(a, abs(a), b, abs(b)), FLOATS, FLOATS),
    "mm_interval_bounds": (lambda a, b: xl.mm_interval_bounds(a, a + 1, b, b + 1, method="hull"), FLOATS, FLOATS),
    "prepare": (lambda a, b: xl.mm(xl.prepare(a), b), FLOATS, FLOATS),
    "width_ulps": (xl.width_ulps, FLOATS, FLOATS + 1),
    "solve_enclose": (lambda a, b: xl.solve_enclose(a, b, dtype="float32"), FLOATS, FLOATS[:, 0]),
    "Rational": (lambda a, b: xl.solve(a, b).enclose("float32"), MATRIX, OTHER),
}
"""Calls whose results are arrays, by the public name that they are a test of."""

NUMBERS: dict[str, tuple[Any, ...]] = {
    "digest": (xl.digest, FLOATS, MATRIX),
    "solve": (lambda a, b: xl.solve(a, b).tolist(), MATRIX, OTHER),
    "solve_general": (lambda a, b: [x.tolist() for x in xl.solve_general(a, b)], MATRIX[:3], OTHER[:3, 0]),
    "det": (xl.det, MATRIX),
    "rank": (xl.rank, MATRIX),
    "inv": (lambda a: xl.inv(a).tolist(), MATRIX),
    "nullspace": (lambda a: xl.nullspace(a).tolist(), MATRIX[:2]),
    "factor": (lambda a, b: xl.factor(a).solve(b).tolist(), MATRIX, OTHER),
    "lu_factor": (lambda a, b: xl.lu_factor(a, precision=90).solve(b).tolist(), FLOATS, FLOATS),
    "lu_solve": (lambda a, b: xl.lu_solve(a, b, precision="auto", digits=20).tolist(), FLOATS, FLOATS),
    "MPArray": (lambda a: xl.MPArray.from_float(a).tolist(), FLOATS),
    "mp_mm": (lambda a, b: xl.MPArray.from_components(xl.mp_mm(a, b)).tolist(), PAIRS, PAIRS),
}
"""Calls whose results are numbers of Python, or are read as such."""

WITHOUT_ARRAYS = {
    "BITS_VERSION",
    "Enclosure",
    "Factorization",
    "GeneralSolution",
    "Info",
    "LU",
    "Prepared",
    "Rounding",
    "backend",
    "backends",
    "engine",
    "gallery",
    "operand_checks",
    "progress",
    "set_operand_checks",
    "set_workspace_limit",
    "slices",
    "threads",
    "workspace_limit",
}
CALLS = ARRAYS | NUMBERS
WITH_TWO = [name for name, (_, *arrays) in CALLS.items() if len(arrays) == 2 and name not in ("digest", "lu_factor")]


@pytest.fixture(scope="module")
def queue() -> Any:
    return dpctl.SyclQueue()


def on(queue: Any, array: Any) -> Any:
    if array.dtype == np.float64 and not queue.sycl_device.has_aspect_fp64:
        pytest.skip("NOT EXERCISED: the device has no double precision")
    return dpnp.asarray(array, sycl_queue=queue)


def test_these_are_all_public_calls() -> None:
    errors = {
        name for name in xl.__all__ if isinstance(found := getattr(xl, name), type) and issubclass(found, Exception)
    }
    assert {*CALLS, *WITHOUT_ARRAYS, *errors} == {*xl.__all__}


@pytest.mark.parametrize("name", ARRAYS)
def test_results_are_arrays_on_the_queue(name: str, queue: Any) -> None:
    call, *arrays = ARRAYS[name]
    found, wanted = call(*(on(queue, x) for x in arrays)), call(*arrays)
    ends = found if isinstance(found, tuple) else (found,)
    for end in ends:
        assert isinstance(end, dpnp.ndarray)
        assert end.sycl_queue == queue
    assert xl.digest(*ends) == xl.digest(*(wanted if isinstance(wanted, tuple) else (wanted,)))


@pytest.mark.parametrize("name", NUMBERS)
def test_results_are_the_same_numbers(name: str, queue: Any) -> None:
    call, *arrays = NUMBERS[name]
    assert call(*(on(queue, x) for x in arrays)) == call(*arrays)


@pytest.mark.parametrize("name", WITH_TWO)
def test_queues_that_differ_are_an_error(name: str, queue: Any) -> None:
    call, first, second = CALLS[name]
    with pytest.raises(ValueError, match=r"on device .*; move one of them"):
        call(on(queue, first), on(dpctl.SyclQueue(), second))


@pytest.mark.parametrize("name", ["mm", "solve", "lu_solve", "mp_mm"])
def test_arrays_of_the_host_are_an_error(name: str, queue: Any) -> None:
    call, first, second = CALLS[name]
    with pytest.raises(TypeError, match="dpnp array"):
        call(on(queue, first), second)
