"""How kinds of SYCL devices multiply residues: the macros of `sycl/matrix.cl`. Knows the standard library only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """Tiles of a work item are given for residues of one byte and of two."""

    residues: int
    """In a word of 32 bits."""
    width: int
    """Results in a vector."""
    rows: tuple[int, int]
    """Vectors one below the other."""
    columns: tuple[int, int]
    """Vectors side by side."""
    rows_first: bool
    """Whether neighbouring work items have different rows."""
    step: tuple[int, int]
    """Words whose products are summed before a reduction."""
    group: int
    """Work items that work together."""
    panels: int = 1
    """Tiles of a work item, one beside the other, for the same rows; each is a panel where they are more."""
    height: int = 1
    """Rows of a vector."""
    matrix_units: bool = False
    """Whether such a group, of one row of work items, is a sub-group with a matrix unit."""

    def tile_rows(self, octets: int) -> int:
        """Rows of a tile."""
        return self.height * self.rows[octets - 1]

    def tile_columns(self, octets: int) -> int:
        """Columns of a tile."""
        return self.width * self.columns[octets - 1]

    def panel(self, octets: int) -> int:
        """Columns of the right operand that are packed together."""
        return self.tile_columns(octets) * self.group

    def macros(self, octets: int) -> dict[str, int]:
        """What `matrix.cl` is compiled with."""
        return {
            "XL_PAIRS": int(self.residues == 2),
            "XL_DIGITS": octets - 1,
            "XL_TILE_ROWS": self.rows[octets - 1],
            "XL_TILE_COLUMNS": self.columns[octets - 1],
            "XL_PANEL": self.panel(octets),
            "XL_PANELS": self.panels,
            "XL_STEP": self.step[octets - 1],
        } | ({"XL_XMX": self.group} if self.matrix_units else {})


_STEP = 16384, 8192
"""Four products of bytes are below 2**17, and eight of digits below 2**18: their sums stay below 2**31."""

VECTORS = Way(2, 16, rows=(8, 4), columns=(2, 2), rows_first=True, step=(512, 512), group=1, panels=4)
"""Of CPUs, whose compilers make instructions of products of pairs in vectors: 16 sums of 512 bits, of 32 registers."""

NARROW_VECTORS = Way(2, 16, rows=(6, 2), columns=(1, 1), rows_first=True, step=(512, 512), group=1, panels=8)
"""Of CPUs with vectors of 256 bits: 12 sums in 16 registers."""

BYTES = Way(4, 1, rows=(8, 4), columns=(1, 1), rows_first=False, step=_STEP, group=16)
"""Of all others: dot products of four bytes, for one column in a work item."""

MATRIX_UNITS = {
    size: Way(4, 1, rows=(4, 2), columns=(1, 1), rows_first=False, step=_STEP, group=size, height=8, matrix_units=True)
    for size in (8, 16)
}
"""By the size of sub-groups, the smallest one that a device has."""
