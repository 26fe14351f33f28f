"""Residue products by matrix units for numbers of eight bits, of compute capability 8.9 on; `fp8.cu` is the kernel."""

import ctypes
from functools import cache
from pathlib import Path

from exactla_backends.cuda import driver
from exactla_backends.cuda.driver import Launch
from exactla_backends.cuda.matrix.task import Planes, Task
from exactla_backends.kernels.text import flattened

LEAST_CAPABILITY = (8, 9)
SEGMENT = 1 << 13
"""The inner dimension that is summed between reductions: sums of products stay up to 2**27 in magnitude."""

TILE, BLOCK, GRID = 64, (128, 1), 65535


def multiply(left: Planes, right: Planes, task: Task, result: tuple[int, int], place: tuple[int, int]) -> Launch:
    """Residues of left @ right.T for each pair of matrices and each modulus, from octets: as `hopper.multiply`."""
    device, _ = place
    job = (ctypes.c_int64 * 13)(
        *(left.address, right.address, left.rows, right.rows, left.depth, task.pairs, task.moduli),
        *(task.places, task.constants, *result, task.sign, task.add),
    )
    grid = (-(-right.rows // TILE), min(-(-left.rows // TILE) * task.pairs * task.moduli, GRID), 1)
    return Launch(driver.kernel(*source(), driver.target(device), device), grid, BLOCK, (job,))


@cache
def source() -> tuple[str, str, tuple[str, ...]]:
    """The kernel's text, its name, and the compiler's options."""
    text = flattened(Path(__file__).with_name("fp8.cu"))
    return text, "xl_product8", (f"-DXL_SEGMENT={SEGMENT}",)
