"""The text of the device kernels, for compilers that take one string: `device.cl` with its headers in place."""

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "(\w+\.h)"\n', re.MULTILINE)


@cache
def device_text() -> str:
    """OpenCL C, and input of NVRTC. XL_MAX_LIMBS and XL_MAX_GROUPS, and maybe XL_LANES, are left to define."""
    return flattened("device.cl")


def flattened(name: str) -> str:
    """A file with headers in place of their mentions, each time: one may lie in a branch that is not taken."""
    return _INCLUDE.sub(lambda match: flattened(match[1]), (_FOLDER / name).read_text(encoding="utf-8"))
