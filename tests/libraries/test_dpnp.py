"""dpnp arrays (`exactla.libraries.dpnp`): results stay on the queue and in the kind of memory of the operand."""

from typing import Any

import numpy as np
import pytest

from exactla.arrays import agree, read
from exactla.formats import FLOAT32, FLOAT64
from tests.array_libraries import missing

dpnp = pytest.importorskip("dpnp")
dpctl = pytest.importorskip("dpctl")
pytestmark = pytest.mark.skipif(missing("dpnp") is not None, reason=f"NOT EXERCISED: {missing('dpnp')}")


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_results_stay_where_the_operand_is(usm_type: str) -> None:
    array = dpnp.ones((2, 3), dtype="float32", usm_type=usm_type, sycl_queue=dpctl.SyclQueue())
    source = read(array, "a")
    assert source.device_kind == "sycl"
    bits = np.array(source.library.host_encodings(source))
    for result in (
        source.library.from_host(bits, FLOAT32, source),
        source.library.from_host_complex(bits, bits, FLOAT32, source),
        source.library.from_host_integers(np.array([True]), source),
    ):
        assert result.usm_type == usm_type
        assert result.sycl_queue == array.sycl_queue


def test_queues_that_differ() -> None:
    one, two = (read(dpnp.ones(2, sycl_queue=dpctl.SyclQueue()), name) for name in "ab")
    agree(one, one)
    with pytest.raises(ValueError, match=r"a is on device .* and b is on device .* through another queue; move one"):
        agree(one, two)


def test_devices_without_double_precision() -> None:
    source = read(dpnp.ones(2, dtype="float32"), "a")

    class Single:
        class sycl_device:
            has_aspect_fp16 = False
            has_aspect_fp64 = False

    device: Any = Single()
    assert [name for name in ("float16", "float32", "float64") if source.library.holds(name, device)] == ["float32"]
    if source.device.sycl_device.has_aspect_fp64:
        source.library.check_result(FLOAT64, source)


def test_results_take_over_what_the_device_computed() -> None:
    queue = dpctl.SyclQueue()
    like = read(dpnp.ones(2, dtype="float32", sycl_queue=queue), "a")
    bits = np.array([[0x3F800000, 0x7FC01234], [0xFF800000, 0x80000000]], "u4")  # a payload, an infinity, a zero
    encoded = dpnp.asarray(bits, sycl_queue=queue)
    result = like.library.from_device(encoded.get_array(), FLOAT32, like)
    assert (result.dtype, result.sycl_queue) == (np.float32, queue)
    assert result.get_array().usm_data.__sycl_usm_array_interface__ == (
        encoded.get_array().usm_data.__sycl_usm_array_interface__
    )
    np.testing.assert_array_equal(dpnp.asnumpy(result).view("u4"), bits, strict=True)
    pair = like.library.from_device_complex(encoded.get_array(), encoded[::-1].copy().get_array(), FLOAT32, like)
    assert (pair.dtype, pair.shape, pair.sycl_queue) == (np.complex64, (2, 2), queue)
    np.testing.assert_array_equal(dpnp.asnumpy(pair).view("u4")[:, ::2], bits)
    np.testing.assert_array_equal(dpnp.asnumpy(pair).view("u4")[:, 1::2], bits[::-1])
