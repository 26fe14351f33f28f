"""Numbers of float64 components to long integers and back, by the native library: see `exactla.core.expansions`."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactla.core import expansions
from exactla.core.expansions import Extent, Words
from exactla.core.limbs import LIMB, Limbs
from exactla.formats import FLOAT64, Format
from exactla_backends.cpu.native import library
from exactla_backends.cpu.native.library import I64, Instructions

FAR = 1 << 40
"""More bits than an array has: exponents beyond it all round alike."""


class NativeExpansions:
    """The functions of `exactla.core.expansions`, which also does other formats than float64."""

    def __init__(self, native: Instructions) -> None:
        self._native = native

    def first_not_finite(self, words: NDArray[Any], format: Format) -> int:
        if format != FLOAT64:
            return expansions.first_not_finite(words, format)
        found: int = self._scan(words.reshape(-1, 1)).not_finite
        return found if found < words.size else -1

    def first_overlap(self, words: Words) -> int:
        found: int = self._scan(words).overlap
        return found if found < len(words) else -1

    def extent(self, words: NDArray[Any], format: Format) -> Extent:
        if format != FLOAT64:
            return expansions.extent(words, format)
        found = self._scan(words)
        if found.lowest > found.highest:
            return Extent(0, 1)
        # below 2**(highest + 1) in magnitude
        return Extent(found.lowest, (found.highest + 1 - found.lowest) // LIMB + 1)

    def sums(self, words: NDArray[Any], format: Format, needed: Extent) -> Limbs:
        if format != FLOAT64:
            return expansions.sums(words, format, needed)
        found = np.empty((len(words), needed.limbs), np.uint64)
        self._native.run(
            "sum_components",
            ctypes.byref(library.components(words)),
            I64(needed.exponent),
            ctypes.byref(library.long_integers(found[None])),
        )
        return found

    def components(self, limbs: Limbs, exponent: int, count: int) -> Words:
        found = np.empty((len(limbs), count), np.uint64)
        self._native.run(
            "take_components",
            ctypes.byref(library.long_integers(limbs[None])),
            I64(max(-FAR, min(FAR, exponent))),
            ctypes.byref(library.components(found)),
        )
        return found

    def _scan(self, words: NDArray[Any]) -> Any:
        found = library.ComponentScan()
        self._native.run("scan_components", ctypes.byref(library.components(words)), ctypes.byref(found))
        return found
