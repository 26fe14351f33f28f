"""``exactla solve``: the exact solution of a linear system in files."""

import argparse
import time
from contextlib import ExitStack
from pathlib import Path

import gmpy2
import numpy as np

import exactla as xl
from exactla import settings
from exactla.cli import report
from exactla.cli.exits import ExitCode
from exactla.cli.loading import NamedArray, load
from exactla.cli.options import Commands, Parser, add_backend, add_dtype, add_first, add_output
from exactla.cli.progress import progress_bar
from exactla.cli.saving import check_target, save, save_lines
from exactla.cli.systems import explained
from exactla.formats import FLOAT_FORMATS

SHOWN = 60
"""Characters of an entry that the description shows."""


def add_parser(commands: Commands, common: Parser) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "solve",
        parents=[common],
        help="solve a linear system in files exactly",
        description="Solve A x = b in rational numbers. Decimals in the files are the float64 values that they become.",
        allow_abbrev=False,
    )
    add_first(parser, "the matrix")
    parser.add_argument("b", metavar="B", help="file of the right-hand side, a vector or a matrix")
    add_output(parser, "save the fractions to OUT.csv as text, or their tightest enclosure to OUT.npz, as lo and hi")
    add_dtype(parser, FLOAT_FORMATS, "format of the enclosure (default: %(default)s)", default="float64")
    add_backend(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Read, solve, save and describe."""
    if arguments.output is not None:
        check_target(arguments.output, (".csv", ".npz"))
    a, b = load(arguments.a), load(arguments.b)
    with ExitStack() as stack:
        stack.enter_context(settings.backend(arguments.backend))
        stack.enter_context(progress_bar("solving", quiet=arguments.quiet))
        start = time.perf_counter()
        with explained(a, b):
            solution = xl.solve(a.array, b.array)
        duration = time.perf_counter() - start
    if arguments.output is not None:
        _save(arguments.output, solution, arguments.dtype)
    print(_description(arguments, a, b, solution, duration))
    return ExitCode.OK


def _save(path: Path, solution: xl.Rational, dtype: str) -> None:
    if path.suffix.lower() == ".npz":
        lo, hi = solution.enclose(dtype)
        save(path, {"lo": lo, "hi": hi})
        return
    rows = solution.numerators.reshape(len(solution), -1)
    save_lines(path, (",".join(_text(n, solution.denominator) for n in row) for row in rows))


def _text(numerator: int, denominator: int) -> str:
    """A fraction in lowest terms, of any length."""
    return str(gmpy2.mpq(numerator, denominator))


def _description(
    arguments: argparse.Namespace, a: NamedArray, b: NamedArray, solution: xl.Rational, duration: float
) -> str:
    numerators, denominator = solution.numerators, solution.denominator
    bits = max((int(n).bit_length() for n in numerators.flat), default=0)
    shape = " x ".join(map(str, solution.shape))
    lines = [
        ("A", f"{report.describe(a.array)}, {a.name}"),
        ("b", f"{report.describe(b.array)}, {b.name}"),
        (
            "x",
            f"{shape} fractions, numerators of up to {bits:,} bits, denominator of {denominator.bit_length():,} bits",
        ),
    ]
    if solution.size:
        first = _text(int(numerators.flat[0]), denominator)
        lines.append(("first", first if len(first) <= SHOWN else f"{first[:SHOWN]}... ({len(first):,} characters)"))
    lines.append(("digest", xl.digest(numerators, np.array([denominator], object))))
    lines.append(("time", report.seconds(duration)))
    if arguments.output is not None:
        what = "fractions" if arguments.output.suffix.lower() == ".csv" else f"lo, hi, {arguments.dtype}"
        lines.append(("saved", f"{arguments.output}: {what}"))
    return report.rows(lines)
