"""Every format in and out: equal operands, mixed operands, results of another format."""

from collections.abc import Iterator

from exactla_conformance.case import Case
from exactla_conformance.encodings import FLOATS, INTEGERS
from exactla_conformance.streams import anything, ordinary, pair

_SHAPES = ((5, 9), (9, 4))

MIXED = (
    ("float16", "bfloat16"),
    ("float16", "float32"),
    ("bfloat16", "float64"),
    ("float32", "float64"),
    ("float8_e5m2", "float16"),
    ("float8_e5m2", "float8_e4m3"),
    ("float8_e4m3", "float8_e4m3fn"),
    ("float8_e4m3fnuz", "float8_e4m3fn"),
    ("float8_e5m2fnuz", "float8_e5m2"),
    ("float8_e4m3b11fnuz", "bfloat16"),
    ("float8_e3m4", "float32"),
    ("bool", "float8_e5m2"),
    ("bool", "float32"),
    ("int8", "float16"),
    ("int8", "bfloat16"),
    ("uint8", "bfloat16"),
    ("int16", "float16"),
    ("int16", "float32"),
    ("uint16", "float8_e4m3fn"),
    ("int32", "float32"),
    ("uint32", "float64"),
    ("int64", "float32"),
    ("uint64", "float64"),
    ("int", "float16"),
    ("int", "float64"),
)
"""Unequal operands of which at least one is floating point."""

CONVERTED = (
    *(("float64", name) for name in FLOATS if name != "float64"),
    *(("float16", name) for name in FLOATS if name != "float16"),
    ("float32", "bfloat16"),
    ("float32", "float64"),
    ("bfloat16", "float8_e5m2"),
    ("float8_e5m2", "float64"),
    ("float8_e4m3fnuz", "float32"),
    ("bool", "float16"),
    ("int8", "float8_e4m3fn"),
    ("int16", "bfloat16"),
    ("uint32", "float32"),
    ("int64", "float16"),
    ("uint64", "float32"),
    ("int", "float32"),
)
"""Operands of one format and the result's."""


def equal_operands() -> Iterator[Case]:
    """Ordinary values and any values of one format."""
    for name in (*FLOATS, *INTEGERS):
        yield Case(f"dtype-{name}-ordinary", "mm_enclose", pair(name, _SHAPES, ordinary))
        yield Case(f"dtype-{name}-anything", "mm_enclose", pair(name, _SHAPES, anything))


def mixed_operands() -> Iterator[Case]:
    """The common format of two."""
    for names in MIXED:
        yield Case(f"mixed-{names[0]}-{names[1]}", "mm_enclose", pair(names, _SHAPES, ordinary))
    yield Case("mixed-float64-int-rounded", "mm", pair(("float64", "int"), _SHAPES, anything), {"rounding": "zero"})


def converted_results() -> Iterator[Case]:
    """A result in a narrower or a wider format, with all that overflows and underflows on the way."""
    for operand, result in CONVERTED:
        name = f"convert-{operand}-{result}"
        yield Case(name, "mm_enclose", pair(operand, _SHAPES, ordinary), {"dtype": result})
        yield Case(f"{name}-nearest", "mm", pair(operand, _SHAPES, anything), {"dtype": result})


FAMILIES = (equal_operands, mixed_operands, converted_results)
