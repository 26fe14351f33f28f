"""Arrays on CUDA devices: any layout, the caller's stream and device, and results that stay there.

What every library has to do is tested with the others: EXACTLA_TEST_LIBRARIES=cupy,torch-cuda,jax-cuda.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import exactla as xl
from tests.array_libraries import CUDA, ArrayLibrary, missing, opened

SPIN = 'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }'
LONG = 400_000_000  # cycles: a few tenths of a second


def need(*names: str) -> None:
    for name in names:
        reason = missing(name)
        if reason is not None:
            pytest.skip(f"NOT EXERCISED: {reason}")


@pytest.fixture(params=CUDA)
def cuda(request: pytest.FixtureRequest) -> Iterator[ArrayLibrary]:
    need(request.param)
    with opened(request.param) as library:
        yield library


@pytest.fixture
def torch() -> Any:
    need("torch-cuda")
    return pytest.importorskip("torch")


@pytest.fixture
def cupy() -> Any:
    need("cupy")
    return pytest.importorskip("cupy")


def numbers(name: str, *shape: int, seed: int = 0) -> Any:
    """Entries of any type, of both signs where it has them, and no two alike."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 50
    if name.startswith("complex"):
        return (values + 1j * rng.standard_normal(shape)).astype(name)
    return (np.abs(values) if name.startswith("u") else values).astype(name)


def same(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


VIEWS = {
    "whole": lambda x: x,
    "a column of matrices": lambda x: x[:, 1],
    "every second": lambda x: x[..., ::2],
    "inside": lambda x: x[1:, :2, 1:3],
    "transposed": lambda x: x.mT,
    "a vector": lambda x: x[0, :, 1],
    "no stacks": lambda x: x[:0],
    "no rows": lambda x: x[:, :0],
    "no depth": lambda x: x[..., :0],
    "backwards": lambda x: x[::-1, :, ::-2],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["float64", "float32", "float16", "complex64", "complex128", "int16", "bool"])
def test_views_give_the_bytes_of_their_copies(cuda: ArrayLibrary, name: str, view: str) -> None:
    if view == "backwards" and cuda.name == "torch":
        pytest.skip("tensors have no negative strides")
    original = numbers(name, 2, 3, 4)
    a, x = VIEWS[view](original), VIEWS[view](cuda.make(original))
    result, expected = xl.mm_enclose_nt(x, x), xl.mm_enclose_nt(a, a)
    for end, expected_end in zip(result, expected, strict=True):
        assert isinstance(end, cuda.kind())
        assert cuda.device(end) == cuda.device(x)
        same(cuda.host(end), expected_end)
    same(cuda.host(xl.mm_nt(x, x, rounding="up")), xl.mm_nt(a, a, rounding="up"))


def test_a_repeated_matrix(cuda: ArrayLibrary) -> None:
    namespace = cuda.module.numpy if cuda.name == "jax" else cuda.module
    original = numbers("float64", 1, 3, 4)
    a, x = np.broadcast_to(original, (5, 3, 4)), namespace.broadcast_to(cuda.make(original), (5, 3, 4))
    same(cuda.host(xl.mm_nt(x, x)), xl.mm_nt(a, a))
    same(cuda.host(xl.mm_nt(x, x[0])), xl.mm_nt(a, a[0]))


def test_exact_and_interval_products(cuda: ArrayLibrary) -> None:
    a, b = numbers("int64", 3, 70), numbers("int64", 70, 5)
    same(cuda.host(xl.mm_exact(cuda.make(a), cuda.make(b))), xl.mm_exact(a, b))
    mid, rad = numbers("float64", 6, 6), np.abs(numbers("float64", 6, 6, seed=1))
    for method in ("sharp", "rump", "hull"):
        expected = xl.mm_interval(mid, rad, mid, rad, method=method)
        found = xl.mm_interval(*map(cuda.make, (mid, rad, mid, rad)), method=method)
        for end, expected_end in zip(found, expected, strict=True):
            same(cuda.host(end), expected_end)


def test_entries_that_are_not_finite(cuda: ArrayLibrary) -> None:
    a, b = numbers("float64", 3, 4), numbers("float64", 4, 3)
    a[1, 2] = np.inf
    with pytest.raises(xl.NonFiniteError, match=r"a\[1, 2\]"):
        xl.mm(cuda.make(a), cuda.make(b))
    same(
        cuda.host(xl.mm(cuda.make(a), cuda.make(b), nonfinite="propagate")),
        xl.mm(a, b, nonfinite="propagate"),
    )


def test_libraries_on_one_device_are_not_mixed(cupy: Any, torch: Any) -> None:
    with pytest.raises(TypeError, match="a is a cupy array and b is a torch array; convert one of them"):
        xl.mm(cupy.ones((2, 2)), torch.ones(2, 2, device="cuda"))


def test_the_host_and_the_device_are_not_mixed(torch: Any) -> None:
    with pytest.raises(ValueError, match="a is on device cuda:0 and b is on device cpu; move one of them"):
        xl.mm(torch.ones(2, 2, device="cuda:0"), torch.ones(2, 2))


def test_a_library_that_is_known_by_dlpack_alone(cupy: Any) -> None:
    class Foreign:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

    a = numbers("float64", 5, 6)
    x = Foreign(cupy.asarray(a))
    result = xl.mm_nt(x, x)
    assert type(result) is cupy.ndarray
    same(cupy.asnumpy(result), xl.mm_nt(a, a))


# ---- streams: operands arrive long after the call has begun ----------------------------------------------------------


def test_the_current_stream_of_torch(torch: Any) -> None:
    a = numbers("float64", 200, 200)
    arriving, operand = torch.from_numpy(a).cuda(), torch.zeros(200, 200, dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(LONG)
        operand.copy_(arriving)
        result = xl.mm_nt(operand, operand)
        operand.zero_()  # after the product has read it
        found = result.cpu().numpy()
    same(found, xl.mm_nt(a, a))


def test_the_current_stream_of_cupy(cupy: Any) -> None:
    a = numbers("float64", 200, 200)
    arriving, operand = cupy.asarray(a), cupy.zeros((200, 200))
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=True) as stream:
        cupy.RawKernel(SPIN, "spin")((1,), (1,), (np.int64(LONG),))
        operand[...] = arriving
        result = xl.mm_nt(operand, operand)
        operand[...] = 0
        found = cupy.asnumpy(result)
        assert cupy.cuda.get_current_stream() == stream
    same(found, xl.mm_nt(a, a))


def test_arrays_that_jax_has_not_computed_yet() -> None:
    need("jax-cuda", "cupy")
    with opened("jax-cuda") as library:
        jax, a = library.module, numbers("float64", 200, 200)

        @jax.jit
        def later(x: Any, y: Any) -> Any:
            y = jax.lax.fori_loop(0, 50, lambda _, z: z @ z * 1e-3, y)  # comes down to zeros
            return x + y[:200, :200]

        operand = later(library.make(a), library.make(np.ones((3000, 3000)) * 1e-3))
        doubled = jax.jit(lambda x: x * 2)(xl.mm_nt(operand, operand))
        same(library.host(doubled), 2 * xl.mm_nt(a, a))


def test_operands_that_are_let_go(cuda: ArrayLibrary) -> None:
    """Memory that a call has read is used again at once."""
    a = numbers("float32", 300, 300)
    expected = xl.mm_nt(a, a)
    for _ in range(20):
        operand = cuda.make(a)
        result = xl.mm_nt(operand, operand)
        del operand
        other = cuda.make(np.zeros((300, 300), "float32"))
        same(cuda.host(result), expected)
        assert not cuda.host(other).any()


# ---- several devices -----------------------------------------------------------------------------------------------


def test_a_device_that_is_not_the_current_one(cupy: Any, torch: Any) -> None:
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("NOT EXERCISED: one CUDA device")
    a = numbers("float64", 20, 30)
    with cupy.cuda.Device(1):
        x = cupy.asarray(a)
    for operand in (x, torch.from_numpy(a).to("cuda:1")):
        result = xl.mm_nt(operand, operand)
        assert result.device == operand.device
        assert (cupy.cuda.runtime.getDevice(), torch.cuda.current_device()) == (0, 0)
        found = result.cpu().numpy() if isinstance(operand, torch.Tensor) else cupy.asnumpy(result)
        same(found, xl.mm_nt(a, a))
    with pytest.raises(ValueError, match="a is on device <CUDA Device 0> and bt is on device <CUDA Device 1>"):
        xl.mm_nt(cupy.asarray(a), x)


# ---- recorded programs ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("compiler", ["eager", "aot_eager", "inductor"])
def test_recorded_products(torch: Any, compiler: str) -> None:
    a = torch.from_numpy(numbers("float64", 9, 7)).cuda()

    def program(x: Any) -> Any:
        enclosure = xl.mm_enclose(2 * x, x.mT)
        return enclosure.lo, enclosure.hi, xl.mm_nt(x, x, rounding="down") + 1

    for found, expected in zip(torch.compile(program, fullgraph=True, backend=compiler)(a), program(a), strict=True):
        assert found.device == expected.device
        same(found.cpu().numpy(), expected.cpu().numpy())


@pytest.mark.filterwarnings("ignore")
def test_torch_finds_no_fault_in_the_operators(torch: Any) -> None:
    import exactla.torch_operators  # noqa: F401  # registers them

    a = torch.from_numpy(numbers("float32", 9, 7)).cuda()
    for operator in (torch.ops.exactla.mm_enclose.default, torch.ops.exactla.mm.default):
        assert set(torch.library.opcheck(operator, (a, a.mT)).values()) == {"SUCCESS"}
