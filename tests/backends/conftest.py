"""The devices that the tests of the verbs run on: those of the fixture `backend`."""

import pytest

from tests.backends.devices import Device, open_device


@pytest.fixture
def device(backend: str) -> Device:
    return open_device(backend)
