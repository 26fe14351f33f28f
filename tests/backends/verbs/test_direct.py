"""`direct`: None, or the encodings of the whole product; and never where its answer would need a check."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exactla as xl
from exactla.arrays import read
from exactla.formats import FLOAT_FORMATS
from exactla.results import Rounding
from tests.backends.devices import float_dtype, with_device
from tests.operands import ALL_FORMATS, cancelling, floats, near_ties, operand
from tests.oracle import FORMATS, INTEGER_NAMES
from tests.oracle import exact as exact_values

FLOAT64 = FORMATS["float64"]
ENDS = (Rounding.DOWN, Rounding.UP)


LARGEST = {"cpu": np.inf, "numpy": 128}
"""Terms of the products that backends have a shortcut for."""


def takes(device, rows, depth, columns):
    """Whether a backend's shortcut is for products of that shape."""
    return rows * depth * columns <= LARGEST.get(device.backend.name, 0)


def direct(device, a, b, roundings=ENDS, name="float64", transposed=False):
    """What the shortcut returns, None where there is none."""
    if device.backend.direct is None:
        return None
    sources = read(a, "a"), read(b, "b")
    return device.backend.direct(*sources, transposed, FLOAT_FORMATS[name], roundings)


def check_direct(device, a, b, roundings=ENDS, fmt=FLOAT64, *, transposed=False, sure=True):
    """A product has the oracle's bits where a backend has a shortcut and, if not `sure`, where it is for that."""
    found = direct(device, a, b, roundings, fmt.name, transposed)
    columns = np.shape(b)[0 if transposed else 1]
    if sure:
        assert (found is not None) is takes(device, *np.shape(a), columns)
    if found is None:
        return
    assert len(found) == len(roundings)
    value = exact_values(a) @ (exact_values(b).T if transposed else exact_values(b))
    for buffer, rounding in zip(found, roundings, strict=True):
        bits = device.encodings(buffer, FLOAT_FORMATS[fmt.name], value.numbers.shape)
        assert (bits == value.rounded(fmt, rounding.value)).all()


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (3, 4, 5), (1, 300, 1), (17, 33, 16), (16, 16, 16), (20, 256, 12)], ids=str
)
@pytest.mark.parametrize("transposed", [False, True])
def test_shapes(rng, device, shape, transposed):
    rows, depth, columns = shape
    a, b = floats(rng, FLOAT64, (rows, depth), 12), floats(rng, FLOAT64, (depth, columns), 12)
    check_direct(device, a, b.T if transposed else b, transposed=transposed)


@pytest.mark.parametrize("shape", [(100, 2, 100), (128, 128, 128), (1, 4000, 1), (2000, 1, 1), (1, 1, 2000)], ids=str)
def test_shapes_near_the_largest(rng, device, shape):
    rows, depth, columns = shape
    check_direct(device, floats(rng, FLOAT64, (rows, depth), 9), floats(rng, FLOAT64, (depth, columns), 9), sure=False)


@pytest.mark.parametrize("roundings", [*[(r,) for r in Rounding], ENDS, (Rounding.ZERO, Rounding.NEAREST)], ids=str)
@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_every_format_of_results(rng, device, fmt, roundings):
    check_direct(device, *cancelling(rng, FORMATS["float16"], 4, 5, 6, 6), roundings, fmt)
    for x in (FORMATS["bfloat16"], fmt):  # whose entries may be too wide
        check_direct(device, *cancelling(rng, x, 4, 5, 6, 6), roundings, fmt, sure=False)


@pytest.mark.parametrize("name", [*FORMATS, *INTEGER_NAMES])
def test_every_type_of_operands(rng, device, name):
    a, b = operand(rng, name, (4, 6), 3), operand(rng, name, (6, 5), 3)
    check_direct(device, a, b)
    check_direct(device, a, floats(rng, FORMATS["float32"], (6, 5), 3))
    check_direct(device, floats(rng, FORMATS["float16"], (5, 4), 3), a, (Rounding.NEAREST,), FORMATS["float32"])


def test_ties_subnormals_and_overflow(rng, device):
    for fmt in (FORMATS["float16"], FORMATS["float8_e5m2"], FORMATS["float8_e4m3fn"]):
        a, b = near_ties(rng, fmt, 60)
        a, b = a[:, :2], b[:2] * 2.0 ** np.array([-1, 1])  # without the crumb, whose exponent is far below
        check_direct(device, a, b, (Rounding.NEAREST,), fmt)
    largest = np.array([[np.finfo(np.float64).max] * 2])
    check_direct(device, largest, np.array([[1.0, 1.0, 0.5], [1.0, -1.0, 0.5]]))


def test_any_strides(rng, device):
    a, b = floats(rng, FLOAT64, (12, 20), 9), floats(rng, FLOAT64, (30, 14), 9)
    for x, y in (
        (a[::-1, ::2], b[::3]),
        (a[:, 3:13], b[29:9:-2, ::-1]),
        (a[:10].T[:4], b.T[:10, :5].copy()),
        (np.broadcast_to(a[:1, :10], (6, 10)), np.broadcast_to(b[:10, :1], (10, 3))),
    ):
        check_direct(device, x, y)
        check_direct(device, x, y.T, transposed=True)


def stacked(device, a, b, transposed=False):
    """Encodings of products of stacks, which the NumPy backend has no shortcut for, or None."""
    found = direct(device, a, b, transposed=transposed)
    if device.backend.name != "cpu":
        assert found is None
    return found


@pytest.mark.parametrize("shape", [(1, 3, 4, 5), (2, 1, 1, 1), (5, 20, 256, 12), (300, 2, 3, 2)], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_stacks(rng, device, shape, transposed):
    pairs, rows, depth, columns = shape
    a, b = floats(rng, FLOAT64, (pairs, rows, depth), 9), floats(rng, FLOAT64, (pairs, depth, columns), 9)
    a[-1] *= 2.0**-50  # members share a plan, not their exponents
    for threads in (None, 1, 2):
        with xl.threads(threads):
            found = stacked(device, a, b.swapaxes(1, 2) if transposed else b, transposed)
        if device.backend.name != "cpu":
            return
        for buffer, rounding in zip(found, ENDS, strict=True):
            bits = device.encodings(buffer, FLOAT_FORMATS["float64"], (pairs, rows, columns))
            for i in {0, pairs // 2, pairs - 1}:
                value = exact_values(a[i]) @ exact_values(b[i])
                assert (bits[i] == value.rounded(FLOAT64, rounding.value)).all()


def test_stacks_of_any_strides(rng, device):
    a, b = floats(rng, FLOAT64, (6, 4, 8), 9), floats(rng, FLOAT64, (4, 8, 3), 9)
    for x, y in ((a[::-2, ::2], b[1:]), (a[:4].T.copy().T, b), (np.broadcast_to(a[0], (4, 4, 8)), b[::-1])):
        found = stacked(device, x, y)
        alone = [direct(device, *pair) for pair in zip(x, y, strict=True)]
        if found is not None:
            assert all((f == np.stack(each)).all() for f, each in zip(found, zip(*alone, strict=True), strict=True))


def test_a_member_that_is_not_finite_is_not_for_it(device):
    a = np.ones((3, 2, 2))
    a[1, 1, 0] = np.inf
    assert stacked(device, a, np.ones((3, 2, 2))) is None
    with pytest.raises(xl.NonFiniteError, match=r"a3\[1, 1, 0\]"):
        xl.bmm(a, np.ones((3, 2, 2)))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_special_entries_are_not_for_it(device, special, side):
    operands = [np.ones((3, 3)), np.ones((3, 3))]
    operands[side][1, 2] = special
    assert direct(device, *operands) is None


REFUSED = {
    "complex": (np.ones((2, 2), complex), np.ones((2, 2))),
    "complex right": (np.ones((2, 2)), np.ones((2, 2), np.complex64)),
    "vectors": (np.ones(3), np.ones(3)),
    "vector": (np.ones((2, 3)), np.ones(3)),
    "a stack and a matrix": (np.ones((2, 2, 3)), np.ones((3, 2))),
    "stacks of several lengths": (np.ones((2, 2, 3)), np.ones((1, 3, 2))),
    "stacks of stacks": (np.ones((1, 2, 2, 3)), np.ones((1, 2, 3, 2))),
    "no pairs": (np.ones((0, 2, 3)), np.ones((0, 3, 2))),
    "Python integers": (np.ones((2, 2), object), np.ones((2, 2))),
    "no rows": (np.ones((0, 3)), np.ones((3, 2))),
    "no terms": (np.ones((2, 0)), np.ones((0, 2))),
    "large": (np.ones((130, 130)), np.ones((130, 130))),
    "wide": (np.array([[1.0, 1e-300]]), np.array([[1.0], [1e-300]])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_for_it(device, name):
    if name == "wide" and device.backend.name == "numpy":
        pytest.skip("Python's integers are as wide as they have to be")
    assert direct(device, *REFUSED[name]) is None


@given(st.data())
@with_device
def test_any_product(device, data):
    rows, depth, columns = (data.draw(st.integers(1, n)) for n in (6, 9, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    names = data.draw(st.tuples(*[st.sampled_from(["float64", "float32", "float16", "bfloat16", "int8", "int64"])] * 2))
    a, b = (operand(rng, n, s, 4) for n, s in zip(names, ((rows, depth), (depth, columns)), strict=True))
    roundings = data.draw(st.sampled_from([ENDS, (Rounding.NEAREST,), (Rounding.ZERO,)]))
    check_direct(device, a, b, roundings, data.draw(st.sampled_from(ALL_FORMATS)))


# ---- through the public calls --------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch, device):
    """What `direct` was asked and answered."""
    true, seen = device.backend.direct or (lambda *args, **options: None), []

    def noting(*args, **options):
        seen.append(true(*args, **options))
        return seen[-1]

    monkeypatch.setattr(device.backend, "direct", noting)
    return seen


def test_calls_take_the_shortcut(device, asked):
    a = np.arange(6.0).reshape(2, 3)
    for call in (
        lambda: xl.mm(a, a.T),
        lambda: xl.mm_nt(a, a),
        lambda: xl.mm_enclose(a),
        lambda: xl.mm_enclose(a, a.T, dtype=float_dtype("bfloat16"), nonfinite="propagate"),
        lambda: xl.mm_enclose_nt(a, a),
    ):
        asked.clear()
        result = call()
        assert [x is not None for x in asked] == [device.backend.name in LARGEST]
        assert all((np.asarray(x, float) == a @ a.T).all() for x in result) or (result == a @ a.T).all()


def test_calls_with_settings_do_not(device, asked):
    a = np.arange(6.0).reshape(2, 3)
    seen = []
    xl.mm(a, a.T, return_info=True)
    with xl.engine(device.backend.engines[0].name):
        xl.mm(a, a.T)
    with xl.workspace_limit(10_000_000):
        xl.mm(a, a.T)
    with xl.progress(lambda *state: seen.append(state)):
        xl.mm(a, a.T)
    xl.mm(xl.prepare(a), a.T)
    assert not asked
    assert seen == [(1, 1)]


def test_special_entries_are_found_again(device, asked):
    a = np.array([[1.0, np.inf], [2.0, 3.0]])
    with pytest.raises(xl.NonFiniteError, match=r"b\[0, 1\]"):
        xl.mm(np.eye(2), a)
    assert asked == [None]
    assert xl.mm(np.ones((2, 2)), a, nonfinite="propagate").tolist() == [[3.0, np.inf]] * 2
