"""Numbers that live on a device: what is made there stays there, and has the bytes that it has on the host."""

import operator
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exactla as xl
from exactla import MPArray, arrays, registry
from exactla.core import lu
from tests.libraries import fake_cupy
from tests.multiprecision.device import PretendedMultiprecision, described


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendedMultiprecision]:
    """The verbs of the only backend for "cuda" devices."""
    description, verbs = described()
    known = {name: d for name, d in registry.descriptions().items() if "cuda" not in d.devices}
    monkeypatch.setattr(registry, "descriptions", lambda: {**known, "pretended": description})
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module())
    readers = [f"exactla.libraries.{name}" for name in ("cupy", "dlpack")]
    real = {name: sys.modules.pop(name) for name in readers if name in sys.modules}
    registry.default.cache_clear()
    arrays._library_of.cache_clear()
    yield verbs
    for name in readers:
        sys.modules.pop(name, None)
    sys.modules.update(real)
    registry.default.cache_clear()
    arrays._library_of.cache_clear()


def on(index: int, array: Any) -> Any:
    with fake_cupy.Device(index):
        return fake_cupy.asarray(array)


def numbers(rng: np.random.Generator, shape: Any = (4, 6)) -> Any:
    return rng.standard_normal(shape) * 2.0 ** rng.integers(-70, 70, shape)


def assert_there(found: MPArray, expected: MPArray, index: int = 1) -> None:
    assert found.device == fake_cupy.Device(index)
    assert type(found.limbs) is fake_cupy.ndarray
    assert found.limbs.memory.flags.c_contiguous
    assert xl.digest(found) == xl.digest(expected)


def test_to_a_device_and_back(device, rng):
    x = numbers(rng)
    host = MPArray.from_float(x)
    assert host.device == "cpu"
    assert host.to_device("cpu").limbs is not None
    there = MPArray.from_float(on(1, x))
    assert_there(there, host)
    assert there.shape == host.shape
    assert (there.bits, there.nbytes > 0) == (host.bits, True)
    assert there.to_device("cuda").limbs is there.limbs
    back = there.to_device("cpu")
    assert back.device == "cpu"
    assert (back == host).all()
    with fake_cupy.Device(1):
        assert_there(host.to_device("cuda"), host)
    integers = rng.integers(-(1 << 62), 1 << 62, (3, 2))
    assert_there(MPArray.from_float(on(1, integers)), MPArray.from_float(integers))
    pairs = np.stack([x, x * 2.0**-60], axis=-1)
    assert_there(MPArray.from_components(on(1, pairs)), MPArray.from_components(pairs))


def test_conversions_give_arrays_of_the_library(device, rng):
    x = numbers(rng)
    there = MPArray.from_float(on(1, x))
    for found in (there.to_float(), there.to_components(2)[..., 0]):
        assert type(found) is fake_cupy.ndarray
        assert found.device == fake_cupy.Device(1)
        assert (found.memory == x).all()
    assert there.tolist() == MPArray.from_float(x).tolist()
    assert repr(there).endswith(", on <CUDA Device 1>)")
    assert str(there) == str(MPArray.from_float(x))
    assert float(there[1, 2]) == x[1, 2]


INDICES = [np.s_[1], np.s_[::-1, 1:3], np.s_[..., 0], np.s_[[2, 0]], np.s_[None], np.s_[5:]]


@pytest.mark.parametrize("index", INDICES)
def test_indexing(device, rng, index):
    x = numbers(rng)
    assert_there(MPArray.from_float(on(1, x))[index], MPArray.from_float(x[index]))


def test_shapes(device, rng):
    x = numbers(rng, (2, 3, 4))
    host, there = MPArray.from_float(x), MPArray.from_float(on(1, x))
    for change in (
        lambda a: a.T,
        lambda a: a.transpose(1, 2, 0),
        lambda a: a.reshape(-1, 2),
        lambda a: a.copy(),
        lambda a: a.scaled(-5),
        lambda a: a.normalized(),
        lambda a: a.rounded(7),
        lambda a: a.rounded(7, "up"),
        lambda a: -a,
        abs,
    ):
        assert_there(change(there), change(host))
    assert (bool(there[0, 0, 0]), bool(there[0, 0, 0] - there[0, 0, 0]), len(there)) == (True, False, 2)


@pytest.mark.parametrize("combine", [operator.add, operator.sub])
def test_sums(device, rng, combine):
    x, y = numbers(rng), numbers(rng)
    (a, b), (p, q) = (tuple(MPArray.from_float(v) for v in side) for side in ((on(1, x), on(1, y)), (x, y)))
    assert_there(combine(a, b), combine(p, q))
    assert_there(combine(a, b[0]), combine(p, q[0]))
    assert_there(combine(a, on(1, y)), combine(p, q))
    for number in (0, 3, Fraction(-5, 8), 2.0**-300, MPArray.from_float(np.float64(1.5))):
        assert_there(combine(a, number), combine(p, number))
        assert_there(combine(number, a), combine(number, p))
    assert_there(combine(a - a, a), combine(p - p, p))
    assert (a - a).limbs.shape[-1] == 1


def test_scaling_and_products(device, rng):
    x, y = numbers(rng), numbers(rng, (6, 3))
    (a, b), (p, q) = (tuple(MPArray.from_float(v) for v in side) for side in ((on(1, x), on(1, y)), (x, y)))
    for factor in (0, -1, 3, Fraction(5, 16), 7**90, a[0, 0].to_device("cpu")):
        assert_there(a * factor, p * factor)
        assert_there(factor * a, factor * p)
    assert_there(a @ b, p @ q)
    assert_there(a[0] @ b, p[0] @ q)
    assert_there(a @ on(1, y), p @ q)
    found, info = xl.mp_mm(a, b, 60, return_info=True)
    assert_there(found, xl.mp_mm(p, q, 60))
    assert info.backend == "pretended"
    assert info.host_syncs == 2
    assert device.calls["product"] > 0


def test_products_of_components(device, rng):
    x = np.stack([numbers(rng, (3, 3)), np.zeros((3, 3))], axis=-1)
    found = xl.mp_mm(on(1, x), on(1, x))
    assert type(found) is fake_cupy.ndarray
    assert (found.memory == xl.mp_mm(x, x)).all()


COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons_are_made_there(device, rng, compare):
    x = rng.integers(-2, 3, (4, 5)).astype(float)
    y = rng.integers(-2, 3, (4, 5)).astype(float)
    before = device.calls["download"]
    for other, plain in ((MPArray.from_float(on(1, y)), y), (1, 1)):
        found = compare(MPArray.from_float(on(1, x)), other)
        assert type(found) is fake_cupy.ndarray
        assert found.dtype == np.bool_
        assert (found.memory == compare(x, plain)).all()
    assert device.calls["download"] == before


def test_what_is_computed_there_is_not_copied_to_the_host(device, rng):
    a, b = (MPArray.from_float(on(1, numbers(rng, (5, 5)))) for _ in range(2))
    before = device.calls["download"]
    ((a @ b - b.T) * 3)[1:, ::-1].reshape(-1).rounded(99).scaled(4)
    assert device.calls["download"] == before


def system(rng: np.random.Generator) -> tuple[Any, Any]:
    return numbers(rng, (11, 11)), numbers(rng, (11, 2))


def test_factors_and_solutions(device, rng, monkeypatch):
    monkeypatch.setattr(lu, "BLOCK", 4)
    x, y = system(rng)
    expected = xl.lu_factor(x, precision=150)
    for matrix in (on(1, x), MPArray.from_float(on(1, x))):
        found = xl.lu_factor(matrix, precision=150)
        assert found.info.backend == "pretended"
        assert found.perm.tolist() == expected.perm.tolist()
        assert_there(found.L, expected.L)
        assert_there(found.U, expected.U)
        assert_there(found.det(), expected.det())
        assert_there(found.inv(), expected.inv())
        for right, plain in ((on(1, y), y), (MPArray.from_float(on(1, y[:, 0])), y[:, 0])):
            for steps in (0, 2):
                assert_there(found.solve(right, refine=steps), expected.solve(plain, refine=steps))
    assert repr(found) == f"{repr(expected)[:-1]}, on <CUDA Device 1>)"


def test_a_factorisation_copies_no_limbs_to_the_host(device, rng, monkeypatch):
    monkeypatch.setattr(lu, "BLOCK", 4)
    matrix = MPArray.from_float(on(1, system(rng)[0]))
    device.calls.clear()
    xl.lu_factor(matrix, precision=150)
    assert device.calls["download"] == 0
    assert device.calls["largest"] == 11
    assert device.calls["most_bits"] == 3


def test_certified_solutions(device, rng):
    x, y = system(rng)
    found = xl.lu_solve(on(1, x), on(1, y), precision="auto", digits=20)
    assert_there(found, xl.lu_solve(x, y, precision="auto", digits=20))


def test_a_forced_backend_takes_numbers_of_the_host(device, rng):
    x, y = system(rng)
    expected = xl.lu_factor(x, precision=150)
    with xl.backend("pretended"):
        found = xl.lu_factor(x, precision=150)
        solution = found.solve(y, refine=1)
        product = MPArray.from_float(x) @ y
    assert found.info.backend == "pretended"
    assert found.L.device == solution.device == product.device == "cpu"
    assert xl.digest(found.L, found.U, solution) == xl.digest(expected.L, expected.U, expected.solve(y, refine=1))
    assert (product == MPArray.from_float(x) @ y).all()


def test_devices_are_not_mixed(device, rng):
    x, y = system(rng)
    host, first, second = MPArray.from_float(x), MPArray.from_float(on(0, x)), MPArray.from_float(on(1, x))
    for one, other in ((host, second), (second, host), (first, second), (second, x)):
        for combine in (operator.add, operator.sub, operator.matmul, operator.eq, operator.lt, xl.mp_mm):
            if combine is xl.mp_mm and not isinstance(other, MPArray):
                continue
            with pytest.raises(ValueError, match=r"on device .*; move one of them with to_device"):
                combine(one, other)
    with pytest.raises(ValueError, match=r"A is on device <CUDA Device 1> and b is on device cpu; move"):
        xl.lu_factor(second, precision=90).solve(y)
    with xl.backend("numpy"), pytest.raises(xl.BackendUnavailable, match="takes no arrays on 'cuda' devices"):
        second @ second


def test_devices_that_have_no_verbs(device):
    x = MPArray.from_float(np.ones(3))
    with pytest.raises(xl.BackendUnavailable, match="no backend takes arrays on 'rocm'"):
        x.to_device("rocm")
    with pytest.raises(TypeError, match="a kind of device is named by a string, got Device"):
        x.to_device(fake_cupy.Device(0))  # type: ignore[arg-type]


def test_memory_is_that_of_the_device(device, rng, monkeypatch):
    monkeypatch.setattr(device, "free_bytes", lambda: 1000, raising=False)
    a = MPArray.from_float(on(1, numbers(rng, (5, 5))))
    for call in (lambda: a @ a, lambda: xl.lu_factor(a, precision=200)):
        with pytest.raises(xl.WorkspaceError) as caught:
            call()
        assert caught.value.allowed == 750
