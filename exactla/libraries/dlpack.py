"""Arrays on CUDA devices whose library exactla does not know, exchanged by DLPack. Knows CuPy, which takes them over.

Results are CuPy arrays: DLPack says how to take an array of another library, not how to give one back.
"""

from contextlib import AbstractContextManager
from typing import Any

import cupy

from exactla.libraries.base import Source
from exactla.libraries.cupy import CuPy, finished


class DLPack(CuPy):
    """Arrays with the methods ``__dlpack__`` and ``__dlpack_device__``, on a CUDA device."""

    name = "DLPack"

    def read(self, array: Any, name: str) -> Source:
        with cupy.cuda.Device(array.__dlpack_device__()[1]):
            # has CuPy's current stream wait for the work on the array, as DLPack asks for
            return super().read(cupy.from_dlpack(array), name)

    def scope(self, source: Source) -> AbstractContextManager[None]:
        return finished(source.device.id)


LIBRARY = DLPack()
