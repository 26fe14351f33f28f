"""Interval products from midpoints and radii and from endpoints, by all three methods."""

from collections.abc import Iterator
from functools import partial

from exactla_conformance.case import Case
from exactla_conformance.encodings import FLOATS, Encoded, Floating, part_format
from exactla_conformance.streams import (
    Fill,
    Stream,
    anything,
    binades,
    constant,
    draw,
    fixed,
    huge,
    ordinary,
    positive,
    subnormal,
)

METHODS = ("rump", "sharp", "hull")
Shape = tuple[int, ...]
_SHAPES: tuple[Shape, Shape] = ((4, 5), (5, 3))
_FORMATS = ("float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz")


def _keywords(method: str) -> dict[str, str | bool]:
    """The mask of hulls is asked for where it says something."""
    return {"method": method, "return_info": True} if method == "sharp" else {"method": method}


def _midpoints(
    stream: Stream, format: str, mid: Fill, rad: Fill, shapes: tuple[Shape, Shape] = _SHAPES
) -> tuple[Encoded, ...]:
    fills = (mid, positive(rad))
    return tuple(draw(stream, format, shape, fill) for shape in shapes for fill in fills)


def _bounds(
    stream: Stream, format: str, fill: Fill, shapes: tuple[Shape, Shape] = _SHAPES, tight: bool = False
) -> tuple[Encoded, ...]:
    """Two draws in order; where tight, an entry and its successor."""
    f = part_format(format)
    ends = []
    for shape in shapes:
        one = draw(stream, format, shape, fill).entries
        two = [e - 1 if isinstance(f, Floating) and e > f.sign else e + 1 for e in one] if tight else None
        other = two or draw(stream, format, shape, fill).entries
        both = [sorted(pair, key=lambda e: _order(f, e)) for pair in zip(one, other, strict=True)]
        ends += [Encoded(format, shape, [pair[end] for pair in both]) for end in (0, 1)]
    return tuple(ends)


def _order(format: object, entry: int) -> int:
    """A key that sorts encodings as their values; integers are their own."""
    return format.sign - entry if isinstance(format, Floating) and entry >= format.sign else entry


def midpoint_radius() -> Iterator[Case]:
    """Radii small, as large as the midpoints, and zero."""
    for method in METHODS:
        for name in _FORMATS:
            build = partial(_midpoints, format=name, mid=ordinary, rad=ordinary)
            yield Case(f"midrad-{name}-{method}", "mm_interval", build, _keywords(method))
        for label, mid, rad in (
            ("narrow", ordinary, binades(-40, -30)),
            ("zero-radius", ordinary, constant(0)),
            ("zero-midpoint", constant(0), ordinary),
            ("unlike", binades(-300, 300), binades(-300, 300)),
            ("tiny-radius", ordinary, subnormal),
            ("huge", huge, huge),
        ):
            build = partial(_midpoints, format="float64", mid=mid, rad=rad)
            yield Case(f"midrad-{label}-{method}", "mm_interval", build, _keywords(method))
        build = partial(_midpoints, format="int16", mid=ordinary, rad=ordinary)
        yield Case(f"midrad-int16-{method}", "mm_interval", build, _keywords(method))


def endpoints() -> Iterator[Case]:
    """Endpoints of any sign, of one sign, one step apart, equal, over the whole range."""
    for method in METHODS:
        for name in _FORMATS:
            build = partial(_bounds, format=name, fill=ordinary)
            yield Case(f"bounds-{name}-{method}", "mm_interval_bounds", build, _keywords(method))
        for label, format, fill, tight in (
            ("positive", "float64", positive(ordinary), False),
            ("tight", "float64", ordinary, True),
            ("anything", "float64", anything, False),
            ("tight-anything", "float32", positive(anything), True),
            ("point", "float64", constant(0x3FF8_0000_0000_0000), False),
            ("subnormal", "float32", subnormal, False),
            ("huge", "float32", huge, False),
            ("int32", "int32", anything, False),
        ):
            build = partial(_bounds, format=format, fill=fill, tight=tight)
            yield Case(f"bounds-{label}-{method}", "mm_interval_bounds", build, _keywords(method))


def _unlike_sides(stream: Stream, formats: tuple[str, str], fills: tuple[Fill, Fill]) -> tuple[Encoded, ...]:
    """The two intervals have nothing in common."""
    left, right = (_bounds(stream, *side) for side in zip(formats, fills, strict=True))
    return (*left[:2], *right[2:])


def unlike_sides() -> Iterator[Case]:
    """Straddling operands of unlike formats, widths and scales."""
    for method in METHODS:
        for label, formats, fills in (
            ("formats", ("float64", "float16"), (ordinary, ordinary)),
            ("integers", ("float32", "int8"), (ordinary, anything)),
            ("widths", ("float64", "float64"), (binades(-30, 30), binades(0, 0))),
            ("scales", ("float32", "float32"), (binades(60, 62), binades(-40, -20))),
            ("precisions", ("int64", "float8_e5m2"), (anything, anything)),
        ):
            build = partial(_unlike_sides, formats=formats, fills=fills)
            yield Case(f"unlike-{label}-{method}", "mm_interval_bounds", build, _keywords(method))


def shaped() -> Iterator[Case]:
    """Vectors, stacks, empty sums and long ones; a result of another format."""
    for label, shapes in (
        ("vectors", ((6,), (6,))),
        ("stack", ((2, 3, 4), (4, 2))),
        ("empty", ((3, 0), (0, 2))),
        ("long", ((1, 3000), (3000, 1))),
        ("longer", ((1, 131_073), (131_073, 1))),
        ("odd", ((33, 1), (1, 31))),
    ):
        for method in METHODS if label != "longer" else ("sharp",):
            build = partial(_bounds, format="float32", fill=ordinary, shapes=shapes)
            yield Case(f"bounds-{label}-{method}", "mm_interval_bounds", build, _keywords(method))
    for method in METHODS:
        keywords = _keywords(method) | {"dtype": "float16"}
        build = partial(_midpoints, format="float64", mid=ordinary, rad=ordinary)
        yield Case(f"midrad-converted-{method}", "mm_interval", build, keywords)


def reported() -> Iterator[Case]:
    """Inputs from reports about other libraries, and the worst case of the five-product form."""
    f = FLOATS["float64"]

    def scalars(*values: tuple[int, int]) -> tuple[Encoded, ...]:
        return tuple(Encoded("float64", (1, 1), [f.encode(*value)]) for value in values)

    for method in METHODS:
        keywords = _keywords(method)
        # the product of positive intervals is positive, however unlike their ends
        wide = fixed(*scalars((1, -10), (1, 62), (1, -10), (3, 60)))
        yield Case(f"reported-positive-{method}", "mm_interval_bounds", wide, keywords)
        # the midpoint of [-2**-60, 1] is no float64
        uneven = fixed(*scalars((-1, -60), (1, 0), (1, 0), (1, 0)))
        yield Case(f"reported-uneven-{method}", "mm_interval_bounds", uneven, keywords)
        straddling = fixed(*scalars((-1, 0), (3, 0), (-5, 0), (2, 0)))
        yield Case(f"straddling-{method}", "mm_interval_bounds", straddling, keywords)


FAMILIES = (midpoint_radius, endpoints, unlike_sides, shaped, reported)
