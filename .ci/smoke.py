"""What every installation has to pass outside the checkout: types and entry points are found, answers are right."""

from importlib.metadata import entry_points, version
from pathlib import Path

import numpy as np

import exactla as xl
import exactla_backends.numpy
import exactla_conformance
from exactla_backends.kernels.text import device_text


def test_version() -> None:
    assert version("exactla") == xl.__version__


def test_entry_points() -> None:
    (found,) = entry_points(group="exactla.backends", name="numpy")
    assert found.load() is exactla_backends.numpy.DESCRIPTION
    assert "numpy" in [b.name for b in xl.backends() if b.available]
    assert exactla_conformance.__name__


def test_product() -> None:
    lo, hi = xl.mm_enclose(np.array([[1.0, 2.0**-53]]), np.array([[1.0], [2.0**-53]]))
    assert (lo, hi) == (1.0, np.nextafter(1.0, 2.0))


def test_the_texts_of_kernels_are_there() -> None:
    assert "xl_kernel_round" in device_text()
    assert (Path(exactla_backends.numpy.__file__).parents[1] / "cuda" / "kernels" / "round8.cu").exists()
