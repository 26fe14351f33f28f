"""The compiled backend for CPUs: the integer kernels with int8 matrix units, chosen at run time for the CPU at hand."""

from exactla.backend import Backend
from exactla.registry import BackendDescription


def _missing() -> str | None:
    from exactla_backends.cpu.native import library

    if library.path() is None:
        return "exactla was built without a C compiler; install one (Debian: apt-get install gcc) and reinstall exactla"
    return None


def _load() -> Backend:
    from exactla_backends.cpu.backend import CpuBackend

    return CpuBackend()


DESCRIPTION = BackendDescription(name="cpu", devices=("cpu",), priority=10, missing=_missing, load=_load)
