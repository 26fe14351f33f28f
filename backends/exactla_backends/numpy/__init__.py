"""The reference backend: NumPy int64 arithmetic and exact float64 BLAS. Reads like the specification; always there."""

from exactla.backend import Backend
from exactla.registry import BackendDescription

# arrays on a SYCL device are read and written through memory that the host sees


def _load() -> Backend:
    from exactla_backends.numpy.backend import NumpyBackend

    return NumpyBackend()


DESCRIPTION = BackendDescription(name="numpy", devices=("cpu", "sycl"), priority=0, missing=lambda: None, load=_load)
