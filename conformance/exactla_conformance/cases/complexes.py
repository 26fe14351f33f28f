"""Complex operands: rectangular enclosures, and each part rounded once."""

from collections.abc import Iterator

from exactla_conformance.case import Case
from exactla_conformance.encodings import COMPLEX, FLOATS, ROUNDINGS, Encoded
from exactla_conformance.streams import anything, fixed, huge, ordinary, pair, subnormal, zeros

_SHAPES = ((3, 4), (4, 2))


def both() -> Iterator[Case]:
    """Two complex operands, over their range."""
    for name in COMPLEX:
        for label, fill in (
            ("ordinary", ordinary),
            ("anything", anything),
            ("subnormal", subnormal),
            ("huge", huge),
            ("zeros", zeros),
        ):
            yield Case(f"{name}-{label}", "mm_enclose", pair(name, _SHAPES, fill))
        for rounding in ROUNDINGS:
            yield Case(f"{name}-{rounding}", "mm", pair(name, _SHAPES, anything), {"rounding": rounding})


def mixed() -> Iterator[Case]:
    """A complex operand and a real one, and results of the other width."""
    for names in (
        ("complex64", "complex128"),
        ("complex64", "float32"),
        ("float32", "complex64"),
        ("complex64", "float64"),
        ("complex64", "bfloat16"),
        ("complex64", "int8"),
        ("int32", "complex64"),
        ("complex128", "int"),
        ("bool", "complex128"),
    ):
        yield Case(f"complex-{names[0]}-{names[1]}", "mm_enclose", pair(names, _SHAPES))
    yield Case("complex-narrowed", "mm_enclose", pair("complex128", _SHAPES), {"dtype": "complex64"})
    yield Case("complex-widened", "mm", pair("complex64", _SHAPES), {"dtype": "complex128"})


def shaped() -> Iterator[Case]:
    """The other calls."""
    for name in COMPLEX:
        yield Case(f"{name}-vectors", "mm_enclose", pair(name, ((5,), (5,))))
        yield Case(f"{name}-stack", "mm_enclose", pair(name, ((2, 2, 3), (3, 2))))
        yield Case(f"{name}-nt", "mm_enclose_nt", pair(name, ((3, 4), (2, 4))))
        yield Case(f"{name}-batch", "bmm", pair(name, ((2, 3, 4), (2, 4, 2))))
        yield Case(f"{name}-empty", "mm_enclose", pair(name, ((2, 0), (0, 3))))


def gram() -> Iterator[Case]:
    """The Gram matrix is A A^T, nothing conjugated: (1 + i)^2 = 2i has an exactly zero real part."""
    one = FLOATS["float64"].encode(1, 0)
    yield Case("complex-gram", "mm_enclose", fixed(Encoded("complex128", (1, 1), [one, one])))
    yield Case(
        "complex-gram-signs",
        "mm_enclose",
        fixed(Encoded("complex128", (2, 1), [one, one ^ FLOATS["float64"].sign, one, one])),
    )


FAMILIES = (both, mixed, shaped, gram)
