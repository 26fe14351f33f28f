"""The text of the device kernels, for compilers that take one string: files with their headers in place."""

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "(\w+\.h)"\n', re.MULTILINE)
_KERNEL = re.compile(r"^XL_KERNEL xl_kernel_(\w+)\(.*?^}\n", re.MULTILINE | re.DOTALL)


@cache
def device_text() -> str:
    """OpenCL C, and input of NVRTC. XL_MAX_LIMBS and XL_MAX_GROUPS, and maybe XL_LANES, are left to define."""
    return flattened(_FOLDER / "device.cl")


@cache
def kernel_text(kernel: str) -> str:
    """The text without other kernels than `xl_kernel_<kernel>`: it compiles many times faster."""
    return _KERNEL.sub(lambda match: match[0] if match[1] == kernel else "", device_text())


def flattened(path: Path) -> str:
    """A file with headers, of its own folder or of this one, in place of their mentions."""
    seen: set[str] = set()

    def expanded(text: str) -> str:
        return _INCLUDE.sub(header, text)

    def header(mention: re.Match[str]) -> str:
        name = mention[1]
        # the lanes of other compilers lie in branches that are not taken
        if name in seen and not name.startswith("xl_lanes_"):
            return ""
        seen.add(name)
        beside = path.with_name(name)
        return expanded((beside if beside.exists() else _FOLDER / name).read_text(encoding="utf-8"))

    return expanded(path.read_text(encoding="utf-8"))
