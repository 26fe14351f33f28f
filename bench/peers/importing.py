"""Imports the library behind a peer when the peer is first used; none of them is required."""

import importlib
from importlib import metadata
from types import ModuleType

from bench.contestant import Contestant


def load(module: str) -> ModuleType:
    """The module; the libraries behind peers carry no types, so nothing is claimed of its contents."""
    return importlib.import_module(module)


class LibraryPeer(Contestant):
    """A peer that is a Python package.

    Attributes
    ----------
    module, distribution : str
        Name to import and name to install.
    largest : int
        Longest side of a product that is worth timing, for libraries that loop in Python.
    """

    module: str
    distribution: str

    def missing(self) -> str | None:
        try:
            load(self.module)
        except ImportError as error:
            return f"{error}; python -m pip install {self.distribution}"
        return None

    def version(self) -> str:
        return metadata.version(self.distribution)
