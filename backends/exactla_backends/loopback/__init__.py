"""A backend for tests: the NumPy backend behind opaque handles, so that an algorithm that looks into a buffer fails.

It is not published as an entry point; tests add its description to the registry.
"""

from typing import cast

from exactla import registry
from exactla.backend import Backend
from exactla.registry import BackendDescription


def _load() -> Backend:
    from exactla_backends.loopback.backend import Loopback

    # the methods are those of the wrapped backend, which a type checker cannot see
    return cast(Backend, Loopback(registry.load("numpy")))


DESCRIPTION = BackendDescription(name="loopback", devices=("cpu",), priority=-1, missing=lambda: None, load=_load)
