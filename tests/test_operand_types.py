"""Operands of every type, mixed and at their extremes, bit for bit against the exact oracle."""

import itertools

import numpy as np
import pytest

import exactla as xl
from tests.operands import (
    big_integers,
    floats,
    integers,
    operand,
    whole_range,
)
from tests.oracle import (
    FORMATS,
    INTEGER_NAMES,
    ROUNDINGS,
    assert_enclosure,
    assert_product,
)

FLOAT32, FLOAT64 = FORMATS["float32"], FORMATS["float64"]


def holds(wide, name):
    """Whether a float format holds every value of a type."""
    top = wide.value(wide.largest)
    if name == "int":
        return False
    if name == "bool":
        return True
    if name in INTEGER_NAMES:
        info = np.iinfo(name)
        return wide.precision >= int(info.max).bit_length() and -top <= info.min and info.max <= top
    narrow = FORMATS[name]
    fits = wide.precision >= narrow.precision and wide.least_exponent <= narrow.least_exponent
    return fits and narrow.value(narrow.largest) <= top


def common_format(x, y):
    """The narrowest format that holds every value of both: one of theirs, else an ordinary one, float64 at the last."""
    if x not in FORMATS and y not in FORMATS:
        return FLOAT64
    if x == y:
        return FORMATS[x]
    ordinary = [FORMATS[name] for name in ("float16", "bfloat16", "float32", "float64")]
    theirs = sorted((FORMATS[name] for name in (x, y) if name in FORMATS), key=lambda f: (f.bits, f.precision))
    return next((f for f in (*theirs, *ordinary) if holds(f, x) and holds(f, y)), FLOAT64)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ("float16", "bfloat16", "float32"),
        ("float16", "float32", "float32"),
        ("bfloat16", "float64", "float64"),
        ("float8_e4m3fn", "float8_e5m2", "float16"),
        ("float8_e5m2", "float16", "float16"),
        ("float8_e4m3fn", "bfloat16", "bfloat16"),
        ("float32", "int8", "float32"),
        ("float32", "int32", "float64"),
        ("float16", "bool", "float16"),
        ("bfloat16", "uint8", "bfloat16"),
        ("float16", "uint16", "float32"),
        ("float32", "int64", "float64"),
        ("int8", "int8", "float64"),
        ("bool", "bool", "float64"),
        ("int", "float16", "float64"),
    ],
)
def test_the_common_type_of_mixed_operands(x, y, expected):
    assert common_format(x, y).name == expected
    rng = np.random.default_rng(0)
    for pair in ((x, y), (y, x)):
        a, b = operand(rng, pair[0], (2, 2)), operand(rng, pair[1], (2, 2))
        assert xl.mm(a, b).dtype == FORMATS[expected].dtype


EVERY_TYPE = [*FORMATS, *INTEGER_NAMES, "int"]


@pytest.mark.parametrize("x", EVERY_TYPE)
def test_mixed_operands(rng, backend, x):
    for y in EVERY_TYPE:
        a, b = operand(rng, x, (3, 4), 6), operand(rng, y, (4, 3), 6)
        assert_enclosure(xl.mm_enclose(a, b), a, b, common_format(x, y))
        assert_product(xl.mm(a, b, rounding="up"), a, b, common_format(x, y), "up")


@pytest.mark.parametrize("name", INTEGER_NAMES)
@pytest.mark.parametrize("target", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_integers_with_their_extremes(rng, engine, name, target):
    a, b = integers(rng, name, (7, 9)), integers(rng, name, (9, 5))
    fmt = FORMATS[target]
    assert_enclosure(xl.mm_enclose(a, b, dtype=fmt.dtype), a, b, fmt)
    for rounding in ROUNDINGS:
        assert_product(xl.mm(a, b, rounding=rounding, dtype=fmt.dtype), a, b, fmt, rounding)


@pytest.mark.parametrize("name", INTEGER_NAMES)
def test_a_matrix_of_nothing_but_one_extreme(name):
    extremes = (False, True) if name == "bool" else (np.iinfo(name).min, np.iinfo(name).max)
    for x, y in itertools.product(extremes, repeat=2):
        a, b = np.full((3, 40), x, dtype=name), np.full((40, 2), y, dtype=name)
        assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


@pytest.mark.parametrize("bits", [1, 31, 63, 64, 65, 200, 5000])
def test_python_integers_of_any_size(rng, backend, bits):
    a, b = big_integers(rng, (3, 5), bits), big_integers(rng, (5, 4), bits)
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
    for rounding in ROUNDINGS:
        assert_product(xl.mm(a, b, rounding=rounding), a, b, FLOAT64, rounding)


def test_object_arrays_of_other_integers():
    gmpy2 = pytest.importorskip("gmpy2")
    a = np.array([[gmpy2.mpz(2) ** 200 + 1, np.int8(-3), True, np.uint64(2**64 - 1), np.bool_(True), 7]], dtype=object)
    b = np.array([[1]] * 6, dtype=object)
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)


def test_python_integers_beside_floats(rng):
    a, b = big_integers(rng, (3, 4), 300), floats(rng, FLOAT64, (4, 3), whole_range(FLOAT64))
    assert_enclosure(xl.mm_enclose(a, b), a, b, FLOAT64)
    assert_enclosure(xl.mm_enclose(b, a), b, a, FLOAT64)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([[1.5, 2.0], [3.0, -4.0]], [[1.0], [0.1]]),
        ([[1, 2], [3, 4]], ((5, 6), (7, 8))),
        ([[2**70, 1]], [[3], [2**64]]),
        ([[True, False]], [[1], [1]]),
        ([1, 2, 3], [4, 5, 6]),
    ],
)
def test_nested_lists_and_tuples(a, b):
    x, y = (np.array(v, dtype=object if isinstance(np.array(v, dtype=object).flat[0], int) else None) for v in (a, b))
    assert_enclosure(xl.mm_enclose(a, b), x, y, FLOAT64)
