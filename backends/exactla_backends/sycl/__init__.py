"""The backend for SYCL devices through dpctl: the kernels as OpenCL C or SPIR-V, on the queue of the caller's array."""

import importlib.util

from exactla.backend import Backend
from exactla.registry import BackendDescription

INSTALL = "pip install 'exactla[sycl]'"


def _missing() -> str | None:
    if importlib.util.find_spec("dpctl") is None:
        return f"dpctl is not installed: {INSTALL}"
    from exactla_backends.sycl.runtime import why_no_device

    return why_no_device()


def _load() -> Backend:
    from exactla_backends.device.backend import DeviceBackend
    from exactla_backends.sycl.device import SyclDevice
    from exactla_backends.sycl.matrix import SyclMatrix

    device = SyclDevice()
    return DeviceBackend("sycl", device, SyclMatrix(device))


DESCRIPTION = BackendDescription(
    name="sycl", devices=("sycl",), priority=20, missing=_missing, load=_load, copies_from=("cpu",)
)
