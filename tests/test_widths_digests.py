"""`width_ulps` against counting encodings, and `digest` against the bytes that its definition names."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactla as xl
from tests.operands import ALL_FORMATS, big_integers, floats, from_encodings, integers, whole_range
from tests.oracle import FORMATS, INTEGER_NAMES, encodings, format_of

# ---- width_ulps ----------------------------------------------------------------------------------------------------


def rank(encoding, fmt):
    """The position of a value among those of its format, 0 for zero."""
    magnitude = encoding & (fmt.sign_bit - 1)
    return -magnitude if encoding & fmt.sign_bit else magnitude


@pytest.mark.parametrize("fmt", [f for f in ALL_FORMATS if f.bits == 8], ids=str)
def test_all_pairs_of_an_8_bit_format(fmt):
    finite = [e for e in range(256) if fmt.is_finite(e)]
    values = {e: fmt.value(e) for e in finite}
    positions = {v: i for i, v in enumerate(sorted(set(values.values())))}
    position = {e: positions[v] for e, v in values.items()}
    pairs = list(itertools.product(finite, repeat=2))
    lo, hi = (from_encodings([p[k] for p in pairs], fmt) for k in (0, 1))
    widths = xl.width_ulps(lo, hi)
    assert widths.dtype == np.int64
    assert widths.tolist() == [position[y] - position[x] for x, y in pairs]


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_drawn_pairs(rng, fmt):
    x, y = (floats(rng, fmt, (20, 30), whole_range(fmt)) for _ in range(2))
    words = zip(encodings(x).ravel().tolist(), encodings(y).ravel().tolist(), strict=True)
    exact = [rank(q, fmt) - rank(p, fmt) for p, q in words]
    widths = xl.width_ulps(x, y)
    assert widths.shape == (20, 30)
    assert widths.ravel().tolist() == [min(w, 2**63 - 1) for w in exact] or fmt.bits == 64
    in_range = np.array([abs(w) < 2**63 for w in exact]).reshape(20, 30)
    assert widths[in_range].tolist() == [w for w in exact if abs(w) < 2**63]


def test_zero_neighbours_and_signs():
    x = np.array([0.0, -0.0, 1.0, -(2.0**-1074), 1.0])
    y = np.array([-0.0, 0.0, np.nextafter(1.0, 2.0), 2.0**-1074, 1.0 + 2.0**-50])
    assert xl.width_ulps(x, y).tolist() == [0, 0, 1, 2, 4]
    assert xl.width_ulps(y, x).tolist() == [0, 0, -1, -2, -4]


def test_infinity_is_next_to_the_largest_value():
    for name in ("float16", "bfloat16", "float32", "float64"):
        fmt = FORMATS[name]
        lo, hi = (
            from_encodings([fmt.largest, fmt.infinity | fmt.sign_bit], fmt),
            from_encodings([fmt.infinity] * 2, fmt),
        )
        assert xl.width_ulps(lo, hi).tolist() == [1, min(2 * fmt.infinity, 2**63 - 1)]


def test_the_width_of_a_tightest_enclosure(rng):
    a, b = floats(rng, FORMATS["float64"], (5, 6), 20), floats(rng, FORMATS["float64"], (6, 5), 20)
    lo, hi = xl.mm_enclose(a, b)
    widths = xl.width_ulps(lo, hi)
    assert set(widths.ravel().tolist()) <= {0, 1}
    assert widths.any()


def test_widths_of_every_library(rng, library):
    x, y = floats(rng, FORMATS["float32"], (3, 4), 20), floats(rng, FORMATS["float32"], (3, 4), 20)
    widths = xl.width_ulps(library.make(x), library.make(y))
    assert library.device(widths) == library.device(library.make(x))
    host = library.host(widths)
    assert host.dtype == np.int64
    assert host.tolist() == xl.width_ulps(x, y).tolist()


def test_widths_of_views_and_of_nothing(rng):
    x, y = floats(rng, FORMATS["float64"], (6, 4), 10), floats(rng, FORMATS["float64"], (6, 4), 10)
    expected = xl.width_ulps(x, y)
    assert (xl.width_ulps(np.asfortranarray(x), y[::-1].copy()[::-1]) == expected).all()
    assert xl.width_ulps(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)
    assert np.shape(xl.width_ulps(np.float64(1.0), np.float64(1.0))) == ()


@pytest.mark.parametrize(
    ("lo", "hi", "error", "match"),
    [
        (np.zeros(2), np.zeros(2, np.float32), TypeError, "float64.*float32"),
        (np.zeros(2, int), np.zeros(2, int), TypeError, "int64"),
        (np.zeros(2, complex), np.zeros(2, complex), TypeError, "got complex float64 and complex float64"),
        (np.zeros(2), np.zeros(3), ValueError, r"\(2,\).*\(3,\)"),
        (np.array([0.0, np.nan]), np.zeros(2), ValueError, r"lo\[1\]"),
        (np.zeros((1, 2)), np.array([[0.0, np.nan]]), ValueError, r"hi\[0, 1\]"),
        (np.zeros(2), "text", TypeError, "hi"),
    ],
)
def test_widths_of_what_has_none(lo, hi, error, match):
    with pytest.raises(error, match=match):
        xl.width_ulps(lo, hi)


# ---- digest --------------------------------------------------------------------------------------------------------


def canonical(array, name):
    """The bytes that the definition of `digest` gives for one array whose type has this name."""
    array = np.asarray(array)
    text = " ".join([name, str(array.ndim), *map(str, array.shape)]) + "\n"
    if name == "int":
        body = b"".join(str(int(v)).encode() + b"\n" for v in array.flat)
    elif name in INTEGER_NAMES:
        width = 1 if name == "bool" else np.dtype(name).itemsize
        body = b"".join(int(v).to_bytes(width, "little", signed=name.startswith("i")) for v in array.flat)
    else:
        fmt = format_of(array.dtype)
        parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
        words = [encodings(p).ravel().tolist() for p in parts]
        flat = [w for entry in zip(*words, strict=True) for w in entry]
        flat = [w if fmt.is_finite(w) or fmt.is_infinite(w) else fmt.nan for w in flat]
        body = b"".join(w.to_bytes(fmt.bits // 8, "little") for w in flat)
    return text.encode() + body


def expected_digest(*pairs):
    return hashlib.sha256(b"exactla-digest-1\n" + b"".join(canonical(*p) for p in pairs)).hexdigest()


@pytest.mark.parametrize("fmt", ALL_FORMATS, ids=str)
def test_the_digest_of_every_float_format(rng, fmt):
    x = floats(rng, fmt, (3, 5), whole_range(fmt))
    assert xl.digest(x) == expected_digest((x, fmt.name))
    words = np.arange(256) if fmt.bits == 8 else rng.integers(0, 1 << min(fmt.bits, 63), 400)
    every = from_encodings(words, fmt)
    assert xl.digest(every) == expected_digest((every, fmt.name))


@pytest.mark.parametrize("name", [*INTEGER_NAMES, "int"])
def test_the_digest_of_integers(rng, name):
    x = big_integers(rng, (3, 2), 100) if name == "int" else integers(rng, name, (3, 2))
    assert xl.digest(x) == expected_digest((x, name))


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_the_digest_of_complex_arrays(rng, name):
    x = floats(rng, format_of(name), (4, 3), 20).astype(name)
    x.imag = floats(rng, format_of(name), (4, 3), 20)
    x[0, 0] = complex(np.nan, -0.0)
    x[1, 1] = complex(-np.inf, np.nan)
    assert xl.digest(x) == expected_digest((x, name))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3, 4), (1, 1, 1, 1, 5)])
def test_the_digest_of_every_shape(shape):
    for name in ("float64", "bool", "uint16", "complex64", "int"):
        x = np.ones(shape, dtype=object if name == "int" else name)
        if name == "int":
            x = np.array([1] * x.size, dtype=object).reshape(shape)
        assert xl.digest(x) == expected_digest((x, name))


def test_several_arrays_and_none(rng):
    x, y = floats(rng, FORMATS["float64"], (2, 3), 5), floats(rng, FORMATS["float32"], (4,), 5)
    assert xl.digest(x, y) == expected_digest((x, "float64"), (y, "float32"))
    assert xl.digest() == expected_digest()


def test_what_a_digest_tells_apart(rng):
    x = rng.standard_normal((4, 6))
    unit = x.copy()
    unit[2, 2] = np.nextafter(unit[2, 2], np.inf)
    others = [x.astype(np.float32), x.reshape(6, 4), x.T, x[:3], -x, unit, x[None], x.view(np.int64), x.ravel()]
    found = [xl.digest(other) for other in (x, *others)]
    assert len(set(found)) == len(found)
    assert xl.digest(np.zeros(1)) != xl.digest(-np.zeros(1))
    assert xl.digest(x, x) != xl.digest(x)
    assert xl.digest(x[:2], x[2:]) != xl.digest(x)


def test_what_a_digest_does_not_tell_apart(rng):
    x = floats(rng, FORMATS["float64"], (4, 6), 5)
    readonly = x.copy()
    readonly.flags.writeable = False
    for same in (np.asfortranarray(x), x[::-1].copy()[::-1], readonly, x.astype(x.dtype.newbyteorder("S")), x.tolist()):
        assert xl.digest(same) == xl.digest(x)
    quiet, other = (from_encodings([0x7FF8 << 48 | payload], FORMATS["float64"]) for payload in (0, 12345))
    assert xl.digest(quiet) == xl.digest(other) == xl.digest(-quiet)


def test_the_digest_of_every_library(rng, library):
    for name in library.dtypes:
        if name.startswith("complex"):
            x = floats(rng, format_of(name), (3, 4), 10).astype(name)
            x.imag = floats(rng, format_of(name), (3, 4), 10)
        else:
            x = floats(rng, FORMATS[name], (3, 4), 10) if name in FORMATS else integers(rng, name, (3, 4))
        assert xl.digest(library.make(x)) == xl.digest(x) == expected_digest((x, name))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(values=st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8))
def test_the_digest_of_drawn_values(values):
    x = np.array(values, dtype=np.float64)
    assert xl.digest(x) == expected_digest((x, "float64"))


def test_the_digest_of_what_is_no_array():
    for value in ("text", object(), {1, 2}, None, np.array(["a"]), np.zeros(2, np.longdouble)):
        with pytest.raises(TypeError):
            xl.digest(np.zeros(2), value)


def test_the_bits_version_is_an_integer():
    assert isinstance(xl.BITS_VERSION, int)
    assert xl.BITS_VERSION >= 1
