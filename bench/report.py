"""Tables on the terminal and in pages, from the rows of a record."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.record import Row
from exactla.results import counted

_BEGIN, _END = "<!-- table: begin -->", "<!-- table: end -->"

Column = tuple[str, Callable[[Row], str]]


def seconds(value: float) -> str:
    """A time in the unit that suits it."""
    for limit, unit, scale in ((1e-3, "us", 1e6), (1.0, "ms", 1e3)):
        if value < limit:
            return f"{value * scale:.4g} {unit}"
    return f"{value:.4g} s"


def mebibytes(value: int | None) -> str:
    """A size in MiB; a dash where it is not known."""
    return "-" if value is None else f"{value / 2**20:,.1f}"


def table(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[str]:
    """The rows under their headings: the first column to the left, the others to the right."""
    cells = [[heading for heading, _ in columns], *([text(row) for _, text in columns] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        others = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
        yield "  ".join((line[0].ljust(widths[0]), *others)).rstrip()


def _quality(row: Row) -> str:
    found = row.get("quality")
    return "" if found is None else f"{found['steps_median']:,.4g} / {found['steps_maximum']:,}"


def _missed(row: Row) -> str:
    found = row.get("quality")
    return "" if found is None else f"{found['missed']:,} of {found['entries']:,}"


def _moduli(row: Row) -> str:
    details = row.get("details", {})
    if "moduli" in details:
        return f"{details['bits']} bits, {counted(details['moduli'], 'modulus', 'moduli')}"
    return f"{details['bits_a']} x {details['bits_b']} bits" if "bits_a" in details else ""


_TIMES: tuple[Column, ...] = (
    ("contestant", lambda r: str(r["contestant"])),
    ("median", lambda r: seconds(r["seconds_median"])),
    ("minimum", lambda r: seconds(r["seconds_minimum"])),
    ("M mac/s", lambda r: f"{r['macs_per_second'] / 1e6:,.1f}"),
    ("ratio", lambda r: "-" if r["ratio"] is None else f"{r['ratio']:.3g}"),
)
_BOUNDS: tuple[Column, ...] = (
    ("steps median / max", _quality),
    ("claim missed", _missed),
)
_VERBS: tuple[Column, ...] = (
    ("verb", lambda r: str(r["verb"])),
    ("time", lambda r: seconds(r["seconds"])),
    ("share", lambda r: f"{100 * r['share']:.1f} %"),
    ("calls", lambda r: "" if r["calls"] is None else f"{r['calls']:g}"),
)

_FUNCTIONS: tuple[Column, ...] = (
    ("function", lambda r: str(r["function"])),
    ("own", lambda r: seconds(r["seconds"])),
    ("with callees", lambda r: seconds(r["cumulative"])),
    ("calls", lambda r: str(r["calls"])),
)


def times(rows: Sequence[Row]) -> Iterator[str]:
    """One problem: times, speed and ratio of each contestant, the bounds' width where known, and who was left out."""
    first = rows[0]
    batch = f"{first['batch']} x " if first.get("batch", 1) > 1 else ""
    yield f"{batch}{first['m']} x {first['k']} x {first['n']}, {first['dtype']}, {first['data']} data"
    timed = [row for row in rows if "seconds_median" in row]
    columns = (*_TIMES, *(_BOUNDS if any("quality" in r for r in timed) else ()), ("", _moduli))
    yield from table(columns, timed)
    for row in rows:
        if row["reason"]:
            yield f"  {row['contestant']}: {row['reason']}"


def parts(row: Row) -> Iterator[str]:
    """Where the time of a call on a device goes, and how fast its int8 products are."""
    whole = row["seconds_median"]
    spent = ", ".join(f"{name} {seconds(s)} ({100 * s / whole:.0f} %)" for name, s in row["parts"].items() if s)
    yield f"  parts: {spent or 'the direct path has none'}"
    rates = ", ".join(f"{name.replace('_', ' ')} {rate / 1e12:,.1f}" for name, rate in row["int8_rate"].items() if rate)
    yield f"  useful int8 T op/s: {rates}; 2 m k n over the time: {2 * row['macs_per_second'] / 1e12:,.2f} T op/s"


def solutions(rows: Sequence[Row]) -> Iterator[str]:
    """One system: the time of each contestant, where exactla's went, and who was left out."""
    first = rows[0]
    yield f"n = {first['n']}, {first['columns']} right-hand side{'s' * (first['columns'] != 1)}, {first['data']}"
    columns = [column for column in _TIMES if column[0] != "M mac/s"]
    yield from table(columns, [row for row in rows if "seconds_median" in row])
    for row in rows:
        if "parts" in row.get("details", {}):
            parts = ", ".join(f"{part} {seconds(time)}" for part, time in row["details"]["parts"].items())
            yield f"  {row['contestant']}: {parts}; Fractions of a column {seconds(row['details']['fractions'])}"
        if row["reason"]:
            yield f"  {row['contestant']}: {row['reason']}"


def multiple(rows: Sequence[Row]) -> Iterator[str]:
    """One problem of multiple precision: times and bits of each contestant, where exactla's went, who was left out."""
    first = rows[0]
    yield f"n = {first['n']}, {first['dtype']}, {first['data']}"
    columns = [column for column in _TIMES if column[0] != "M mac/s"]
    columns.append(("bits right", lambda r: _bits(r["quality"]["bits"])))
    yield from table(columns, [row for row in rows if "seconds_median" in row])
    for row in rows:
        if "parts" in row.get("details", {}):
            spent = row["details"]["parts"]
            whole = sum(spent.values())
            parts = ", ".join(f"{part} {seconds(time)} ({100 * time / whole:.0f} %)" for part, time in spent.items())
            yield f"  {row['contestant']}: {parts}"
        for name, steps in row.get("details", {}).get("steps", {}).items():
            found = ", ".join(f"{s['step']} {seconds(s['seconds'])} / {s['calls']}" for s in steps)
            yield f"  {row['contestant']}, {name} with waits: {found}"
        if row["reason"]:
            yield f"  {row['contestant']}: {row['reason']}"


def _bits(bits: int | None) -> str:
    return "all" if bits is None else f"{bits:,}"


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Ratios over all sizes, a table for each dtype and kind of data."""
    groups = dict.fromkeys((row["dtype"], row["data"]) for row in rows)
    for dtype, kind in groups:
        group = [row for row in rows if (row["dtype"], row["data"]) == (dtype, kind)]
        sizes = sorted({row["n"] for row in group})
        yield ""
        yield f"median over that of {group[0]['contestant']}, {dtype}, {kind} data (above 1: slower than exactla)"
        ratios = {(row["contestant"], row["n"]): row.get("ratio") for row in group}
        lines: list[Row] = [{"contestant": name} for name in dict.fromkeys(row["contestant"] for row in group)]
        yield from table((("n", lambda r: str(r["contestant"])), *(_ratio(n, ratios) for n in sizes)), lines)


def _ratio(n: int, ratios: dict[tuple[Any, Any], float | None]) -> Column:
    def text(row: Row) -> str:
        ratio = ratios.get((row["contestant"], n))
        return "-" if ratio is None else f"{ratio:.3g}"

    return str(n), text


def memory(rows: Sequence[Row]) -> Iterator[str]:
    """Peak memory of each contestant in MiB, and what it is made of."""
    first = rows[0]
    yield f"{first['n']} x {first['n']} x {first['n']}, {first['dtype']}, {first['data']} data; MiB"
    parts = ("peak", "before", "growth", "result", "workspace", "other")
    columns: list[Column] = [("contestant", lambda r: str(r["contestant"]))]
    columns += [_mebibytes(part) for part in parts]
    measured = [row for row in rows if not row["reason"]]
    yield from table(columns, measured)
    if measured:
        operands = mebibytes(measured[0]["operand_bytes"])
        yield f"before holds the operands, as arrays {operands} MiB; growth is peak - before; workspace is what exactla"
        yield "planned; other is growth - result - workspace"
    for row in rows:
        if row["reason"]:
            yield f"  {row['contestant']}: {row['reason']}"


def _mebibytes(part: str) -> Column:
    return part, lambda row: mebibytes(row[f"{part}_bytes"])


def profile(row: Row) -> Iterator[str]:
    """One problem: time by verb, and by function where that was asked for."""
    details = row["details"]
    yield f"{row['n']} x {row['n']} x {row['n']}, {row['dtype']}, {row['data']} data"
    yield f"engine {details['engine']}, {_moduli(row)}, {counted(details['passes'], 'block')}"
    yield from table(_VERBS, row["verbs"])
    if row["functions"]:
        yield "by function, on one thread:"
        yield from table(_FUNCTIONS, row["functions"])


def roofline(rows: Sequence[Row]) -> Iterator[str]:
    """The steps of a product and what bounds them, as Markdown."""
    for n, dtype in dict.fromkeys((row["n"], row["dtype"]) for row in rows):
        yield f"n = {n:,}, {dtype}:"
        yield ""
        yield "| step | time | G mac/s | of the unit's most | GB/s | of memory's most | bound by |"
        yield "|---|---|---|---|---|---|---|"
        for row in rows:
            if (row["n"], row["dtype"]) == (n, dtype):
                yield f"| {' | '.join(_step(row))} |"
        yield ""
    peaks = {row["unit"]: row["unit_peak"] for row in rows if row["unit_peak"] is not None}
    most = [f"{unit} {peak / 1e9:,.0f} G mac/s" for unit, peak in peaks.items()]
    most.append(f"memory {rows[0]['memory_peak'] / 1e9:,.1f} GB/s")
    yield f"At most: {', '.join(most)}."


def _step(row: Row) -> Iterator[str]:
    shares = row["shares"]
    yield row["contestant"]
    yield seconds(row["seconds_median"])
    yield f"{row['operations_per_second'] / 1e9:,.0f}" if row["operations"] else ""
    yield f"{100 * shares[row['unit']]:.0f} % of {row['unit']}" if row["operations"] and row["unit"] in shares else ""
    yield f"{row['bytes_per_second'] / 1e9:,.1f}"
    yield f"{100 * shares['memory']:.0f} %"
    yield row["bound"]


def replace(page: Path, table: Sequence[str]) -> None:
    """Put a table into a page of Markdown, between the comments that mark its place."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{page} has no place for a table: a line {_BEGIN} and below it a line {_END}")
    page.write_text("\n".join((before + begin, "", *table, "", end + after)), encoding="utf-8")
