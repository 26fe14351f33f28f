"""Small products with few launches: the bytes of the reference, or None and the general path."""

import importlib

import numpy as np
import pytest

import exactla as xl
from exactla.arrays import read
from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.devices import open_device
from tests.operands import cancelling, floats, operand
from tests.oracle import FORMATS, INTEGER_NAMES
from tests.oracle import exact as exact_values

FLOAT64, ENDS, NEAREST = FORMATS["float64"], (Rounding.DOWN, Rounding.UP), (Rounding.NEAREST,)
DIRECT = {"xl_cuda_exponents", "xl_cuda_residues8", "xl_cuda_round8"}


@pytest.fixture(autouse=True)
def device(ampere):
    ampere.gpu.launches.clear()
    return open_device("cuda")


def on_device(x):
    """An array of the pretended library over the same memory: strides stay as they are."""
    import cupy

    return cupy.ndarray.around(x, 0)


def direct(device, a, b, roundings=ENDS, name="float64", transposed=False, checks=True):
    """What the backend's method returns for arrays of the device."""
    sources = read(on_device(a), "a"), read(on_device(b), "b")
    return device.backend.direct(*sources, transposed, FLOAT_FORMATS[name], roundings, checks=checks)


def check_direct(device, a, b, roundings=ENDS, fmt=FLOAT64, transposed=False):
    """A product, or a stack of them, has the oracle's bits."""
    found = direct(device, a, b, roundings, fmt.name, transposed)
    assert len(found) == len(roundings)
    value = exact_values(a) @ (exact_values(b).T if transposed else exact_values(b))
    for buffer, rounding in zip(found, roundings, strict=True):
        shape = value.numbers.shape if value.numbers.ndim == 3 else (1, *value.numbers.shape)
        bits = device.encodings(buffer, FLOAT_FORMATS[fmt.name], shape).reshape(value.numbers.shape)
        np.testing.assert_array_equal(bits, value.rounded(fmt, rounding.value))


# ---- what it takes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 4, 5), (1, 300, 1), (33, 129, 40), (70, 1, 66)], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_shapes(rng, device, shape, transposed):
    m, k, n = shape
    a, b = floats(rng, FLOAT64, (m, k), 12), floats(rng, FLOAT64, (k, n), 12)
    check_direct(device, a, b.T if transposed else b, transposed=transposed)


@pytest.mark.parametrize("transposed", [False, True])
def test_stacks(rng, device, transposed):
    a, b = floats(rng, FLOAT64, (3, 7, 20), 12), floats(rng, FLOAT64, (3, 20, 6), 12)
    a[1] *= 2.0**-70  # members share a plan, not their exponents
    check_direct(device, a, b.swapaxes(1, 2) if transposed else b, transposed=transposed)


def test_any_strides(rng, device):
    a, b = rng.standard_normal((4, 12, 20)), rng.standard_normal((4, 30, 14))
    for x, y in (
        (a[:, ::-1, ::2], b[:, ::3]),
        (a[::-1, :, 3:13], b[:, 29:9:-2, ::-1]),
        (a.swapaxes(1, 2)[:, :5], b.swapaxes(1, 2)[:, :12, :9]),
        (np.broadcast_to(a[:1, :1, :10], (4, 6, 10)), np.broadcast_to(b[:, :10, :1], (4, 10, 3))),
    ):
        check_direct(device, x, y)
        check_direct(device, x[2], y[2].T, NEAREST, transposed=True)


@pytest.mark.parametrize("rounding", Rounding)
def test_directions(rng, device, rounding):
    a, b = floats(rng, FLOAT64, (4, 5), 9), floats(rng, FLOAT64, (5, 6), 9)
    crumbs = a[:, :1] * 2.0**-20
    check_direct(device, np.hstack([a, -a, crumbs]), np.vstack([b, b, b[:1]]), (rounding,))


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16", "float8_e4m3fnuz"])
def test_formats_of_results(rng, device, name):
    check_direct(device, *cancelling(rng, FORMATS["float16"], 4, 5, 6, 6), (Rounding.ZERO, Rounding.UP), FORMATS[name])


@pytest.mark.parametrize("name", [*FORMATS, *INTEGER_NAMES])
def test_formats_of_operands(rng, device, name):
    """Of a few binades; with float32 in the place of the other, whose order of memory differs."""
    a = operand(rng, name, (4, 6), 3)
    check_direct(device, a, np.asfortranarray(floats(rng, FORMATS["float32"], (6, 5), 3)))


def test_zeros(device):
    check_direct(device, np.zeros((3, 4)), np.zeros((4, 5)))
    check_direct(device, np.eye(3), np.zeros((3, 2)))


def test_public_calls_take_it(rng, ampere):
    """Every form of product, by few launches; but not where an account is asked for."""
    a, b = rng.standard_normal((2, 5, 9)), rng.standard_normal((2, 9, 4))
    x, y = on_device(a), on_device(b)
    for call in (
        lambda a, b: xl.mm_enclose(a[0], b[0]),
        lambda a, b: xl.mm_enclose(a[1]),
        lambda a, b: xl.bmm(a, b, rounding="up"),
        lambda a, b: xl.mm(a[0], b[1], dtype=np.float32),
    ):
        ampere.gpu.launches.clear()
        with xl.backend("cuda"):
            found = call(x, y)
        assert {launch.kernel for launch in ampere.gpu.launches} == DIRECT | {"xl_reduce"}
        with xl.backend("numpy"):
            wanted = call(a, b)
        ends = found if isinstance(found, tuple) else (found,)
        for one, other in zip(ends, wanted if isinstance(found, tuple) else (wanted,), strict=True):
            np.testing.assert_array_equal(one.memory, other)
    ampere.gpu.launches.clear()
    xl.mm(x[0], y[0], return_info=True)
    assert "xl_kernel_fill" in {launch.kernel for launch in ampere.gpu.launches}


def test_cells_are_used_once_and_made_again(rng, ampere, device, monkeypatch):
    """Room for two calls: what is found for one is not added to what was found for another."""
    cells = importlib.import_module("exactla_backends.cuda.cells")
    monkeypatch.setattr(cells, "TOGETHER", 2 * ampere.direct.USED + 1)
    monkeypatch.setattr(device.backend._cells, "_current", {})
    a, b = floats(rng, FLOAT64, (4, 5), 20), floats(rng, FLOAT64, (5, 3), 20)
    for _ in range(5):
        check_direct(device, a, b)
        check_direct(device, np.ones((4, 5)), np.ones((5, 3)))
        assert direct(device, a * np.nan, b) is None


# ---- what it does not take -------------------------------------------------------------------------------------------

ONES = np.ones((3, 3))
SPECIAL = [x * np.where(np.eye(3) == 1, 1, np.nan if x == 1 else 1) for x in (1.0, np.inf, -np.inf)]
REFUSED = {
    "a NaN": (SPECIAL[0], ONES),
    "an infinity on the right": (ONES, SPECIAL[1]),
    "infinities": (SPECIAL[2], SPECIAL[1]),
    "complex": (ONES + 0j, ONES),
    "complex on the right": (ONES, ONES.astype(np.complex64)),
    "vectors": (ONES[0], ONES[0]),
    "a vector": (ONES, ONES[0]),
    "a stack and a matrix": (ONES[None], ONES),
    "stacks of several lengths": (np.ones((2, 3, 3)), ONES[None]),
    "stacks of stacks": (ONES[None, None], ONES[None, None]),
    "wide": (np.array([[1.0, 1e-300]]), np.array([[1.0], [1e-300]])),
    "wide on one side": (np.array([[1.0, 1e-300]]), np.ones((2, 1))),
    "deep": (np.ones((1, 2049)), np.ones((2049, 1))),
    "many entries": (np.broadcast_to(ONES[:1, :1], (1 << 13, 1025)), np.ones((1025, 1))),
    "no pairs": (np.ones((0, 3, 3)), np.ones((0, 3, 3))),
    "no rows": (ONES[:0], ONES),
    "no columns": (ONES, ONES[:, :0]),
    "no terms": (ONES[:, :0], ONES[:0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_for_it(device, name):
    assert direct(device, *REFUSED[name]) is None


def test_the_longest_sums_that_are(device):
    check_direct(device, np.ones((1, 2048)), np.ones((2048, 1)))


def test_arrays_of_the_host_and_three_directions_are_not_for_it(device):
    sources = read(ONES, "a"), read(ONES, "b")
    assert device.backend.direct(*sources, False, FLOAT_FORMATS["float64"], ENDS) is None
    assert direct(device, ONES, ONES, tuple(Rounding)) is None


def test_an_engine_that_is_not_exact_is_not_taken(device, ampere):
    known = device.backend._direct
    doubted = ampere.direct.Direct(known.device, known.matrix, known.constant, known.cells, lambda *_: False)
    sources = read(on_device(ONES), "a"), read(on_device(ONES), "b")
    assert doubted.product(*sources, False, FLOAT_FORMATS["float64"], ENDS, checks=True) is None


def test_memory_that_is_not_there_is_asked_for_in_blocks(device, monkeypatch):
    """An operand's workspace does not fit: the general path has to look how much there is."""

    def allocate(size):
        raise MemoryError(size)

    direct(device, ONES, ONES)
    monkeypatch.setattr(device.backend._cuda, "allocate", allocate)
    assert direct(device, ONES, ONES) is None
    monkeypatch.undo()
    check_direct(device, ONES, ONES)


@pytest.mark.parametrize("name", ["a NaN", "wide", "no terms", "stacks of several lengths"])
def test_the_general_path_answers_then(name):
    a, b = REFUSED[name]

    def call(x, y):
        try:
            return np.asarray(getattr(found := xl.mm(x, y, nonfinite="propagate"), "memory", found))
        except ValueError as error:
            return str(error)

    with xl.backend("numpy"):
        wanted = call(a, b)
    np.testing.assert_array_equal(call(on_device(a), on_device(b)), wanted)


# ---- bits that are expected ------------------------------------------------------------------------------------------


def waits(call):
    """How often the host waits for the device in a call, and what that returns."""
    import cupy

    before = cupy.cuda.Stream.waits
    found = call()
    return cupy.cuda.Stream.waits - before, found


@pytest.fixture
def fresh(device):
    """The backend, which knows no layouts."""
    forget(device)
    return device.backend


def forget(device):
    device.backend._direct._product_of.cache_clear()


WIDE = np.array([[1.0, 2.0**-100], [2.0**-100, 3.0]])


@pytest.mark.parametrize("checks", [True, False])
def test_a_call_waits_once(fresh, device, checks):
    for _ in range(2):
        assert waits(lambda: direct(device, ONES, ONES, checks=checks))[0] == 1


@pytest.mark.parametrize(("checks", "times"), [(True, 2), (False, 1)])
def test_wider_operands_are_taken_at_the_second_try(fresh, device, checks, times):
    """And at the first from then on."""
    for expected in (times, 1):
        count, found = waits(lambda: direct(device, WIDE, WIDE, checks=checks))
        assert (count, found is not None) == (expected, True)
    check_direct(device, WIDE, WIDE.T)


def test_layouts_are_told_apart(rng, fresh, device):
    """Of equal shapes: other strides, types, results and directions."""
    a, b = floats(rng, FLOAT64, (6, 6), 9), floats(rng, FLOAT64, (6, 6), 9)
    check_direct(device, a, b)
    check_direct(device, a.T, b)
    check_direct(device, a, b[::-1])
    check_direct(device, a, b, transposed=True)
    check_direct(device, a, b, NEAREST)
    check_direct(device, a, b, fmt=FORMATS["float32"])
    check_direct(device, a.astype(np.float32), b)
    check_direct(device, a, np.arange(36, dtype=np.int16).reshape(6, 6))


def test_fewer_bits_are_expected_again(rng, fresh, device, monkeypatch):
    """After wide operands, ordinary ones take as few moduli as before."""
    base, seen = fresh._direct, []
    of = base._product_of

    def noting(*layout):
        seen.append(of(*layout))
        return seen[-1]

    monkeypatch.setattr(base, "_product_of", noting)
    ordinary = rng.standard_normal((2, 2))
    for x in (WIDE, ordinary, ordinary):
        check_direct(device, x, x)
    assert seen[0] is seen[2]
    assert max(seen[0]._steps.bits) < 70


def test_operands_that_are_too_wide_are_left_alone_for_a_while(fresh, device, ampere):
    far = np.array([[1.0, 1e-300], [1e-300, 1.0]])
    assert direct(device, far, far) is None
    launched = len(ampere.gpu.launches)
    for _ in range(ampere.direct.PAUSE):
        assert direct(device, far / far, far / far) is None
    assert len(ampere.gpu.launches) == launched
    check_direct(device, far / far, far / far)


def test_large_products_of_wide_operands_have_a_cheaper_plan(fresh, device, ampere, monkeypatch):
    monkeypatch.setattr(ampere.direct, "FEW_PRODUCTS", 7)
    check_direct(device, WIDE / WIDE, WIDE / WIDE)
    assert direct(device, WIDE, WIDE) is None


# ---- entries that change between the scan and the conversion ---------------------------------------------------------


@pytest.fixture
def change(ampere, monkeypatch):
    """Have an entry of an array change once exponents are known."""
    run = ampere.driver.Launch.run

    def install(array, value):
        def changing(launch, stream):
            run(launch, stream)
            if ampere.gpu.launches[-1].kernel == "xl_cuda_exponents":
                array[1, 2] = value

        monkeypatch.setattr(ampere.driver.Launch, "run", changing)

    return install


@pytest.mark.parametrize("value", [2.0**120, 0.5, 3.0**-20, np.nan, np.inf])
def test_a_change_is_noticed(device, change, value):
    a = np.ones((3, 4))
    change(a, value)
    assert waits(lambda: direct(device, a, np.ones((4, 2)))) == (1, None)


def test_an_entry_that_fits_may_change(device, change):
    a = np.ones((3, 4))
    change(a, -1.0)
    assert direct(device, a, np.ones((4, 2))) is not None


def test_a_changed_operand_gives_the_product_of_what_it_is(device, change):
    """The call notices, and takes the general path."""
    a, b = np.ones((3, 4)), np.ones((4, 2))
    change(a, 2.0**120)
    found = xl.mm(on_device(a), on_device(b))
    with xl.backend("numpy"):
        np.testing.assert_array_equal(found.memory, xl.mm(a, b))


# ---- negative controls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("table", "word"), [("_residue_rows", 2), ("_residue_rows", 4), ("_crt_pairs", 0)])
def test_a_wrong_table_is_noticed(rng, ampere, device, monkeypatch, table, word):
    right = getattr(ampere.elements, table)

    def wrong(*key):
        spoilt = type(right(*key)).from_buffer_copy(right(*key))
        spoilt[word] += 1
        return spoilt

    monkeypatch.setattr(ampere.elements, table, wrong)
    forget(device)
    with pytest.raises(AssertionError):
        check_direct(device, rng.standard_normal((5, 30)), rng.standard_normal((30, 6)))
    forget(device)


@pytest.mark.parametrize("cell", [0, 3])
def test_bits_that_are_short_are_noticed(fresh, device, ampere, monkeypatch, cell):
    """By the entries that do not fit: of the bits of either side a few are not seen, more than are put on top."""
    some = device.backend._cuda.download_cells

    def short(memory, first, count):
        return [n - (i == cell) * (ampere.direct.MARGIN + 1) for i, n in enumerate(some(memory, first, count))]

    monkeypatch.setattr(device.backend._cuda, "download_cells", short)
    wide, narrow = WIDE, np.ones((2, 2))
    assert direct(device, *((wide, narrow) if cell == 0 else (narrow, wide))) is None
