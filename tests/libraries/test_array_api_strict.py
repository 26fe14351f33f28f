"""array-api-strict arrays (`exactla.libraries.array_api_strict`): devices that lack types, and devices that differ."""

import numpy as np
import pytest

from exactla.arrays import agree, dtype_format, read
from exactla.formats import BOOL, FLOAT32, FLOAT64, INT64

xp = pytest.importorskip("array_api_strict")


@pytest.mark.parametrize("name", ["CPU_DEVICE", "device1", "device2"])
def test_results_stay_on_the_device(name: str) -> None:
    device = xp.Device(name)
    source = read(xp.asarray([[1.0, -0.0]], dtype=xp.float64, device=device), "a")
    assert (source.device, source.device_kind) == (device, "cpu")
    bits = source.library.host_encodings(source)
    assert bits.tolist() == [[0x3FF << 52, 1 << 63]]
    for result in (
        source.library.from_host(np.array(bits), FLOAT64, source),
        source.library.from_host_complex(np.array(bits), np.array(bits), FLOAT64, source),
        source.library.from_host_integers(np.array([1]), source),
    ):
        assert result.device == device


def test_cpu_memory_is_not_copied() -> None:
    host = np.ones(3)
    source = read(xp.asarray(host, copy=False), "a")
    assert np.shares_memory(source.library.host_encodings(source), host)


def test_devices_that_lack_types() -> None:
    like = read(xp.ones(2, dtype=xp.float32, device=xp.Device("no_float64")), "a")
    for call in (lambda: like.library.check_result(FLOAT64, like), lambda: dtype_format(xp.float64, like)):
        with pytest.raises(TypeError, match="array_api_strict arrays cannot hold float64; dtype may be float32"):
            call()
    like.library.check_result(FLOAT32, like)
    like.library.check_result(INT64, like)
    like = read(xp.ones(2, dtype=xp.float32, device=xp.Device("no_x64")), "a")
    like.library.check_result(BOOL, like)
    with pytest.raises(TypeError, match=r"arrays on .*no_x64.* cannot hold int64, the type of the result"):
        like.library.check_result(INT64, like)


def test_devices_that_differ() -> None:
    one, two = (read(xp.ones(2, device=xp.Device(name)), name) for name in ("device1", "device2"))
    agree(one, one)
    with pytest.raises(ValueError, match=r"device1 is on device .*'device1'.* and device2 is on device .*'device2'"):
        agree(one, two)
