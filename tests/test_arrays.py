"""The border (`exactla.arrays`): whose array is it, do operands agree, what does a `dtype` argument mean."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from exactla.arrays import agree, dtype_format, read
from exactla.formats import BFLOAT16, FLOAT8_E4M3, FLOAT8_E4M3FN, FLOAT16, FLOAT32, FLOAT64, FLOAT_FORMATS
from tests.array_libraries import ArrayLibrary

EXTENDED = pytest.mark.skipif(np.dtype("longdouble").itemsize == 8, reason="long double is double here")
ml_dtypes = pytest.importorskip("ml_dtypes")


def test_import_and_use_load_nothing_but_numpy() -> None:
    code = """
import sys
import numpy as np
before = set(sys.modules)
from exactla.arrays import dtype_format, read
source = read(np.ones((2, 2)), "a")
read([[1, 2.5]], "a")
dtype_format("float16", source)
source.library.from_host(np.array(source.library.host_encodings(source)), source.format, source)
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(loaded - set(sys.stdlib_module_names) - {"numpy", "exactla"}))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_library_is_found_by_type(library: ArrayLibrary) -> None:
    source = read(library.make(np.ones((2, 3), "float32")), "left")
    assert (source.library.name, source.name, source.shape, source.format) == (library.name, "left", (2, 3), FLOAT32)
    assert source.device_kind == ("sycl" if library.name == "dpnp" else source.device_kind)
    assert isinstance(source.shape, tuple)


@pytest.mark.parametrize(
    "value",
    [iter(()), {1, 2}, {"a": 1}, "text", b"bytes", range(3), None, Ellipsis],
    ids=lambda value: type(value).__name__,
)
def test_other_arguments_are_refused(value: Any) -> None:
    name = type(value).__qualname__
    with pytest.raises(
        TypeError, match=f"a is a {name}; supported are numpy, cupy, torch, jax, dpnp and array_api_strict"
    ):
        read(value, "a")


def test_an_unknown_array_library_is_refused() -> None:
    class Array:
        __module__ = "xylophone.core"

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise AssertionError("converted silently")

    with pytest.raises(TypeError, match=r"a is a xylophone.core.*Array; supported are numpy, cupy, torch"):
        read(Array(), "a")
    with pytest.raises(TypeError, match=r"a\[0\] is a xylophone.core.*Array; nested lists may hold integers"):
        read([Array()], "a")


def test_libraries_that_differ(library: ArrayLibrary) -> None:
    operand = read(library.make(np.ones(2, "float32")), "a")
    agree(operand)
    agree(operand, operand, operand)
    if library.name == "numpy":
        agree(operand, read([1, 2], "b"))
        return
    for other in (np.ones(2), [1.0, 2.0], 3):
        with pytest.raises(TypeError, match=f"a is a {library.name} array and b is a numpy array; convert one of them"):
            agree(operand, operand, read(other, "b"))
    with pytest.raises(TypeError, match=r"a\[0\] is a .*; nested lists may hold integers, floats"):
        read([library.make(np.ones(2, "float32"))], "a")


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, (FLOAT32, False)),
        (np.dtype("f2"), (FLOAT16, False)),
        (">f8", (FLOAT64, False)),
        ("double", (FLOAT64, False)),
        (float, (FLOAT64, False)),
        (complex, (FLOAT64, True)),
        ("complex64", (FLOAT32, True)),
        (np.complex128, (FLOAT64, True)),
        ("bfloat16", (BFLOAT16, False)),
        ("float8_e4m3fn", (FLOAT8_E4M3FN, False)),
        (ml_dtypes.bfloat16, (BFLOAT16, False)),
        (np.dtype(ml_dtypes.float8_e4m3), (FLOAT8_E4M3, False)),
    ],
    ids=repr,
)
def test_dtype_arguments(dtype: Any, expected: Any) -> None:
    assert dtype_format(dtype, read(np.ones(2), "a")) == expected


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_dtypes_of_every_library(library: ArrayLibrary, name: str) -> None:
    source = read(library.make(np.ones(2, "float32")), "a")
    if not source.library.holds(name, source.device):
        with pytest.raises(TypeError, match=f"{library.name} arrays cannot hold {name}"):
            dtype_format(name, source)
        return
    own = getattr(library.module, name, name)
    for dtype in (name, own) if library.name != "jax" else (name, getattr(library.module.numpy, name)):
        assert dtype_format(dtype, source) == (FLOAT_FORMATS[name], False)
        # a type of another library than the operand's
        assert dtype_format(dtype, read(np.ones(2), "a")) == (FLOAT_FORMATS[name], False)


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        (int, "dtype=int64 is not a floating-point type; exactla.mm_exact gives exact integers"),
        (bool, "dtype=bool is not a floating-point type; exactla.mm_exact"),
        ("uint8", "dtype=uint8 is not a floating-point type; exactla.mm_exact"),
        (object, "dtype=object is not a floating-point type; exactla.mm_exact"),
        pytest.param(
            np.longdouble,
            r"dtype=(float\d+|longdouble) is not supported; it may be float16, bfloat16, .*complex64 or complex128",
            marks=EXTENDED,
        ),
        pytest.param(np.clongdouble, r"dtype=(complex\d+|clongdouble) is not supported", marks=EXTENDED),
        (ml_dtypes.float8_e8m0fnu, "dtype=float8_e8m0fnu is not supported"),
        ("U4", "is not supported"),
        ("M8[s]", "is not supported"),
        ("quadruple", "dtype='quadruple' is not understood; pass a floating-point type or its name"),
        (Exception, "dtype=<class 'Exception'> is not understood"),
        (np.dtypes.Float32DType, "dtype=<class 'numpy.dtypes.Float32DType'> is not understood"),
        (None, "dtype=None is not understood"),
        (3, "dtype=3 is not understood"),
    ],
    ids=repr,
)
def test_dtype_arguments_that_are_refused(dtype: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        dtype_format(dtype, read(np.ones(2), "a"))


def test_integer_types_of_every_library_point_at_mm_exact(library: ArrayLibrary) -> None:
    source = read(library.make(np.ones(2, "float32")), "a")
    module = library.module.numpy if library.name == "jax" else library.module
    for dtype in (module.int32, module.bool):
        with pytest.raises(TypeError, match=r"dtype=(int32|bool) is not a floating-point type; exactla.mm_exact"):
            dtype_format(dtype, source)
