"""The properties of products (`tests/test_product_properties.py`) on a SYCL device."""

from collections.abc import Iterator

import pytest

import exactla as xl
from tests.test_product_properties import *  # noqa: F403


@pytest.fixture(scope="module", autouse=True)
def on_a_sycl_device() -> Iterator[None]:
    """Force the backend for the whole module."""
    reason = next(b.reason for b in xl.backends() if b.name == "sycl")
    if reason:
        pytest.skip(f"SYCL devices NOT EXERCISED: {reason}")
    with xl.backend("sycl"):
        yield
