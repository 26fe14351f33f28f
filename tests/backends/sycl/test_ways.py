"""The other ways in which kernels of a SYCL device can be compiled and products made: the same results in each."""

from functools import partial

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from exactla_backends.device.backend import DeviceBackend
from exactla_backends.kernels import spirv
from exactla_backends.sycl import device as sycl_device
from exactla_backends.sycl import programs
from exactla_backends.sycl.matrix import SyclMatrix
from exactla_backends.sycl.runtime import path_of_modules
from tests.backends.sycl.matrix_units import WithMatrixUnits


class OneLane(sycl_device.SyclDevice):
    """One entry for each work item, and kernels that know no number of limbs."""

    lanes = 1
    fixed_limbs = 0

    def has_vectors(self):
        return False


class OtherVectors(sycl_device.SyclDevice):
    """Products in the shape for vectors of 512 bits where the device has shorter ones, and the other way round."""

    def has_narrow_vectors(self):
        return not super().has_narrow_vectors()


class LikeGPU(sycl_device.SyclDevice):
    """Words of four residues, and sums of four products, where the device has functions for them."""

    def has_vectors(self):
        return False

    def is_cpu(self):
        return False


WAYS = {
    "one lane": OneLane,
    "other vectors": OtherVectors,
    "like a GPU": LikeGPU,
    "SPIR-V": sycl_device.SyclDevice,
    "SPIR-V without dot products": sycl_device.SyclDevice,
    "matrix units, sub-groups of 8": partial(WithMatrixUnits, 8),
    "matrix units, sub-groups of 16": partial(WithMatrixUnits, 16),
}


@pytest.fixture(scope="module", params=WAYS)
def made_in_a_way(request):
    """A backend of its own, with the programs that it has compiled."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param.startswith("SPIR-V"):
            if path_of_modules() is None:
                pytest.skip(f"kernels as SPIR-V NOT EXERCISED: {spirv.why_none() or programs.NO_MODULES}")
            patch.setenv(programs.SETTING, "spirv")
        if request.param == "SPIR-V without dot products":
            patch.setattr(programs, "has_dot_products", lambda queue: False)
        device = WAYS[request.param]()
        yield DeviceBackend("sycl", device, SyclMatrix(device))


@pytest.fixture
def results(monkeypatch, made_in_a_way):
    """What a call gives on that backend, and on NumPy's."""
    reason = next(b.reason for b in xl.backends() if b.name == "sycl")
    if reason:
        pytest.skip(f"SYCL devices NOT EXERCISED: {reason}")
    load = registry.load

    def both(call):
        with xl.backend("numpy"):
            wanted = call()
        monkeypatch.setattr(registry, "load", lambda name: made_in_a_way if name == "sycl" else load(name))
        with xl.backend("sycl"):
            return call(), wanted

    return both


def floats(rng, *shape, spread=9):
    return np.ldexp(rng.standard_normal(shape), rng.integers(-spread, spread + 1, shape))


@pytest.mark.parametrize("spread", [9, 200, 900])
def test_products(rng, results, spread):
    a, b = floats(rng, 2, 7, 150, spread=spread), floats(rng, 150, 21, spread=spread)
    found, wanted = results(lambda: xl.mm_enclose(a, b))
    assert xl.digest(*found) == xl.digest(*wanted)


def test_special_entries(rng, results):
    a, b = floats(rng, 5, 40), floats(rng, 40, 9)
    a[[1, 2, 2], [3, 4, 5]] = np.inf, np.nan, -np.inf
    found, wanted = results(lambda: xl.mm(a, b, nonfinite="propagate"))
    assert xl.digest(found) == xl.digest(wanted)


@pytest.mark.parametrize("method", ["rump", "sharp", "hull"])
@pytest.mark.parametrize("spread", [3, 300])
def test_intervals(rng, results, method, spread):
    m, r = floats(rng, 6, 20, spread=spread), abs(floats(rng, 6, 20, spread=spread))
    found, wanted = results(lambda: xl.mm_interval(m, r, m.T, r.T, method=method))
    assert xl.digest(*found) == xl.digest(*wanted)


@pytest.mark.parametrize("bits", [6, 62])
def test_integers(rng, results, bits):
    a = rng.integers(-(1 << bits), 1 << bits, (9, 33))
    found, wanted = results(lambda: xl.mm_exact(a, a.T))
    assert found.tolist() == wanted.tolist()


def test_each_engine_is_exact(made_in_a_way):
    for engine in made_in_a_way.engines:
        for limit in engine.modulus_limits:
            assert made_in_a_way.engine_is_exact(engine, limit)


def test_an_engine_that_is_wrong_is_noticed(monkeypatch, made_in_a_way):
    multiply = made_in_a_way._matrix.multiply

    def spoilt(terms, *others):
        return multiply(terms[:1] + terms[:1], *others)

    monkeypatch.setattr(made_in_a_way._matrix, "multiply", spoilt)
    assert not made_in_a_way.engine_is_exact(made_in_a_way.engines[0], 256)
