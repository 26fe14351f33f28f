"""Finds PoCL, of the system's libraries, without registering it for dpctl and other programs."""

import ctypes.util
import importlib.util
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

NAME = "pocl"


def missing() -> str | None:
    """Why PoCL cannot be used."""
    if importlib.util.find_spec("pyopencl") is None:
        return "pyopencl is not installed: pip install pyopencl"
    if ctypes.util.find_library("pocl") is None:
        return "no PoCL: apt-get install libpocl2"
    return None


@cache
def device() -> Any:
    """Its CPU."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pocl.icd").write_text(f"{ctypes.util.find_library('pocl')}\n")
        os.environ["OCL_ICD_VENDORS"] = folder
        import pyopencl

        (platform,) = pyopencl.get_platforms()
    (found,) = platform.get_devices()
    return found
