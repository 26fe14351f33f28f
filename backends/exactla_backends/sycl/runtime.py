"""Finds OpenCL devices: of drivers of the system, or the CPU runtime where it is installed as a wheel."""

import os
import sys
from functools import cache
from pathlib import Path

_DRIVERS = "OCL_ICD_FILENAMES"
_CPU_DRIVER = Path(sys.prefix) / "lib" / "libintelocl.so"


def find_drivers() -> None:
    """Name the driver of the wheel `intel-opencl-rt` to the OpenCL loader; to be called before dpctl is imported."""
    if "dpctl" not in sys.modules and _CPU_DRIVER.exists():
        os.environ.setdefault(_DRIVERS, str(_CPU_DRIVER))


@cache
def why_no_device() -> str | None:
    """Why there is no OpenCL device, with the line that would install one."""
    find_drivers()
    import dpctl

    if dpctl.get_devices(backend="opencl"):
        return None
    return "no OpenCL device is found: install the driver of the GPU, or for the CPU: pip install 'exactla[sycl-cpu]'"
