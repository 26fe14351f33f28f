"""The kernels as SPIR-V: which modules there are, and which of them a launch takes. Knows the standard library only.

SPIR-V is for queues that take no source. Numbers that decide how a work item's arrays are indexed are specialisation
constants, so that one module serves all of them; arrays themselves come in a few sizes.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from exactla_backends.kernels.text import device_text, flattened, kernel_text
from exactla_backends.kernels.ways import BYTES, MATRIX_UNITS

FILE_NAME = "modules.zip"
LANES = 4
FIXED_LIMBS, FIXED_GROUPS = 12, 17
"""The largest integers whose limbs are counted by specialisation constants."""

SIZES = (16, 64, 256, 1024, 4096)
"""Limbs of the largest integers in other modules, which have room for twice as many groups."""

DOTS = "-dots"
"""Ends the names of modules with dot products of packed bytes."""

_KERNEL = re.compile(r"^XL_KERNEL xl_kernel_(\w+)\((.*?^)}\n", re.MULTILINE | re.DOTALL)
_ONE_LANE = ("hull",)
"""Kernels that take one entry in a work item, and any number of limbs."""

_MATRIX = Path(__file__).parent.parent / "sycl" / "matrix.cl"


class Module(NamedTuple):
    """What a module is compiled from."""

    name: str
    text: str
    macros: Mapping[str, int]


class Chosen(NamedTuple):
    """A module, and its specialisation constants by number."""

    name: str
    constants: tuple[int, ...]


@cache
def matrix_text() -> str:
    """The text of the products."""
    return flattened(_MATRIX)


def chosen(kernel: str, macros: Mapping[str, int]) -> Chosen:
    """The module for a kernel that would be compiled with these macros, without dot products.

    Raises
    ------
    LookupError
        No module is for integers of so many limbs.
    """
    if "XL_PANEL" in macros:
        units = f"-xmx{macros['XL_XMX']}" if "XL_XMX" in macros else ""
        return Chosen(f"{kernel}-{1 + macros['XL_DIGITS']}{units}", ())
    limbs, groups = macros["XL_MAX_LIMBS"], macros["XL_MAX_GROUPS"]
    whole = "-whole" if "XL_WHOLE" in macros else ""
    if limbs <= FIXED_LIMBS and groups <= FIXED_GROUPS and "XL_FIXED" in macros:
        return Chosen(f"{kernel}-fixed{whole}", (limbs, groups, macros["XL_FIXED"]))
    if max(limbs, groups) == 1:
        return Chosen(kernel, ())
    size = next((size for size in SIZES if limbs <= size and groups <= 2 * size), None)
    if size is None:
        raise LookupError(f"no SPIR-V is for integers of {limbs} limbs; the largest have {SIZES[-1]}")
    return Chosen(f"{kernel}-{size}{whole}", ())


def modules() -> Iterator[Module]:
    """All modules, each without dot products and with them."""
    for name, text, macros in _plain_modules():
        yield Module(name, text, macros)
        yield Module(name + DOTS, text, {**macros, "XL_DOT_PRODUCTS": 1})


def _plain_modules() -> Iterator[Module]:
    for kernel, body in _KERNEL.findall(device_text()):
        text, lanes = kernel_text(kernel), {"XL_LANES": 1 if kernel in _ONE_LANE else LANES}
        if "XL_MAX_LIMBS" not in body:
            yield Module(kernel, text, {**lanes, "XL_MAX_LIMBS": 1, "XL_MAX_GROUPS": 1})
            continue
        sizes = {str(size): {"XL_MAX_LIMBS": size, "XL_MAX_GROUPS": 2 * size} for size in SIZES}
        if kernel not in _ONE_LANE:
            sizes["fixed"] = {"XL_MAX_LIMBS": FIXED_LIMBS, "XL_MAX_GROUPS": FIXED_GROUPS, "XL_SPECIALISED": 1}
        for name, macros in sizes.items():
            yield Module(f"{kernel}-{name}", text, {**lanes, **macros})
            if "XL_WHOLE" in body:
                yield Module(f"{kernel}-{name}-whole", text, {**lanes, **macros, "XL_WHOLE": 1})
    for kernel, _ in _KERNEL.findall(matrix_text()):
        for octets in (1, 2):
            for way in (BYTES, *MATRIX_UNITS.values()):
                macros = way.macros(octets)
                yield Module(chosen(kernel, macros).name, matrix_text(), macros)


# ---- SPIR-V: five words, then instructions; the first word of each has its length and what it is -------------------

MAGIC, HEADER = 0x07230203, 5
_NAME, _EXTENSION, _CAPABILITY = 5, 10, 17
_SPEC_CONSTANT, _CONSTANT, _FUNCTION, _FUNCTION_END, _CALL, _DECORATE = 50, 43, 54, 56, 57, 71
_SPEC_ID, _LINKAGE, _IMPORT = 1, 41, 1
_SIGNED_UNSIGNED_DOT, _PACKED_BYTES = 4452, 0
_DOT_CAPABILITIES, _DOT_EXTENSION = (6019, 6018), b"SPV_KHR_integer_dot_product\0"
_DOT_FUNCTION = "dot_4x8packed_us_int"

Instruction = list[int]


def instructions(module: bytes) -> Iterator[Instruction]:
    """The words of each instruction."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    place = HEADER
    while place < len(words):
        length = words[place] >> 16
        yield list(words[place : place + length])
        place += length


def operation(instruction: Instruction) -> int:
    """What an instruction is."""
    return instruction[0] & 0xFFFF


def _joined(module: bytes, parts: list[Instruction]) -> bytes:
    words = [word for part in parts for word in part]
    return module[: 4 * HEADER] + struct.pack(f"<{len(words)}I", *words)


def _instruction(operation: int, *operands: int) -> Instruction:
    return [(1 + len(operands)) << 16 | operation, *operands]


def specialised(module: bytes, constants: tuple[int, ...]) -> bytes:
    """The module with these specialisation constants, as constants."""
    parts = list(instructions(module))
    numbers = {x[1]: x[3] for x in parts if operation(x) == _DECORATE and x[2] == _SPEC_ID}
    found = []
    for x in parts:
        if operation(x) == _SPEC_CONSTANT:
            found.append(_instruction(_CONSTANT, x[1], x[2], constants[numbers[x[2]]]))
        elif not (operation(x) == _DECORATE and x[2] == _SPEC_ID):
            found.append(x)
    return _joined(module, found)


def with_dot_products(module: bytes) -> bytes:
    """The module with instructions for its calls of OpenCL C's dot product of unsigned with signed bytes."""
    parts = list(instructions(module))
    function = next((x[1] for x in parts if _is_dot_product(x)), None)
    if function is None:
        return module
    found: list[Instruction] = []
    declaration = False
    for x in parts:
        if operation(x) == _FUNCTION and x[2] == function:
            declaration = True
        if operation(x) == _CALL and x[3] == function:
            unsigned, signed = x[4:6]
            found.append(_instruction(_SIGNED_UNSIGNED_DOT, x[1], x[2], signed, unsigned, _PACKED_BYTES))
        elif not (declaration or (operation(x) in (_NAME, _DECORATE) and x[1] == function)):
            found.append(x)
        if operation(x) == _FUNCTION_END:
            declaration = False
    count = sum(operation(x) == _CAPABILITY for x in found)
    text = _DOT_EXTENSION.ljust(-(-len(_DOT_EXTENSION) // 4) * 4, b"\0")
    extension = _instruction(_EXTENSION, *struct.unpack(f"<{len(text) // 4}I", text))
    capabilities = [_instruction(_CAPABILITY, number) for number in _DOT_CAPABILITIES]
    return _joined(module, [*found[:count], *capabilities, extension, *found[count:]])


def _is_import(instruction: Instruction) -> bool:
    """Whether this says that a function is another module's."""
    return operation(instruction) == _DECORATE and instruction[2] == _LINKAGE and instruction[-1] == _IMPORT


def _is_dot_product(instruction: Instruction) -> bool:
    name = struct.pack(f"<{len(instruction)}I", *instruction)
    return _is_import(instruction) and _DOT_FUNCTION.encode() in name
