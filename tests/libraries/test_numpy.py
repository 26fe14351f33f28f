"""NumPy arrays, lists and numbers (`exactla.libraries.numpy`): no copy is made and no value is changed."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactla.arrays import read
from exactla.formats import BIGINT, FLOAT_FORMATS, INTEGER_FORMATS

gmpy2 = pytest.importorskip("gmpy2")
ml_dtypes = pytest.importorskip("ml_dtypes")


def entries(value: Any) -> Any:
    source = read(value, "a")
    return source.library.host_encodings(source)


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
def test_host_encodings_are_views(dtype: str) -> None:
    base = np.arange(24).reshape(4, 6).astype(dtype)
    for array in (
        base,
        np.asfortranarray(base),
        base[::-1, ::-2],
        base[1:3, 2:2],
        np.broadcast_to(base[0], (3, 6)),
        read_only(base.copy()),
    ):
        seen = entries(array)
        assert seen.shape == array.shape
        assert seen.strides == array.strides
        assert seen.flags.writeable == array.flags.writeable
        assert array.size == 0 or np.shares_memory(seen, array)


def test_a_field_of_a_record_and_unaligned_entries_are_views() -> None:
    packed = np.zeros(3, dtype=[("flag", "i1"), ("x", "f8")])
    packed["x"] = [1.5, -0.0, 2.5]
    assert not packed["x"].flags.aligned
    np.testing.assert_array_equal(entries(packed["x"]), np.array([1.5, -0.0, 2.5]).view("u8"))
    assert np.shares_memory(entries(packed["x"]), packed)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i2", "u8"])
def test_foreign_byte_order(dtype: str) -> None:
    native = np.frombuffer(np.random.default_rng(1).bytes(16 * 12), dtype)
    foreign = native.byteswap().view(native.dtype.newbyteorder("S"))[::-1]
    np.testing.assert_array_equal(entries(foreign), entries(native[::-1]), strict=True)


def test_memmap(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "a.bin", "f8", "w+", shape=(2, 3))
    mapped[:] = 2.0
    source = read(mapped, "a")
    assert type(source.array) is np.ndarray
    assert np.shares_memory(source.array, mapped)


def test_unusual_names_of_integer_types() -> None:
    for code in "bBhHiIlLqQpP":
        assert read(np.zeros(2, code), "a").format == INTEGER_FORMATS[np.dtype(code).name]


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (3, "int64", ()),
        (True, "bool", ()),
        (2.5, "float64", ()),
        (1j, "complex128", ()),
        (np.float16(1), "float16", ()),
        (ml_dtypes.bfloat16(1), "bfloat16", ()),
        ([], "float64", (0,)),
        ([[], []], "float64", (2, 0)),
        ([[1, 2], (3, 4)], "int64", (2, 2)),
        ([True, 2], "int64", (2,)),
        ([1, 2.5], "float64", (2,)),
        ([2**53, 0.5], "float64", (2,)),
        ([1, 2.5, 1j], "complex128", (3,)),
        ([2**64 - 1], "uint64", (1,)),
        ([np.float32(1), np.float32(2)], "float32", (2,)),
        ([np.ones(2, "float32"), np.ones(2, "float32")], "float32", (2, 2)),
    ],
    ids=repr,
)
def test_lists_and_numbers(value: Any, dtype: str, shape: tuple[int, ...]) -> None:
    source = read(value, "a")
    assert (source.array.dtype.name, source.shape, source.library.name) == (dtype, shape, "numpy")
    np.testing.assert_array_equal(source.array, np.array(value, dtype=source.array.dtype))


@pytest.mark.parametrize(
    "value",
    [
        2**70,
        [2**63, -1],
        [[2**64, 0], [1, 2]],
        [np.uint64(2**63), np.int64(-1)],
        [gmpy2.mpz(2) ** 100, 1],
        gmpy2.mpz(2) ** 100,
        np.array([2**100, np.int8(-3), True, np.bool_(True), gmpy2.mpz(7), np.uint64(2**64 - 1)], dtype=object),
        np.array(5, dtype=object),
        np.empty((0, 3), dtype=object),
    ],
    ids=repr,
)
def test_integers_of_any_size(value: Any) -> None:
    source = read(value, "a")
    assert source.format is BIGINT
    expected = np.array(value, dtype=object)
    assert source.shape == expected.shape
    seen = source.library.host_encodings(source)
    assert all(type(entry) is int for entry in seen.flat)
    assert [int(entry) for entry in expected.flat] == list(seen.flat)


def test_python_integers_are_not_copied() -> None:
    array = np.array([[1, 2**80]], dtype=object)
    assert read(array, "a").array is array


def test_integers_that_floats_beside_them_would_round() -> None:
    for value in ([[0.5, 2**53 + 1]], [[0.5, np.int64(2**53 + 1)]], [[1j, 2**53 + 1]], [[0.5, gmpy2.mpz(2**53 + 1)]]):
        with pytest.raises(ValueError, match=r"a\[0, 1\] = 9007199254740993 is no (float64|complex128) value"):
            read(value, "a")
    with pytest.raises(ValueError, match=r"a\[1, 0\] = 9223372036854775807 is no float64 value"):
        read([np.array([0.5]), np.array([2**63 - 1])], "a")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ([[1], [2, 3]], ValueError, "a is ragged: its nested lists differ in length"),
        ([[1, "x"]], TypeError, r"a\[0, 1\] is a str; nested lists may hold integers, floats"),
        ([Fraction(1, 2)], TypeError, r"a\[0\] is a fractions.Fraction; nested lists"),
        ([None], TypeError, r"a\[0\] is a NoneType"),
        ([gmpy2.mpq(1, 2)], TypeError, r"a\[0\] is a gmpy2.mpq"),
        ([[np.ma.ones(2)]], TypeError, r"a\[0, 0\] is a numpy.ma.MaskedArray"),
        (np.array([[1, 2], [3, 0.5]], dtype=object), TypeError, r"a\[1, 1\] is a float; object arrays, and lists"),
        (np.array([1, None], dtype=object), TypeError, r"a\[1\] is a NoneType; object arrays, and lists"),
        (np.ma.ones(3), TypeError, r"a is a masked array, whose mask would be lost; pass a.filled\(...\)"),
        (
            np.ones(3).view(np.rec.recarray),
            TypeError,
            r"what it adds to an array would be lost; pass numpy.asarray\(a\)",
        ),
        (np.ones(3, ml_dtypes.float8_e8m0fnu), TypeError, "a has dtype float8_e8m0fnu"),
        (np.ones(3, ml_dtypes.int4), TypeError, "a has dtype int4"),
        (np.array(["x"]), TypeError, "a has dtype <U1"),
        (np.array(["2020-01-01"], "M8[D]"), TypeError, r"a has dtype datetime64\[D\]"),
        (np.zeros(2, [("x", "f8")]), TypeError, r"a has dtype \[\('x', '<f8'\)\]"),
        ("1", TypeError, "a is a str; supported are numpy"),
        (None, TypeError, "a is a NoneType; supported are"),
        (np.dtype("f8"), TypeError, "a is a numpy.dtypes.Float64DType; supported are"),
        (Fraction(1, 2), TypeError, "a is a fractions.Fraction; supported are"),
        ({}, TypeError, "a is a dict; supported are"),
    ],
    ids=repr,
)
def test_what_is_refused(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(value, "a")


@pytest.mark.skipif(np.dtype("longdouble").itemsize == 8, reason="long double is double here")
def test_extended_precision_is_refused() -> None:
    for dtype in ("longdouble", "clongdouble"):
        with pytest.raises(TypeError, match=r"a has dtype \w+; numpy arrays may hold float16, .*integers as objects"):
            read(np.ones(3, dtype), "a")


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrix_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a is a numpy.matrix, and what it adds to an array would be lost"):
        read(np.matrix([[1.0]]), "a")


def test_a_named_tuple_is_no_operand() -> None:
    from typing import NamedTuple

    class Pair(NamedTuple):
        lo: Any
        hi: Any

    with pytest.raises(TypeError, match=r"a is a .*Pair; supported are"):
        read(Pair(np.ones(2), np.ones(2)), "a")


def test_without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    from exactla.libraries import bits

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    bits.exists.cache_clear()
    try:
        source = read(np.ones(2), "a")
        with pytest.raises(
            TypeError, match="numpy arrays cannot hold bfloat16 unless the package ml_dtypes is installed"
        ):
            source.library.check_result(FLOAT_FORMATS["bfloat16"], source)
        source.library.check_result(FLOAT_FORMATS["float16"], source)
    finally:
        bits.exists.cache_clear()
