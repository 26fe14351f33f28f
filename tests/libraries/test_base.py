"""What every library promises (`exactla.libraries.base`): bits go in and out unchanged, in any layout."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from exactla.arrays import Source, read
from exactla.formats import BOOL, FLOAT_FORMATS, INT64, INTEGER_FORMATS
from tests.array_libraries import KINDS, ArrayLibrary
from tests.oracle import FORMATS


def encodings(bits: int) -> Any:
    """All encodings of 8 or 16 bits, or many of 32 or 64: zeros, ends, infinities, NaN of any payload."""
    word = np.dtype(f"u{bits // 8}")
    if bits <= 16:
        return np.arange(1 << bits, dtype=word).reshape(16, -1)
    fraction = 23 if bits == 32 else 52
    infinity = ((1 << (bits - 1 - fraction)) - 1) << fraction
    quiet = infinity | 1 << (fraction - 1)
    magnitudes = [0, 1, (1 << fraction) - 1, 1 << fraction, infinity - 1, infinity]
    magnitudes += [infinity + 1, infinity | 0x1234, quiet, quiet | 0x1234, (1 << (bits - 1)) - 1]
    special = [sign | m for m in magnitudes for sign in (0, 1 << (bits - 1))]
    drawn = np.random.default_rng(bits).integers(0, 1 << bits, 64 - len(special), dtype=word)
    return np.concatenate([np.array(special, dtype=word), drawn]).reshape(4, 16)


def unsigned(array: Any) -> Any:
    """Encodings of a NumPy array, by way of its bytes."""
    return np.frombuffer(array.tobytes(), f"u{array.itemsize}").reshape(array.shape)


def make(library: ArrayLibrary, array: Any) -> Any:
    """An array of the library, without dimensions too (from_numpy of a contiguous copy has at least one)."""
    made = library.make(array)
    return made if tuple(made.shape) == array.shape else made.reshape(array.shape)


def single(library: ArrayLibrary) -> Source:
    return read(library.make(np.ones((2, 3), "float32")), "a")


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_every_encoding_goes_in_and_out(library: ArrayLibrary, name: str) -> None:
    like = single(library)
    if not like.library.holds(name, like.device):
        assert name not in library.dtypes
        with pytest.raises(TypeError, match=f"{library.name} arrays cannot hold {name}.*dtype may be .*float32"):
            like.library.check_result(FLOAT_FORMATS[name], like)
        return
    bits = encodings(FLOAT_FORMATS[name].bits)
    array = library.make(bits.view(FORMATS[name].dtype))
    source = read(array, "a")
    assert (source.format, source.complex, source.shape) == (FLOAT_FORMATS[name], False, bits.shape)
    assert (source.name, source.library.name, source.array is array) == ("a", library.name, True)
    seen = source.library.host_encodings(source)
    assert seen.dtype == bits.dtype
    np.testing.assert_array_equal(seen, bits)
    source.library.check_result(source.format, source)  # type: ignore[arg-type]
    back = source.library.from_host(np.array(seen), FLOAT_FORMATS[name], source)
    assert back.dtype == array.dtype
    assert library.device(back) == library.device(array)
    np.testing.assert_array_equal(unsigned(library.host(back)), bits)


def test_a_changed_bit_is_seen(library: ArrayLibrary) -> None:
    bits = encodings(32)
    source = read(library.make(bits.view("float32")), "a")
    spoiled = np.array(source.library.host_encodings(source))
    spoiled[1, 2] ^= 1
    back = library.host(source.library.from_host(spoiled, FLOAT_FORMATS["float32"], source))
    assert np.argwhere(unsigned(back) != bits).tolist() == [[1, 2]]


@pytest.mark.parametrize(("name", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_complex_parts_go_in_and_out(library: ArrayLibrary, name: str, part: str) -> None:
    like = single(library)
    if not like.library.holds(part, like.device):
        pytest.skip(f"{library.name} has no {part} on this device")
    bits = encodings(FLOAT_FORMATS[part].bits)
    source = read(library.make(bits.view(name)), "a")
    assert (source.format, source.complex, source.shape) == (FLOAT_FORMATS[part], True, (4, 8))
    real, imag = source.library.host_encodings(source), source.library.host_encodings(source, "imag")
    np.testing.assert_array_equal(real, bits[:, ::2])
    np.testing.assert_array_equal(imag, bits[:, 1::2])
    back = source.library.from_host_complex(np.array(real), np.array(imag), FLOAT_FORMATS[part], source)
    assert back.dtype == source.array.dtype
    np.testing.assert_array_equal(np.ascontiguousarray(library.host(back)).view(bits.dtype), bits)


def test_there_is_no_complex_of_half_precision(library: ArrayLibrary) -> None:
    like, half = single(library), np.zeros((2, 2), "u2")
    with pytest.raises(TypeError, match="no complex type with parts of float16; dtype may be complex64 or complex128"):
        like.library.from_host_complex(half, half, FLOAT_FORMATS["float16"], like)


@pytest.mark.parametrize("name", INTEGER_FORMATS)
def test_integers_keep_their_ends(library: ArrayLibrary, name: str) -> None:
    ends = [False, True] if name == "bool" else [np.iinfo(name).min, np.iinfo(name).max]
    original = np.array([ends], name)
    source = read(library.make(original), "a")
    assert (source.format, source.complex) == (INTEGER_FORMATS[name], False)
    seen = source.library.host_encodings(source)
    assert seen.dtype == original.dtype
    np.testing.assert_array_equal(seen, original)


def test_integer_and_bool_results(library: ArrayLibrary) -> None:
    like = single(library)
    for values, format in [
        (np.array([[-(2**63), 2**63 - 1]]), INT64),
        (np.array([True, False]), BOOL),
        (np.array(5), INT64),
    ]:
        like.library.check_result(format, like)
        back = like.library.from_host_integers(values.copy(), like)
        assert read(back, "c").format == format
        np.testing.assert_array_equal(library.host(back), values, strict=True)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (0, 3), (3, 0), (2, 0, 4), (1, 1)], ids=str)
def test_shapes_with_few_entries_or_none(library: ArrayLibrary, shape: tuple[int, ...]) -> None:
    format = FLOAT_FORMATS["float32"]
    for name in ("float32", "complex64", "int32", "bool"):
        source = read(make(library, np.ones(shape, name)), "a")
        assert source.shape == shape
        real = np.array(source.library.host_encodings(source))
        assert real.shape == shape
        if name == "float32":
            assert read(source.library.from_host(real, format, source), "c").shape == shape
        if name == "complex64":
            imag = np.array(source.library.host_encodings(source, "imag"))
            assert read(source.library.from_host_complex(real, imag, format, source), "c").shape == shape


VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[:, 1, :],
    lambda x: x[..., ::2],
    lambda x: x[1:, :2, 1:3],
    lambda x: x.mT,
    lambda x: x[None, 1, ...],
]
BACKWARDS: list[Callable[[Any], Any]] = [lambda x: x[::-1, ...], lambda x: x[:, ::-1, ::-2]]  # torch has none of these


@pytest.mark.parametrize("name", ["float32", "complex64", "int16", "bool"])
def test_views_have_the_entries_of_their_copies(library: ArrayLibrary, name: str) -> None:
    original = (np.arange(24).reshape(2, 3, 4) % 7).astype(name)
    base = library.make(original)
    views = VIEWS if library.name == "torch" else VIEWS + BACKWARDS
    for view in views:
        source = read(view(base), "a")
        seen = source.library.host_encodings(source)
        np.testing.assert_array_equal(seen, np.ascontiguousarray(view(original).real).view(seen.dtype))
        if source.complex:
            seen = source.library.host_encodings(source, "imag")
            np.testing.assert_array_equal(seen, np.ascontiguousarray(view(original).imag).view(seen.dtype))


def test_results_of_strided_and_read_only_encodings(library: ArrayLibrary) -> None:
    like = single(library)
    bits = np.arange(24, dtype="u4").reshape(4, 6)
    frozen = bits.copy()
    frozen.flags.writeable = False
    for encoded in (bits.T, bits[::-1, ::2], frozen, np.broadcast_to(bits[0], (3, 6))):
        back = library.host(like.library.from_host(encoded, FLOAT_FORMATS["float32"], like))
        np.testing.assert_array_equal(unsigned(back), encoded)


def test_arguments_that_are_no_arrays_are_refused(library: ArrayLibrary) -> None:
    with pytest.raises(TypeError, match="a is a set; supported are numpy, cupy, torch, jax, dpnp and array_api_strict"):
        single(library).library.read({1, 2}, "a")


def test_arrays_on_the_host_are_for_backends_of_the_host(library: ArrayLibrary) -> None:
    source = single(library)
    if source.device_kind != "cpu":
        pytest.skip("arrays of this library are on a device")
    calls = [lambda: source.library.scope(source)]
    if library.name in ("numpy", "array_api_strict"):  # which have arrays nowhere else
        bits = np.zeros((2, 3), "u4")
        calls += [
            lambda: source.library.device_encodings(source),
            lambda: source.library.from_device(bits, FLOAT_FORMATS["float32"], source),
            lambda: source.library.from_device_complex(bits, bits, FLOAT_FORMATS["float32"], source),
        ]
    for call in calls:
        with pytest.raises(TypeError, match=f"a is a {library.name} array on a 'cpu' device, and only backends"):
            call()


# ---- on a device ---------------------------------------------------------------------------------------------------


@pytest.fixture
def on_device(library: ArrayLibrary) -> ArrayLibrary:
    """A library whose arrays are on a device."""
    if single(library).device_kind == "cpu":
        pytest.skip("arrays of this library are on the host")
    return library


def carrier(source: Source) -> ArrayLibrary:
    """The device's own library."""
    return KINDS["dpnp" if source.device_kind == "sycl" else "cupy"]()


def carried(source: Source, part: Any = "real") -> Any:
    """The entries that a backend of the device sees, on the host."""
    own = carrier(source)
    seen = source.library.device_encodings(source, part)
    return own.host(own.module.asarray(seen))


def to_device(source: Source, encoded: Any) -> Any:
    """Encodings as a backend of the device has them."""
    if source.device_kind != "sycl":
        return carrier(source).make(encoded)
    return carrier(source).module.asarray(encoded, sycl_queue=source.device.sycl_queue).get_array()


@pytest.mark.parametrize("name", FLOAT_FORMATS)
def test_every_encoding_is_carried(on_device: ArrayLibrary, name: str) -> None:
    if name not in on_device.dtypes:
        pytest.skip(f"{on_device.name} has no {name} here")
    bits, format = encodings(FLOAT_FORMATS[name].bits), FLOAT_FORMATS[name]
    source = read(on_device.make(bits.view(FORMATS[name].dtype)), "a")
    with source.library.scope(source):
        np.testing.assert_array_equal(carried(source), bits, strict=True)
        back = source.library.from_device(to_device(source, bits), format, source)
    assert (back.dtype, on_device.device(back)) == (source.array.dtype, on_device.device(source.array))
    np.testing.assert_array_equal(unsigned(on_device.host(back)), bits, strict=True)


@pytest.mark.parametrize(("name", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_complex_parts_are_carried(on_device: ArrayLibrary, name: str, part: str) -> None:
    if name not in on_device.dtypes:
        pytest.skip(f"{on_device.name} has no {name} here")
    bits = encodings(FLOAT_FORMATS[part].bits)
    source = read(on_device.make(bits.view(name)), "a")
    with source.library.scope(source):
        np.testing.assert_array_equal(carried(source), bits[:, ::2], strict=True)
        np.testing.assert_array_equal(carried(source, "imag"), bits[:, 1::2], strict=True)
        halves = (to_device(source, np.ascontiguousarray(bits[:, i::2])) for i in (0, 1))
        back = source.library.from_device_complex(*halves, FLOAT_FORMATS[part], source)
    assert (back.dtype, on_device.device(back)) == (source.array.dtype, on_device.device(source.array))
    np.testing.assert_array_equal(np.ascontiguousarray(on_device.host(back)).view(bits.dtype), bits)


@pytest.mark.parametrize("name", ["float32", "complex64", *INTEGER_FORMATS])
def test_views_are_carried(on_device: ArrayLibrary, name: str) -> None:
    base = on_device.make((np.arange(24).reshape(2, 3, 4) % 7).astype(name))
    shapes = [lambda x: x, lambda x: x[:0], lambda x: x[..., :0], lambda x: x[0, 0, 0]]
    for view in (*VIEWS, *shapes, *(() if on_device.name == "torch" else BACKWARDS)):
        source = read(view(base), "a")
        for part in ("real", "imag")[: 1 + source.complex]:
            with source.library.scope(source):
                seen = carried(source, part)
            expected = source.library.host_encodings(source, part)  # type: ignore[arg-type]
            np.testing.assert_array_equal(seen, expected, strict=True)
