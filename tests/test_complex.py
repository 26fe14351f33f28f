"""Complex products: each part is the exact sum of 2 K real terms, rounded once by itself."""

import numpy as np
import pytest

import exactla as xl
from tests.operands import big_integers, floats, integers, operand
from tests.oracle import (
    FORMATS,
    ROUNDINGS,
    assert_bits,
    assert_complex,
    complex_product,
    encodings,
    format_of,
    same_bytes,
)

NAMES = ["complex64", "complex128"]


def complexes(rng, name, shape, spread=10, zeros=0.1):
    fmt = format_of(name)
    x = np.empty(shape, dtype=name)
    x.real, x.imag = floats(rng, fmt, shape, spread, zeros), floats(rng, fmt, shape, spread, zeros)
    return x


def assert_complex_enclosure(result, a, b, dtype):
    assert_complex(result.lo, a, b, dtype, "down")
    assert_complex(result.hi, a, b, dtype, "up")


@pytest.mark.parametrize("spread", [0, 10, 100, 3000])
@pytest.mark.parametrize("name", NAMES)
def test_all_roundings_and_the_enclosure(rng, engine, name, spread):
    a, b = complexes(rng, name, (5, 7), spread), complexes(rng, name, (7, 4), spread)
    assert_complex_enclosure(xl.mm_enclose(a, b), a, b, name)
    for rounding in ROUNDINGS:
        assert_complex(xl.mm(a, b, rounding=rounding), a, b, name, rounding)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 0, 2), (0, 2, 2), (2, 2, 0), (33, 3, 1), (2, 5000, 1)])
def test_dimensions(rng, backend, shape):
    rows, depth, columns = shape
    a, b = complexes(rng, "complex128", (rows, depth)), complexes(rng, "complex128", (depth, columns))
    assert_complex_enclosure(xl.mm_enclose(a, b), a, b, "complex128")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("complex64", "complex128", "complex128"),
        ("complex64", "float64", "complex128"),
        ("complex64", "float32", "complex64"),
        ("complex64", "float16", "complex64"),
        ("complex64", "bfloat16", "complex64"),
        ("complex64", "float8_e4m3fn", "complex64"),
        ("complex64", "int16", "complex64"),
        ("complex64", "int64", "complex128"),
        ("complex64", "bool", "complex64"),
        ("complex128", "float32", "complex128"),
        ("complex128", "uint64", "complex128"),
        ("complex128", "int", "complex128"),
    ],
)
def test_beside_real_operands(rng, left, right, expected):
    def other(shape):
        return complexes(rng, right, shape, 6) if right in NAMES else operand(rng, right, shape, 6)

    a, b = complexes(rng, left, (4, 5)), other((5, 3))
    assert_complex_enclosure(xl.mm_enclose(a, b), a, b, expected)
    a, b = other((3, 4)), complexes(rng, left, (4, 5))
    assert_complex_enclosure(xl.mm_enclose(a, b), a, b, expected)
    assert_complex(xl.mm(a, b, rounding="zero"), a, b, expected, "zero")


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_into_the_other_type(rng, source, target):
    a, b = complexes(rng, source, (4, 5), 100), complexes(rng, source, (5, 4), 100)
    assert_complex_enclosure(xl.mm_enclose(a, b, dtype=target), a, b, target)
    for rounding in ROUNDINGS:
        assert_complex(xl.mm(a, b, rounding=rounding, dtype=np.dtype(target)), a, b, target, rounding)


def test_the_gram_matrix_is_not_conjugated(rng):
    a = complexes(rng, "complex128", (5, 6), 40)
    assert_complex_enclosure(xl.mm_enclose(a), a, a.T, "complex128")


def test_the_other_forms(rng):
    a, b = complexes(rng, "complex64", (2, 3, 5)), complexes(rng, "complex64", (2, 5, 4))
    for k in range(2):
        assert_complex(xl.bmm(a, b)[k], a[k], b[k], "complex64", "nearest")
        assert_complex(xl.bmm_enclose(a, b).lo[k], a[k], b[k], "complex64", "down")
        assert_complex(xl.mm_nt(a[k], b[k].T.copy()), a[k], b[k], "complex64", "nearest")
        assert_complex(xl.mm_enclose_nt(a[k], b[k].T.copy()).hi, a[k], b[k], "complex64", "up")
    assert_complex(xl.mm(a[0, 0], b[0]), a[0, 0], b[0], "complex64", "nearest")
    assert_complex(xl.mm(a[0, 0], b[0, :, 0]), a[0, 0], b[0, :, 0], "complex64", "nearest")


def test_parts_that_cancel():
    # (1 + i)(1 + i) = 2 i, (1 + i)(1 - i) = 2: exact zeros are +0
    a = np.array([[1 + 1j]])
    for b in (np.array([[1 + 1j]]), np.array([[1 - 1j]]), np.array([[-1 - 1j]])):
        assert_complex_enclosure(xl.mm_enclose(a, b), a, b, "complex128")
    result = xl.mm(a, np.array([[1 - 1j]]))
    assert_bits(result.imag, np.zeros((1, 1), np.uint64), FORMATS["float64"])


def test_one_part_overflows_and_the_other_is_tiny():
    a, b = np.array([[1e300 + 1e-300j]]), np.array([[1e300 + 1e-300j]])
    assert_complex_enclosure(xl.mm_enclose(a, b), a, b, "complex128")
    result = xl.mm_enclose(a, b)
    assert (result.hi.real, result.hi.imag) == (np.inf, np.nextafter(2.0, 3)) or np.isfinite(result.hi.imag).all()


def test_near_cancellation_where_ordinary_products_lose_all_digits(rng):
    big = 2.0**60
    a = np.array([[complex(big, 1), complex(-big, 3)]])
    b = np.array([[complex(1, big)], [complex(1, big)]])
    assert_complex_enclosure(xl.mm_enclose(a, b), a, b, "complex128")


@pytest.mark.parametrize("view", ["fortran", "reversed", "steps", "broadcast", "real_of", "conjugate"])
def test_views(rng, view):
    a, b = complexes(rng, "complex128", (6, 6)), complexes(rng, "complex128", (6, 5))
    x = {
        "fortran": np.asfortranarray(a),
        "reversed": a[::-1, ::-1],
        "steps": np.repeat(a, 2, axis=1)[:, ::2],
        "broadcast": np.broadcast_to(a[:1], (4, 6)),
        "real_of": a.real,
        "conjugate": a.conj(),
    }[view]
    expected = xl.mm(np.ascontiguousarray(x), b)
    assert_complex(expected, np.ascontiguousarray(x), b, "complex128", "nearest")
    same_bytes(xl.mm(x, b), expected)


def test_rows_do_not_see_their_neighbours(rng):
    a, b = complexes(rng, "complex128", (5, 6)), complexes(rng, "complex128", (6, 4))
    a[2] = complexes(rng, "complex128", (6,), 2000)
    whole = xl.mm(a, b)
    for i in range(5):
        same_bytes(xl.mm(a[i : i + 1], b), whole[i : i + 1])


def test_complex_entries_in_lists():
    assert xl.mm([[1 + 2j, 3]], [[1], [1j]])[0, 0] == 1 + 5j


def test_a_wrong_part_is_noticed(rng):
    a, b = complexes(rng, "complex128", (3, 4), 3, 0), complexes(rng, "complex128", (4, 3), 3, 0)
    result = xl.mm(a, b)
    assert_complex(result, a, b, "complex128", "nearest")
    result = result.copy()
    result.imag[1, 1] = np.nextafter(result.imag[1, 1], np.inf)
    with pytest.raises(AssertionError, match=r"1 of 9 entries differ; the first is \[1, 1\]"):
        assert_complex(result, a, b, "complex128", "nearest")


def test_integers_give_parts_that_are_exact(rng):
    a = integers(rng, "int8", (3, 4)) + 1j * integers(rng, "int8", (3, 4))
    b = big_integers(rng, (4, 2), 60)
    lo, hi = xl.mm_enclose(a, b)
    for part in complex_product(a, b):
        assert part.numbers.shape == (3, 2)
    assert_complex(lo, a, b, "complex128", "down")
    assert (encodings(lo.real) <= encodings(hi.real)).any()
