"""Matrix units are used where a device reports them and they multiply right: by imitation on one that has none."""

from types import SimpleNamespace

import dpctl
import pytest

import exactla as xl
from exactla_backends.kernels.ways import BYTES, MATRIX_UNITS
from exactla_backends.sycl import programs
from exactla_backends.sycl.device import SyclDevice
from exactla_backends.sycl.matrix import SyclMatrix
from tests.backends.sycl.matrix_units import WithMatrixUnits, WithSpoiltUnits

SPOILT = {
    "a column of another work item": ("vstore8(b, 0, right)", "vstore8(as_int8(b.s76543210), 0, right)"),
    "rows in another order": ("vload8(0, found)", "vload8(0, found).s10234567"),
    "unsigned bytes": ("convert_int4(as_char4(b))", "convert_int4(as_uchar4(b))"),
    "a sum that saturates": ("return sum + products", "return sum > 1 << 29 ? sum : sum + products"),
    "a text that does not compile": ("const int4 products", "const int5 products"),
}


@pytest.fixture(scope="module", autouse=True)
def has_device():
    reason = next(b.reason for b in xl.backends() if b.name == "sycl")
    if reason:
        pytest.skip(f"SYCL devices NOT EXERCISED: {reason}")


@pytest.mark.parametrize("size", MATRIX_UNITS)
def test_they_are_used(size):
    matrix = SyclMatrix(WithMatrixUnits(size))
    assert matrix._way(1) == matrix._way(100) == MATRIX_UNITS[size]


@pytest.mark.parametrize("wrong", SPOILT)
def test_they_are_not_used_where_they_are_wrong(wrong):
    matrix = SyclMatrix(WithSpoiltUnits(16, *SPOILT[wrong]))
    with pytest.warns(RuntimeWarning, match="matrix units of a SYCL device are not used"):
        assert matrix._way(100) == BYTES
    assert matrix._way(100) == BYTES  # without another check


def test_other_sizes_of_sub_groups_are_not_used():
    assert SyclMatrix(WithMatrixUnits(32))._way(100) == BYTES


def test_a_device_that_reports_none():
    device = SyclDevice()
    assert device.matrix_units() == 0
    assert not programs.has_matrix_units(device.queue)


@pytest.fixture
def asked(monkeypatch):
    """The devices whose compiler is asked for the extension; it says yes."""
    found = []
    monkeypatch.setattr(dpctl, "SyclQueue", lambda device: device)
    monkeypatch.setattr(programs, "compiled", lambda queue, text, options: found.append(queue))
    yield found
    programs.has_matrix_units.cache_clear()


def queue(backend, name):
    return type("Queue", (), {"backend": backend, "sycl_device": SimpleNamespace(name=name)})()


def test_level_zero_is_asked_through_opencl(monkeypatch, asked):
    twin, other = SimpleNamespace(name="a GPU"), SimpleNamespace(name="a CPU")
    monkeypatch.setattr(dpctl, "get_devices", lambda backend: [other, twin])
    assert programs.has_matrix_units(queue(dpctl.backend_type.level_zero, "a GPU"))
    assert asked == [twin]
    assert not programs.has_matrix_units(queue(dpctl.backend_type.level_zero, "a GPU that OpenCL does not know"))


def test_opencl_is_asked_itself(asked):
    itself = queue(dpctl.backend_type.opencl, "a GPU")
    assert programs.has_matrix_units(itself)
    assert asked == [itself.sycl_device]
