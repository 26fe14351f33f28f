"""The CUDA backend: CuPy's memory and streams, the shared kernels, and residue products on tensor cores."""

import importlib.util

from exactla.backend import Backend
from exactla.registry import BackendDescription

INSTALL = "pip install 'exactla[cuda13]', or 'exactla[cuda12]' for CUDA 12"
LEAST_CAPABILITY = (8, 0)


def _missing() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed: {INSTALL}"
    try:
        import cupy

        if cupy.cuda.runtime.is_hip:
            return "this CuPy is built for ROCm"
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a driver may raise anything
        return f"CuPy finds no CUDA device: {error}"
    if not count:
        return "CuPy finds no CUDA device"
    return None


def _load() -> Backend:
    from exactla_backends.cuda.backend import CudaBackend

    return CudaBackend()


DESCRIPTION = BackendDescription(
    name="cuda", devices=("cuda",), priority=20, missing=_missing, load=_load, copies_from=("cpu",)
)
