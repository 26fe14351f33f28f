"""Arrays of other libraries that cannot be taken: mixed, on two devices, watched, traced, without entries."""

import numpy as np
import pytest

import exactla as xl
from tests.test_errors import EVERY_CALL, FLOAT_CALLS, every_call, with_bad


@every_call()
def test_mixed_libraries_are_named(library, name, call, good, names):
    if library.name == "numpy":
        pytest.skip("NumPy is the other library")
    for position in range(len(good)):
        operands = with_bad(good, position, library.make(good[position].astype(np.float32)))
        with pytest.raises(TypeError) as caught:
            call(*operands)
        assert library.name in str(caught.value)
        assert "numpy" in str(caught.value)


def test_lists_beside_the_arrays_of_another_library():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"torch.*numpy|numpy.*torch"):
        xl.mm(torch.eye(2), [[1.0, 2.0], [3.0, 4.0]])


@every_call([c for c in EVERY_CALL if c[0] != "mm_exact"])
def test_mixed_devices_are_named(name, call, good, names):
    xp = pytest.importorskip("array_api_strict")
    here, there = xp.asarray(good[0]), xp.asarray(good[0], device=xp.Device("device1"))
    operands = [here] * len(good)
    operands[-1] = there
    with pytest.raises(ValueError, match="device") as caught:
        call(*operands)
    assert "device1" in str(caught.value)
    assert "CPU_DEVICE" in str(caught.value)


@every_call(FLOAT_CALLS)
def test_tensors_that_require_grad(name, call, good, names):
    torch = pytest.importorskip("torch")
    plain = torch.ones(good[0].shape, dtype=torch.float64)
    watched = torch.ones(good[0].shape, dtype=torch.float64, requires_grad=True)
    for position, argument in enumerate(names):
        operands = with_bad([plain] * len(good), position, watched)
        with pytest.raises(ValueError, match=rf"{argument}.*detach"):
            call(*operands)
        with torch.no_grad():
            call(*operands)
        call(*(x.detach() for x in operands))


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_tensors_without_plain_entries():
    torch = pytest.importorskip("torch")
    plain = torch.eye(2)
    for bad, match in (
        (torch.eye(2, device="meta"), "meta"),
        (plain.to_sparse(), "dense"),
        (torch.quantize_per_tensor(plain, 0.1, 0, torch.qint8), "quantized"),
        (torch.eye(2, dtype=torch.float8_e8m0fnu) if hasattr(torch, "float8_e8m0fnu") else None, "float8_e8m0fnu"),
    ):
        if bad is not None:
            with pytest.raises(TypeError, match=match):
                xl.mm(bad, plain)
    with pytest.raises(TypeError, match="transformed"):
        torch.func.vmap(lambda x: xl.mm(x, x))(torch.ones(3, 2, 2))


def test_tracers():
    jax = pytest.importorskip("jax")
    for transform in (jax.jit, jax.vmap):
        with pytest.raises(TypeError, match="tracer"):
            transform(lambda x: xl.mm(x, x))(jax.numpy.ones((3, 2, 2)))


def test_jax_without_64_bits():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(False):
        a = jax.numpy.ones((2, 2), dtype=jax.numpy.int32)
        with pytest.raises(ValueError, match="jax_enable_x64"):
            xl.mm(a, a)
        assert xl.mm(a, a, dtype="float32").dtype == np.float32


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2"])
def test_results_that_a_library_cannot_hold(name):
    xp = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match=name):
        xl.mm(xp.eye(2), xp.eye(2), dtype=name)
