"""CuPy arrays (`exactla.libraries.cupy`) and those taken over by DLPack, on devices that are pretended."""

import sys
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from exactla import arrays
from exactla.arrays import agree, dtype_format, read
from exactla.formats import BFLOAT16, BOOL, FLOAT32, FLOAT64, FLOAT_FORMATS, INT64, INTEGER_FORMATS
from tests.array_libraries import ArrayLibrary, missing, opened
from tests.libraries import fake_cupy
from tests.libraries.fake_cupy import Stream, asarray
from tests.libraries.test_base import encodings
from tests.oracle import FORMATS


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The pretended CuPy, in the place of one that may be installed."""
    module = fake_cupy.module()
    monkeypatch.setitem(sys.modules, "cupy", module)
    readers = [f"exactla.libraries.{name}" for name in ("cupy", "dlpack")]
    real = {name: sys.modules.pop(name) for name in readers if name in sys.modules}
    arrays._library_of.cache_clear()
    yield module
    for name in readers:
        sys.modules.pop(name, None)
    sys.modules.update(real)
    arrays._library_of.cache_clear()


def on(cupy: Any, device: int, array: Any) -> Any:
    with cupy.cuda.Device(device):
        return cupy.asarray(array)


def host(array: Any) -> Any:
    return array.memory


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_every_encoding_goes_in_and_out(cupy: Any, name: str) -> None:
    bits, format = encodings(FLOAT_FORMATS[name].bits), FLOAT_FORMATS[name]
    source = read(on(cupy, 1, bits.view(FORMATS[name].dtype)), "a")
    assert (source.format, source.complex, source.shape, source.device_kind) == (format, False, bits.shape, "cuda")
    library = source.library
    library.check_result(format, source)
    np.testing.assert_array_equal(library.host_encodings(source), bits, strict=True)
    seen = library.device_encodings(source)
    assert np.shares_memory(host(seen), host(source.array))
    np.testing.assert_array_equal(host(seen), bits, strict=True)
    for back in (library.from_host(bits, format, source), library.from_device(seen, format, source)):
        assert (type(back), back.dtype, back.device) == (cupy.ndarray, source.array.dtype, source.device)
        np.testing.assert_array_equal(host(back).view(bits.dtype), bits)


@pytest.mark.parametrize(("name", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_complex_parts_go_in_and_out(cupy: Any, name: str, part: str) -> None:
    bits, format = encodings(FLOAT_FORMATS[part].bits), FLOAT_FORMATS[part]
    source = read(on(cupy, 1, bits.view(name)), "a")
    assert (source.format, source.complex, source.shape) == (format, True, (4, 8))
    library = source.library
    with library.scope(source):
        real, imag = library.device_encodings(source), library.device_encodings(source, "imag")
        backs = [library.from_device_complex(real, imag, format, source)]
    np.testing.assert_array_equal(library.host_encodings(source), bits[:, ::2], strict=True)
    np.testing.assert_array_equal(library.host_encodings(source, "imag"), bits[:, 1::2], strict=True)
    backs.append(library.from_host_complex(bits[:, ::2], bits[:, 1::2], format, source))
    for back in backs:
        assert (back.dtype, back.device) == (np.dtype(name), source.device)
        np.testing.assert_array_equal(host(back).view(bits.dtype), bits)


@pytest.mark.parametrize("name", INTEGER_FORMATS)
def test_integers_keep_their_ends(cupy: Any, name: str) -> None:
    ends = np.array([False, True] if name == "bool" else [np.iinfo(name).min, np.iinfo(name).max], name)
    source = read(cupy.asarray(ends), "a")
    assert (source.format, source.complex) == (INTEGER_FORMATS[name], False)
    for seen in (source.library.host_encodings(source), host(source.library.device_encodings(source))):
        np.testing.assert_array_equal(seen, ends, strict=True)


def test_integer_and_bool_results(cupy: Any) -> None:
    like = read(on(cupy, 1, np.ones(2)), "a")
    for values, format in ((np.array([-(2**63), 2**63 - 1]), INT64), (np.array([True, False]), BOOL)):
        back = like.library.from_host_integers(values, like)
        assert (read(back, "c").format, back.device) == (format, like.device)
        np.testing.assert_array_equal(host(back), values, strict=True)


def test_views_are_not_copied(cupy: Any) -> None:
    base = (np.arange(24).reshape(2, 3, 4) % 7).astype(ml_dtypes.bfloat16)
    array = cupy.asarray(base)
    for index in ((0,), (..., slice(None, None, 2)), (slice(None, None, -1),), (slice(0, 0),), (0, 0, 0)):
        source = read(array[index], "a")
        assert source.format is BFLOAT16
        seen = host(source.library.device_encodings(source))
        assert seen.strides == host(array)[index].strides
        np.testing.assert_array_equal(seen, np.array(base[index]).view("u2"), strict=True)
        np.testing.assert_array_equal(source.library.host_encodings(source), seen, strict=True)


def test_the_scope_is_the_device_of_the_array(cupy: Any) -> None:
    source = read(on(cupy, 1, np.ones(2)), "a")
    with source.library.scope(source):
        assert cupy.asarray(np.ones(2)).device == source.device
    assert cupy.asarray(np.ones(2)).device.id == 0


def test_what_is_refused(cupy: Any) -> None:
    class Tagged(cupy.ndarray):  # type: ignore[misc]
        pass

    tagged = cupy.asarray(np.ones(2)).view(Tagged)
    with pytest.raises(TypeError, match=r"a is a .*Tagged, and what it adds .* be lost; pass a.view\(cupy.ndarray\)"):
        read(tagged, "a")
    assert read(tagged.view(cupy.ndarray), "a").format == FLOAT64
    for dtype in ("U3", "M8[s]", ml_dtypes.int4, ">f8"):
        with pytest.raises(TypeError, match=r"a has dtype .*; cupy arrays may hold float16, bfloat16, .*integers of 8"):
            read(cupy.asarray(np.zeros(2, dtype)), "a")
    with pytest.raises(TypeError, match=r"a is a .*Device; supported are numpy, cupy, torch"):
        read(cupy.cuda.Device(0), "a")


def test_what_does_not_agree(cupy: Any) -> None:
    here, there = read(cupy.asarray(np.ones(2)), "a"), read(on(cupy, 1, np.ones(2)), "b")
    agree(here, here)
    with pytest.raises(ValueError, match="a is on device <CUDA Device 0> and b is on device <CUDA Device 1>; move one"):
        agree(here, there)
    with pytest.raises(TypeError, match="a is a cupy array and c is a numpy array; convert one of them"):
        agree(here, read(np.ones(2), "c"))


def test_dtype_arguments(cupy: Any) -> None:
    like = read(cupy.asarray(np.ones(2)), "a")
    assert dtype_format("float8_e5m2", like) == (FLOAT_FORMATS["float8_e5m2"], False)
    assert dtype_format(np.complex64, like) == (FLOAT32, True)


# ---- arrays of other libraries, by DLPack --------------------------------------------------------------------------


class Foreign:
    """An array of a library that nobody knows, on a device of a kind that DLPack numbers."""

    def __init__(self, values: Any, kind: int) -> None:
        self.values, self.kind = values, kind

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 1

    def __dlpack__(self, **_: Any) -> Any:
        raise AssertionError("only CuPy takes arrays of the device")

    def on_the_host(self) -> Any:
        """The memory, for the pretended device."""
        return self.values


@pytest.mark.parametrize("kind", [2, 13])
def test_other_arrays_on_the_device_become_those_of_cupy(cupy: Any, kind: int) -> None:
    values = np.arange(6.0).reshape(2, 3)
    source = read(Foreign(values, kind), "a")
    library = source.library
    assert (library.name, source.format, source.shape, source.device.id) == ("DLPack", FLOAT64, (2, 3), 1)
    assert np.shares_memory(host(library.device_encodings(source)), values)
    back = library.from_host(values.view("u8"), FLOAT64, source)
    assert (type(back), back.device) == (cupy.ndarray, source.device)
    agree(source, read(Foreign(values, kind), "b"))
    with pytest.raises(TypeError, match="a is a DLPack array and b is a cupy array; convert one of them"):
        agree(source, read(on(cupy, 1, values), "b"))


def test_operands_of_other_libraries_are_read_when_a_call_ends(cupy: Any) -> None:
    source = read(Foreign(np.ones(2), 2), "a")
    waits = Stream.waits
    with source.library.scope(source):
        assert (cupy.cuda.Device.current[-1], Stream.waits) == (1, waits)
    assert Stream.waits == waits + 1
    with pytest.raises(KeyError), source.library.scope(source):
        raise KeyError
    assert Stream.waits == waits + 2


def test_other_arrays_elsewhere_are_refused(cupy: Any) -> None:
    for kind in (1, 10, 14):
        with pytest.raises(TypeError, match=r"a is a .*Foreign; supported are numpy, cupy"):
            read(Foreign(np.ones(2), kind), "a")


def test_other_arrays_are_refused_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TypeError, match=r"a is a .*Foreign; supported are numpy, cupy"):
        read(Foreign(np.ones(2), 2), "a")


# ---- torch and JAX, whose entries CuPy carries ---------------------------------------------------------------------


@pytest.fixture(params=["torch", "jax"])
def carried(request: pytest.FixtureRequest, cupy: Any) -> Iterator[ArrayLibrary]:
    """A library whose arrays on the host stand for arrays on a device."""
    reason = missing(request.param)
    if reason is not None:
        pytest.skip(f"NOT EXERCISED: {reason}")
    with opened(request.param) as library:
        yield library


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_cupy_carries_every_encoding(carried: ArrayLibrary, name: str) -> None:
    if name not in carried.dtypes:
        pytest.skip(f"{carried.name} has no {name}")
    bits, format = encodings(FLOAT_FORMATS[name].bits), FLOAT_FORMATS[name]
    source = read(carried.make(bits.view(FORMATS[name].dtype)), "a")
    np.testing.assert_array_equal(host(source.library.device_encodings(source)), bits, strict=True)
    back = source.library.from_device(asarray(bits), format, source)
    assert back.dtype == source.array.dtype
    np.testing.assert_array_equal(carried.host(back).view(bits.dtype), bits, strict=True)


@pytest.mark.parametrize(("name", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_cupy_carries_complex_parts(carried: ArrayLibrary, name: str, part: str) -> None:
    bits, format = encodings(FLOAT_FORMATS[part].bits), FLOAT_FORMATS[part]
    source = read(carried.make(bits.view(name)), "a")
    real, imag = (source.library.device_encodings(source, p) for p in ("real", "imag"))
    np.testing.assert_array_equal(host(real), bits[:, ::2], strict=True)
    np.testing.assert_array_equal(host(imag), bits[:, 1::2], strict=True)
    back = source.library.from_device_complex(real, imag, format, source)
    assert back.dtype == source.array.dtype
    np.testing.assert_array_equal(np.ascontiguousarray(carried.host(back)).view(bits.dtype), bits)


@pytest.mark.parametrize("name", INTEGER_FORMATS)
def test_cupy_carries_integers(carried: ArrayLibrary, name: str) -> None:
    ends = np.array([False, True] if name == "bool" else [np.iinfo(name).min, np.iinfo(name).max], name)
    source = read(carried.make(ends), "a")
    np.testing.assert_array_equal(host(source.library.device_encodings(source)), ends, strict=True)


def test_cupy_carries_views_and_empty_arrays(carried: ArrayLibrary) -> None:
    original = np.arange(24, dtype="f4").reshape(2, 3, 4)
    base = carried.make(original)
    for view in (
        lambda x: x[:, 1],
        lambda x: x[..., ::2],
        lambda x: x.mT,
        lambda x: x[0, 0, 0],
        lambda x: x[:, :0],
        lambda x: x[:0].mT,
    ):
        source = read(view(base), "a")
        seen = host(source.library.device_encodings(source))
        np.testing.assert_array_equal(seen, np.array(view(original)).view("u4"), strict=True)
        back = source.library.from_device(asarray(seen), FLOAT32, source)
        assert tuple(back.shape) == seen.shape


def test_tensors_are_carried_without_copies(cupy: Any) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(3, 4, dtype=torch.bfloat16)[1:].mT
    source = read(tensor, "a")
    seen = host(source.library.device_encodings(source))
    assert (seen.ctypes.data, seen.strides) == (tensor.data_ptr(), tuple(2 * s for s in tensor.stride()))
    encoded = cupy.asarray(np.zeros((2, 3), "u2"))
    assert source.library.from_device(encoded, BFLOAT16, source).data_ptr() == host(encoded).ctypes.data
    lazy = torch.tensor([complex(1, 2)]).conj()
    source = read(lazy, "a")
    np.testing.assert_array_equal(host(source.library.device_encodings(source, "imag")).view("f4"), [-2.0])
    negative = read(lazy.imag, "a")
    np.testing.assert_array_equal(host(negative.library.device_encodings(negative)).view("f4"), [-2.0])
