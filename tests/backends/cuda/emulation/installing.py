r"""Puts the pretended CuPy in the place of one that may be installed, so that the CUDA backend runs on this host.

As a plugin of pytest it does so for a whole run, of any tests of exactla's, on a device of the capability that
EXACTLA_EMULATED_CUDA names:

    EXACTLA_EMULATED_CUDA=90 EXACTLA_TEST_BACKENDS=cuda \
        python -m pytest -p tests.backends.cuda.emulation.installing tests/backends/verbs
"""

import contextlib
import getpass
import hashlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from exactla import arrays, registry
from tests.backends.cuda.emulation import compiler, modules
from tests.backends.cuda.emulation.modules import Gpu

_REPLACED = ("cupy", "cupy_backends", "exactla_backends.cuda", "exactla.libraries.cupy", "exactla.libraries.dlpack")
VARIABLE = "EXACTLA_EMULATED_CUDA"


@contextlib.contextmanager
def installed(capability: tuple[int, int], cache: Path | None = None) -> Iterator[Gpu]:
    """Two devices of a compute capability; kernels that have been compiled are kept, by default for later runs too."""
    gpu = Gpu(capability)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_replaced(name)}
    sys.modules.update(gpu.modules())
    _forget()
    with mock.patch.dict(os.environ, EXACTLA_CACHE_DIR=str(cache or _cache())):
        try:
            driver = importlib.import_module("exactla_backends.cuda.driver")
            elements = importlib.import_module("exactla_backends.cuda.elements")
            panel = importlib.import_module("exactla_backends.cuda.multiprecision.panel")
            lifting = importlib.import_module("exactla_backends.cuda.systems.lifting")
            backend = importlib.import_module("exactla_backends.cuda.backend").CudaBackend
            with (
                mock.patch.object(driver, "_encode_tiled", return_value=modules.encode_tiled),
                mock.patch.object(elements, "SETTLING_BLOCKS", 3),  # which step over what many would take at once
                mock.patch.object(panel, "THREADS", 64),  # for 256 a host takes several times as long
                mock.patch.object(lifting, "LEAST_SIZE", 1),  # which is not worth it on a device
                mock.patch.object(backend, "least_lifting", 16),  # nor is this
            ):
                yield gpu
        finally:
            for name in list(sys.modules):
                if _is_replaced(name):
                    del sys.modules[name]
            sys.modules.update(before)
            _forget()


def _is_replaced(name: str) -> bool:
    return any(name == known or name.startswith(f"{known}.") for known in _REPLACED)


def _forget() -> None:
    arrays._library_of.cache_clear()
    for cache in (registry.descriptions, registry._load, registry.default):
        cache.cache_clear()


def _cache() -> Path:
    """A folder of the user's own: keys hold the kernels' texts, and its name what else decides their code."""
    texts = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*")) if path.is_file())
    name = f"exactla-emulated-{getpass.getuser()}"
    return Path(tempfile.gettempdir()) / name / hashlib.sha256(texts).hexdigest()[:16]


def pytest_configure(config: pytest.Config) -> None:
    reason = compiler.why_not()
    if VARIABLE in os.environ and reason is not None:
        raise pytest.UsageError(f"{VARIABLE}: {reason}")
    if VARIABLE in os.environ:
        number = int(os.environ[VARIABLE])
        scope = installed((number // 10, number % 10))
        scope.__enter__()
        config.add_cleanup(lambda: scope.__exit__(None, None, None))
