"""Launches of kernels that are functions of words alone: a text of a folder, behind what the texts there share."""

from collections.abc import Mapping, Sequence
from ctypes import Array, c_int64
from functools import cache
from pathlib import Path

from exactla_backends.cuda import driver
from exactla_backends.cuda.device import CudaDevice
from exactla_backends.device.device import Memory
from exactla_backends.kernels.text import flattened

GRID_LIMIT = 65535
FOLDER = Path(__file__).parent


class Kernels:
    """The kernels of one text, compiled with some macros, on whichever device and stream are the current ones."""

    def __init__(
        self, device: CudaDevice, text: str, macros: Mapping[str, int | str] | None = None, folder: Path = FOLDER
    ) -> None:
        self._device = device
        self._source = text, folder
        self._options = tuple(f"-DXL_{name}={value}" for name, value in (macros or {}).items())
        self._function = cache(self._loaded)

    def launch(self, name: str, grid: Sequence[int], threads: int, arguments: Sequence[Memory | int]) -> None:
        """Launch a kernel on blocks of threads; a grid with a 0 has nothing to do."""
        if 0 not in grid:
            device = self._device
            words = [value if isinstance(value, int) else value.ptr for value in arguments]
            driver.launch_words(self._function(name, device.number), _clipped(grid), (threads, 1), device.stream, words)

    def prepared(
        self,
        name: str,
        grid: Sequence[int],
        threads: int,
        arguments: "Sequence[Memory | int | Array[c_int64]]",
        shared_bytes: int = 0,
    ) -> driver.Launch:
        """A launch for many times: its arguments are `ctypes` numbers, which may be changed between two runs.

        An array of words is a structure that the kernel takes by value.
        """
        function = self._function(name, self._device.number, shared_bytes > 0)
        words = [_argument(value) for value in arguments]
        return driver.Launch(function, _clipped(grid), (threads, 1), words, shared_bytes)

    def _loaded(self, name: str, number: int, takes_memory: bool = False) -> int:
        """A function on a device, which takes dynamic shared memory or none."""
        most = driver.most_shared_bytes(number) if takes_memory else 0
        return driver.kernel(text(*self._source), name, self._options, driver.target(number), number, most)


def _clipped(grid: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*grid, 1, 1)[:3]
    return x, min(y, GRID_LIMIT), min(z, GRID_LIMIT)


def _argument(value: "Memory | int | Array[c_int64]") -> "c_int64 | Array[c_int64]":
    if isinstance(value, Array):
        return value
    return c_int64(value if isinstance(value, int) else value.ptr)


@cache
def text(name: str, folder: Path = FOLDER) -> str:
    """A text behind what all of its folder share."""
    return "".join(flattened(folder / part) for part in ("common.cuh", f"{name}.cu"))
