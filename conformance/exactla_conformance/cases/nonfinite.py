"""NaN and infinities, carried entry by entry as IEEE 754 has it."""

from collections.abc import Iterator

from exactla_conformance.case import Case
from exactla_conformance.encodings import FLOATS, ROUNDINGS
from exactla_conformance.streams import ordinary, pair, sometimes, zeros

_SHAPES = ((6, 5), (5, 7))
_PROPAGATE = {"nonfinite": "propagate"}

SPECIAL: dict[str, tuple[int, ...]] = {
    name: (
        f.nan,
        *((f.infinite(1), f.infinite(-1), f.infinite(-1), f.infinite(1)) if f.infinity else ()),
        0,
    )
    for name, f in FLOATS.items()
}
"""Mostly infinities, sometimes a NaN or a zero."""

INFINITE = {name: (f.infinite(1), f.infinite(-1)) for name, f in FLOATS.items() if f.infinity}
ZEROS = {name: (0, f.sign if f.signed_zero else 0) for name, f in FLOATS.items()}


def propagated() -> Iterator[Case]:
    """Every format, sparse and dense with specials."""
    for name in FLOATS:
        yield Case(f"nonfinite-{name}", "mm_enclose", pair(name, _SHAPES, sometimes(SPECIAL, ordinary, 9)), _PROPAGATE)
        yield Case(f"nonfinite-{name}-nearest", "mm", pair(name, _SHAPES, sometimes(SPECIAL, ordinary, 5)), _PROPAGATE)
    for name in INFINITE:
        operands = pair(name, _SHAPES, (sometimes(INFINITE, ordinary, 12), ordinary))
        yield Case(f"infinite-{name}", "mm_enclose", operands, _PROPAGATE)
        by_zero = pair(name, _SHAPES, (sometimes(INFINITE, ordinary, 12), sometimes(ZEROS, ordinary, 4)))
        yield Case(f"infinite-{name}-by-zero", "mm_enclose", by_zero, _PROPAGATE)


def finite() -> Iterator[Case]:
    """The policy changes nothing where all is finite."""
    yield Case("nonfinite-none", "mm_enclose", pair("float64", _SHAPES), _PROPAGATE)
    yield Case("nonfinite-none-zeros", "mm_enclose", pair("float64", _SHAPES, zeros), _PROPAGATE)


def called() -> Iterator[Case]:
    """Every call and rounding, results of other formats, and operands that cannot hold a special."""
    fill = sometimes(INFINITE, ordinary, 10)
    for rounding in ROUNDINGS:
        yield Case(f"infinite-{rounding}", "mm", pair("float32", _SHAPES, fill), {**_PROPAGATE, "rounding": rounding})
    yield Case("infinite-nt", "mm_enclose_nt", pair("float64", ((3, 5), (4, 5)), fill), _PROPAGATE)
    yield Case("infinite-batch", "bmm_enclose", pair("float64", ((3, 2, 5), (3, 5, 4)), fill), _PROPAGATE)
    yield Case("infinite-vectors", "mm_enclose", pair("float64", ((6,), (6, 9)), fill), _PROPAGATE)
    yield Case("infinite-stack", "mm_enclose", pair("float64", ((2, 3, 5), (5, 4)), fill), _PROPAGATE)
    for result in ("float16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float64"):
        yield Case(
            f"infinite-to-{result}", "mm_enclose", pair("float32", _SHAPES, fill), {**_PROPAGATE, "dtype": result}
        )
    yield Case("infinite-integers", "mm_enclose", pair(("float32", "int8"), _SHAPES, (fill, ordinary)), _PROPAGATE)
    yield Case("infinite-bool", "mm_enclose", pair(("float16", "bool"), _SHAPES, (fill, ordinary)), _PROPAGATE)
    for name in ("complex64", "complex128"):
        sparse = sometimes(SPECIAL, ordinary, 25)
        yield Case(f"nonfinite-{name}", "mm_enclose", pair(name, _SHAPES, sparse), _PROPAGATE)
    yield Case(
        "nonfinite-complex-real",
        "mm",
        pair(("complex64", "float32"), _SHAPES, sometimes(SPECIAL, ordinary, 15)),
        _PROPAGATE,
    )


FAMILIES = (propagated, finite, called)
