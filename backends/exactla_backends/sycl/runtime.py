"""Finds SYCL devices: those of the system's drivers, or the CPU where its OpenCL runtime is installed as a wheel.

It also finds the kernels as SPIR-V.
"""

import os
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import exactla_backends.sycl
from exactla_backends.kernels.modules import FILE_NAME

_DRIVERS = "OCL_ICD_FILENAMES"
CPU_RUNTIME = "pip install 'exactla[sycl-cpu]'"


def find_drivers() -> None:
    """Name the driver of the wheel `intel-opencl-rt` to the OpenCL loader; of use before the first queue."""
    driver = _driver_of_the_wheel()
    if driver is not None:
        os.environ.setdefault(_DRIVERS, driver)


def _driver_of_the_wheel() -> str | None:
    try:
        files = metadata.files("intel-opencl-rt") or []
    except metadata.PackageNotFoundError:
        return None
    found = (str(Path(str(file.locate())).resolve()) for file in files if file.name == "libintelocl.so")
    return next(found, None)


def path_of_modules() -> Path | None:
    """The kernels as SPIR-V, None where this installation has none."""
    folders = [Path(folder) for folder in exactla_backends.sycl.__path__]
    return next((folder / FILE_NAME for folder in folders if (folder / FILE_NAME).exists()), None)


def devices() -> list[Any]:
    """The devices that programs can be made for and whose memory can be shared: OpenCL's first, which take source."""
    find_drivers()
    import dpctl

    found = [device for kind in ("opencl", "level_zero") for device in dpctl.get_devices(backend=kind)]
    return [device for device in found if device.has_aspect_usm_device_allocations]


@cache
def why_no_device() -> str | None:
    """Why there is no device, with the line that would install one."""
    if devices():
        return None
    import dpctl

    without = ", ".join(sorted({device.name.strip() for device in dpctl.get_devices()}))
    remark = f" (memory of {without} cannot be shared: no USM)" if without else ""
    driver = _driver_of_the_wheel()
    if driver is None:
        mend = f"install the driver of the GPU, or for the CPU: {CPU_RUNTIME}"
    else:
        mend = (
            "the driver of intel-opencl-rt is installed, but something asked for devices before exactla could name it; "
            f"use exactla first, or set {_DRIVERS}={driver}"
        )
    return f"no SYCL device is found{remark}: {mend}"
