"""Finds OpenCL devices: those of the system's drivers, or the CPU where its runtime is installed as a wheel."""

import os
from functools import cache
from importlib import metadata
from pathlib import Path

_DRIVERS = "OCL_ICD_FILENAMES"


def find_drivers() -> None:
    """Name the driver of the wheel `intel-opencl-rt` to the OpenCL loader; of use before the first queue."""
    try:
        files = metadata.files("intel-opencl-rt") or []
    except metadata.PackageNotFoundError:
        return
    found = [str(Path(str(file.locate())).resolve()) for file in files if file.name == "libintelocl.so"]
    if found:
        os.environ.setdefault(_DRIVERS, found[0])


@cache
def why_no_device() -> str | None:
    """Why there is no OpenCL device, with the line that would install one."""
    find_drivers()
    import dpctl

    if dpctl.get_devices(backend="opencl"):
        return None
    return "no OpenCL device is found: install the driver of the GPU, or for the CPU: pip install 'exactla[sycl-cpu]'"
