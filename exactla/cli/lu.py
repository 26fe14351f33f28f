"""``exactla lu``: the multiple-precision LU factorisation of a matrix in a file, and solutions with it."""

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import exactla as xl
from exactla import settings
from exactla.cli import report
from exactla.cli.exits import ExitCode
from exactla.cli.loading import NamedArray, load
from exactla.cli.options import Commands, Parser, add_backend, add_first, add_output
from exactla.cli.progress import progress_bar
from exactla.cli.saving import check_target, save, save_lines
from exactla.cli.systems import explained

SHOWN = 25
"""Digits of the determinant and of an entry that the description shows."""

BITS_A_DIGIT = 3.33
"""A little more than log2(10): decimals that are saved are all within the precision."""


def add_parser(commands: Commands, common: Parser) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "lu",
        parents=[common],
        help="factor a matrix in a file in multiple precision, and solve with it",
        description="Factor A in fixed point of so many bits, every entry rounded once, and solve A x = b where B is "
        "given. Decimals in the files are the float64 values that they become.",
        allow_abbrev=False,
    )
    add_first(parser, "the matrix")
    parser.add_argument("b", metavar="B", nargs="?", help="file of the right-hand side, a vector or a matrix")
    parser.add_argument(
        "--precision", type=_precision, required=True, metavar="BITS", help="bits after the point, or 'auto' for as "
        "many as give the inverse so many proven digits",
    )  # fmt: skip
    parser.add_argument("--digits", type=int, metavar="N", help="with 'auto': the proven digits (default: 16)")
    add_output(
        parser,
        "save the solution to OUT.csv as decimal numbers; without B, the factors to OUT.npz: perm, lower and upper as "
        "64-bit limbs, and the exponents that belong to them",
    )
    add_backend(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Read, factor, solve, save and describe."""
    if arguments.output is not None:
        check_target(arguments.output, (".npz",) if arguments.b is None else (".csv",))
    a = load(arguments.a)
    b = None if arguments.b is None else load(arguments.b)
    with ExitStack() as stack:
        stack.enter_context(settings.backend(arguments.backend))
        stack.enter_context(progress_bar("factoring", quiet=arguments.quiet))
        start = time.perf_counter()
        factors, x = _computed(a, b, arguments.precision, arguments.digits)
        duration = time.perf_counter() - start
    lines = [("A", f"{report.describe(a.array)}, {a.name}"), *_of_factors(factors, len(a.array))]
    if b is not None:
        lines += [("b", f"{report.describe(b.array)}, {b.name}"), *_of_solution(x)]
    lines.append(("time", report.seconds(duration)))
    if arguments.output is not None:
        lines.append(("saved", f"{arguments.output}: {_save(arguments.output, factors, x)}"))
    print(report.rows(lines))
    return ExitCode.OK


def _precision(text: str) -> int | str:
    """What an argument stands for."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a precision is a number of bits or 'auto', got {text!r}") from None


def _computed(a: NamedArray, b: NamedArray | None, precision: int | str, digits: int | None) -> tuple[Any, Any]:
    """The factors and the solution."""
    with explained(a, b):
        factors = xl.lu_factor(a.array, precision=precision, digits=digits)
        return factors, None if b is None else factors.solve(b.array)


def _of_factors(factors: Any, size: int) -> list[tuple[str, str]]:
    return [
        ("L, U", f"{size} x {size}, {factors.precision:,} bits after the point"),
        ("det", factors.det().to_strings(digits=SHOWN).item()),
        ("digits lost", f"about {int(factors.bits_lost / BITS_A_DIGIT):,}"),
        ("digest", xl.digest(factors.perm, factors.L, factors.U)),
        ("plan", str(factors.info)),
    ]


def _of_solution(x: Any) -> list[tuple[str, str]]:
    lines = [("x", f"{' x '.join(map(str, x.shape))} numbers of up to {x.bits:,} bits")]
    if x.size:
        lines.append(("first", x.reshape(-1)[0].to_strings(digits=SHOWN).item()))
    return [*lines, ("digest of x", xl.digest(x))]


def _save(path: Path, factors: Any, x: Any) -> str:
    """Write the solution, or the factors where there is none; what was written, in words."""
    if x is None:
        parts = {
            "perm": factors.perm,
            "lower": factors.L.limbs,
            "upper": factors.U.limbs,
            "exponents": np.array([factors.L.exponent, factors.U.exponent]),
            "row_exponents": factors.row_exponents,
            "column_exponents": factors.column_exponents,
        }
        save(path, parts)
        return ", ".join(parts)
    digits = max(1, int(factors.precision / BITS_A_DIGIT))
    rows = x.to_strings(digits=digits).reshape(len(x), -1)
    save_lines(path, (",".join(row) for row in rows))
    return f"{digits:,} digits"
