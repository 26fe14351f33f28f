"""Kernels that PoCL compiles, in vectors and as GPUs run them. `python -m tests.backends.opencl` runs the suite."""

import subprocess
import sys

import pytest

from tests.backends.opencl import pocl

PRODUCTS = """
import numpy as np
import exactla as xl
from exactla import registry
from exactla_backends.device.backend import DeviceBackend
from exactla_backends.sycl.matrix import SyclMatrix
from tests.backends.opencl import pocl
from tests.backends.opencl.device import OpenCLDevice

device = OpenCLDevice(pocl.device(), vectors={vectors})
backend = DeviceBackend("sycl", device, SyclMatrix(device))
assert all(backend.engine_is_exact(engine, m) for engine in backend.engines for m in engine.modulus_limits)
random = np.random.default_rng(1)
a, b = (np.ldexp(random.standard_normal(s), random.integers(-200, 200, s)) for s in ((7, 150), (150, 21)))
wanted = xl.mm_enclose(a, b)
registry.load = lambda name: backend
with xl.backend("sycl"):
    found = xl.mm_enclose(a, b)
print(xl.digest(*found) == xl.digest(*wanted))
"""


@pytest.mark.parametrize("vectors", [True, False])
def test_products(vectors):
    if pocl.missing():
        pytest.skip(f"kernels under PoCL NOT EXERCISED: {pocl.missing()}")
    code = PRODUCTS.format(vectors=vectors)
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stdout.split() == ["True"], done.stderr
