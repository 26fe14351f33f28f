"""The CUDA backend, kernels and all, on a host that runs them thread by thread, gives the bytes of the reference.

`emulation/` holds what takes the place of a device. A selection runs here, on devices of two generations; the whole of
the tests of the verbs, of the public calls and of the conformance suite runs with the plugin that
`emulation/installing.py` is.
"""

from typing import Any

import numpy as np
import pytest

import exactla as xl
from exactla import registry
from exactla.core.moduli import ResidueBase
from exactla.formats import FLOAT_FORMATS, INTEGER_FORMATS
from exactla_conformance.cases import select_cases
from exactla_conformance.runner import check_frozen, reference
from tests.backends import checks
from tests.backends.devices import float_dtype, open_device
from tests.backends.kernels.data import base_for, random_encodings, random_integers, wide_integers
from tests.oracle import FORMATS

SHAPES = [(1, 1, 1), (3, 5, 7), (33, 129, 40), (130, 70, 67), (5, 2100, 7)]
CASES = select_cases()


@pytest.fixture
def device(emulated):
    return open_device("cuda")


def launched(cuda: Any) -> set[str]:
    """Kernels that have run so far."""
    return {launch.kernel for launch in cuda.gpu.launches}


@pytest.mark.parametrize("name", list(CASES)[7::82])
def test_conformance(emulated, name):
    with xl.backend("cuda"):
        assert check_frozen(CASES[name], reference()).problems == ()


@pytest.mark.parametrize("transposed", [(False, True), (True, False)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(emulated, rng, shape, transposed):
    m, k, n = shape
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    x, y = (np.asfortranarray(x) if f else x for x, f in zip((a, b), transposed, strict=True))
    with xl.backend("numpy"):
        expected = xl.mm_enclose(a, b)
    emulated.gpu.launches.clear()
    with xl.backend("cuda"):
        found = xl.mm_enclose(x, y)
    np.testing.assert_array_equal(np.stack(found), np.stack(expected))
    is_hopper = emulated.gpu.capability == (9, 0)
    product = {"xl_residue_product"} if is_hopper else {"xl_reduce"}
    look = "xl_cuda_exponents" if k <= 2048 else "xl_cuda_scan"  # the direct path takes no longer sums
    assert launched(emulated) >= {look, "xl_cuda_residues8", "xl_cuda_round8"} | product
    assert ("xl_reduce" in launched(emulated)) is not is_hopper


def test_arrays_of_the_device_on_its_second_index_and_a_stream(emulated, rng):
    import cupy

    a, b = rng.standard_normal((40, 30)), rng.standard_normal((30, 20)).astype(np.float32)
    with xl.backend("numpy"):
        expected = xl.mm(a, b)
    with cupy.cuda.Device(1):
        x, y = cupy.asarray(a), cupy.asarray(b)
    emulated.gpu.launches.clear()
    with cupy.cuda.Stream(7):
        found = xl.mm(x, y)
    assert (type(found), found.device) == (cupy.ndarray, cupy.cuda.Device(1))
    np.testing.assert_array_equal(found.memory, expected)
    assert {launch.stream for launch in emulated.gpu.launches} == {7}


@pytest.mark.parametrize("unit", ["int8", "fp16"])
@pytest.mark.parametrize("limit", [256, 65280])
def test_sums_at_the_bound_of_an_engine(device, unit, limit):
    """One step past what a segment, or a call of the library, sums: all residues at the bound, terms of both signs."""
    chosen = next(e for e in device.backend.engines if e.name == unit)
    base = ResidueBase((limit, limit - 1))
    depth = {"int8": {256: 512 * 128, 65280: 128 * 128}, "fp16": {256: 1024, 65280: 1024}}[unit][limit]
    values = {m: -(m // 2) for m in base.moduli}
    extreme = sum(v * (base.product // m) * pow(base.product // m, -1, m) for m, v in values.items()) % base.product
    row = np.broadcast_to(np.array(extreme, object), (1, 1, depth + 1))
    checks.check_multiply(device, [(-1, row, row), (1, row, -row)], ([0], [0]), base, chosen)


@pytest.fixture
def eight_bits(emulated, device):
    """The engine of numbers of eight bits, where the device has it."""
    found = [e for e in device.backend.engines if e.name == "fp8"]
    assert bool(found) is (emulated.gpu.capability >= (8, 9))
    if not found:
        with xl.backend("cuda"), xl.engine("fp8"), pytest.raises(xl.BackendUnavailable, match="no engine 'fp8'"):
            xl.mm(np.ones((2, 2)), np.ones((2, 2)))
        pytest.skip("devices of compute capability 8.0 have no such numbers")
    return found[0]


def test_all_pairs_of_residues_in_numbers_of_eight_bits(device, eight_bits):
    x = np.arange(-128, 128)[None, :, None].astype(object)
    checks.check_multiply(device, [(1, x, x)], ([0], [0]), ResidueBase((256, 255)), eight_bits)


def test_sums_of_numbers_of_eight_bits(emulated, device, eight_bits):
    """One term more than are summed between reductions: digits at their bound, of either sign and of opposite ones."""
    depth = emulated.fp8.SEGMENT + 1
    for value, other in ((-128, -128), (-128, 127), (127, 127), (-127, 120)):
        left, right = (np.full((1, 1, depth), v, object) for v in (value, other))
        checks.check_multiply(device, [(1, left, right)], ([0], [0]), ResidueBase((256,)), eight_bits)


def test_products_in_numbers_of_eight_bits(device, rng, eight_bits):
    base = base_for(256, 30)
    a, b = (rng.integers(-(2**12), 2**12, (2, n, 131)).astype(object) for n in (75, 70))
    checks.check_multiply(device, [(1, a, b), (-1, a, b[::-1])], ([0, 1, 1], [1, 1, 0]), base, eight_bits)


def test_a_device_without_numbers_of_eight_bits_refuses_them(emulated, monkeypatch):
    """Where another one, which was current when the backend was loaded, has them."""
    matrix = emulated.matrix.CudaMatrix(emulated.device.CudaDevice())
    monkeypatch.setattr(emulated.driver, "architecture", lambda device: (8, 6))
    with pytest.raises(xl.BackendUnavailable, match=r"8\.9 or later, this one has 8\.6"):
        matrix.longest(emulated.matrix.FP8, 256)


@pytest.mark.parametrize("columns", [5, 70, 300])
@pytest.mark.parametrize("limit", [256, 65280])
def test_tiles_of_every_width(device, rng, limit, columns):
    base = base_for(limit, 30)
    rows = 140 if columns == 5 else 3
    a, b = (rng.integers(-(2**12), 2**12, (2, n, 131)).astype(object) for n in (rows, columns))
    terms = [(1, a, b), (-1, a, b[::-1])] if columns != 70 else [(1, a, b)]
    checks.check_multiply(device, terms, ([0, 1, 1], [1, 1, 0]), base, device.backend.engines[0])


@pytest.mark.parametrize("name", ["float64", "bfloat16", "float8_e4m3fn"])
def test_entries_of_a_float_format(device, rng, name):
    format = FLOAT_FORMATS[name]
    x = random_encodings(rng, format, (2, 21, 300)).view(float_dtype(name))
    checks.check_scan(device, x)
    y = random_encodings(rng, format, (2, 21, 300), spread=min(6, format.largest >> format.fraction_bits))
    typed = y.view(float_dtype(name))
    for some in (typed, typed[:, ::2, 1:], typed.swapaxes(1, 2), typed[:, ::-1, ::-3]):
        checks.check_residues(device, base_for(256, 100), device.backend.engines[0], some)


@pytest.mark.parametrize("name", ["int8", "uint64"])
def test_integers(device, rng, name):
    x = random_integers(rng, INTEGER_FORMATS[name], (1, 50, 40)).view(name)
    for some in (x, x.swapaxes(1, 2)):
        checks.check_residues(device, base_for(256, 100), device.backend.engines[0], some)


@pytest.mark.parametrize("bits", [6, 30, 62, 166, 354])
def test_rounding(device, rng, bits):
    """Of integers of every length up to a quarter of M, in formats of each width, from bases of odd and even length."""
    base = base_for(256, bits)
    numbers = wide_integers(rng, base.product // 4, (90,))
    for name in ("float64", "float16") if bits == 166 else ("float32",):
        format = FORMATS[name]
        lengths = np.array([abs(int(n)).bit_length() for n in numbers])
        exponents = rng.integers(-20, 5, 90) - lengths // 2
        checks.check_round(device, numbers, exponents, format, base, shift=3)


def test_a_changed_entry_is_counted(device):
    x = np.ones((3, 40))
    y = x.copy()
    y[1, 7] = 2.0**80
    assert checks.broken_entries(device, x, y, 256) == 1
    assert checks.broken_entries(device, x, x, 256) == 0


def test_a_wrong_table_is_noticed(emulated, rng, monkeypatch):
    """The negative control: one word of the constants is off by one."""
    right = emulated.elements._crt_pairs

    def wrong(base):
        table = right(base)
        spoilt = type(table).from_buffer_copy(table)
        spoilt[-4] += 1
        return spoilt

    a, b = rng.standard_normal((5, 30)), rng.standard_normal((30, 6))
    monkeypatch.setattr(emulated.elements, "_crt_pairs", wrong)
    layouts = registry.load("cuda")._direct._product_of  # type: ignore[attr-defined]
    layouts.cache_clear()
    with xl.backend("cuda"):
        found = xl.mm_enclose(a, b)
    layouts.cache_clear()
    with xl.backend("numpy"):
        expected = xl.mm_enclose(a, b)
    assert not np.array_equal(found.lo, expected.lo)
