"""``exactla enclose``: the tightest enclosure, or the correctly rounded product, of matrices in files."""

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import exactla as xl
from exactla import settings
from exactla.cli import report
from exactla.cli.exits import ExitCode, InputError
from exactla.cli.loading import NamedArray, load
from exactla.cli.options import Commands, Parser, add_backend, add_dtype, add_first, add_output
from exactla.cli.progress import progress_bar
from exactla.cli.saving import check_target, save, storable
from exactla.errors import NonFiniteError, WorkspaceError
from exactla.formats import FLOAT_FORMATS
from exactla.results import Info, Rounding

DTYPES = (*FLOAT_FORMATS, "complex64", "complex128")


@dataclass(frozen=True)
class Product:
    """A computed product: its ends by name (one of them where it was rounded), and how it came about."""

    ends: dict[str, npt.NDArray[Any]]
    info: Info
    duration: float


def add_parser(commands: Commands, common: Parser) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "enclose",
        parents=[common],
        help="enclose or round the product of two matrices in files",
        description="Print what the tightest enclosure of A @ B is like, and save it with -o. With --rounding: the "
        "correctly rounded product instead.",
        allow_abbrev=False,
    )
    add_first(parser, "the left matrix")
    parser.add_argument("b", metavar="B", nargs="?", help="file of the right matrix")
    parser.add_argument("--gram", action="store_true", help="without B: the product of A and its transpose")
    add_output(
        parser,
        "save to OUT.npz, as lo and hi; a rounded product also to OUT.npy or OUT.csv. An old file is replaced at once "
        "when the new one is complete",
    )
    parser.add_argument("--rounding", choices=[r.value for r in Rounding], help="round once, in this direction")
    add_dtype(parser, DTYPES, f"of the result: {', '.join(DTYPES)}")
    parser.add_argument(
        "--nonfinite", choices=("raise", "propagate"), default="raise", help="what to do about NaN and infinities"
    )
    add_backend(parser)
    parser.add_argument("--engine", metavar="NAME", help="one of the engines of the backend")
    parser.add_argument("--workspace", type=_bytes, metavar="SIZE", help="memory to use beside the matrices, as 2GiB")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Read, multiply, save and describe."""
    if arguments.gram == (arguments.b is not None):
        raise InputError("give two matrices A B, or one with --gram for the product of A and its transpose")
    if arguments.output is not None:
        check_target(arguments.output, (".npz", ".npy", ".csv") if arguments.rounding else (".npz",))
    a = load(arguments.a)
    b = None if arguments.gram else load(arguments.b)
    if arguments.output is not None and arguments.output.suffix.lower() == ".csv":
        _check_csv(arguments, a, a if b is None else b)
    product = _multiply(arguments, a, b)
    if arguments.output is not None:
        save(arguments.output, product.ends)
    print(_description(arguments, a, b, product))
    return ExitCode.OK


def _multiply(arguments: argparse.Namespace, a: NamedArray, b: NamedArray | None) -> Product:
    options = {"dtype": arguments.dtype, "nonfinite": arguments.nonfinite, "return_info": True}
    with _settings(arguments), _explained(a, b), progress_bar("multiplying", quiet=arguments.quiet):
        start = time.perf_counter()
        if arguments.rounding is None:
            (lo, hi), info = xl.mm_enclose(a.array, None if b is None else b.array, **options)
            ends = {"lo": lo, "hi": hi}
        else:
            options["rounding"] = arguments.rounding
            value, info = xl.mm_nt(a.array, a.array, **options) if b is None else xl.mm(a.array, b.array, **options)
            ends = {"product": value}
        duration = time.perf_counter() - start
    return Product({name: np.asarray(end) for name, end in ends.items()}, info, duration)


@contextmanager
def _settings(arguments: argparse.Namespace) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(settings.backend(arguments.backend))
        stack.enter_context(settings.engine(arguments.engine))
        if arguments.workspace is not None:
            stack.enter_context(settings.workspace_limit(arguments.workspace))
        yield


@contextmanager
def _explained(a: NamedArray, b: NamedArray | None) -> Iterator[None]:
    """Say why a product is refused in the words of the command line: files and options."""
    right = a if b is None else b
    try:
        yield
    except WorkspaceError as error:
        raise MemoryError(
            f"the smallest block of this product needs {error.needed:,} bytes of workspace and {error.allowed:,} are "
            "allowed; raise --workspace"
        ) from error
    except NonFiniteError as error:
        file = a.name if error.operand == "a" else right.name
        raise InputError(
            f"{file}: the entry {list(error.index)} is not finite; --nonfinite propagate follows IEEE 754"
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{error} (a is {a.name}, b is {right.name}{'' if b else ' transposed'})") from error


def _description(arguments: argparse.Namespace, a: NamedArray, b: NamedArray | None, product: Product) -> str:
    kind = "tightest enclosure" if arguments.rounding is None else f"rounded once, {arguments.rounding}"
    first = next(iter(product.ends.values()))
    lines = [("a", f"{report.describe(a.array)}, {a.name}")]
    lines.append(("b", "a.T" if b is None else f"{report.describe(b.array)}, {b.name}"))
    lines.append(("product", f"{report.describe(first)}, {kind}"))
    if arguments.rounding is None:
        lines.append(("width", report.widths(product.ends["lo"], product.ends["hi"])))
    lines.append(("digest", xl.digest(*product.ends.values())))
    lines.append(("plan", str(product.info)))
    lines.append(("time", report.seconds(product.duration)))
    if arguments.output is not None:
        stored = storable(first)
        note = "" if stored.dtype == first.dtype else f", as {stored.dtype}: NumPy's files have no {first.dtype}"
        lines.append(("saved", f"{arguments.output}: {', '.join(product.ends)}{note}"))
    return report.rows(lines)


def _check_csv(arguments: argparse.Namespace, a: NamedArray, b: NamedArray) -> None:
    is_complex = "c" in (a.array.dtype.kind, b.array.dtype.kind) or str(arguments.dtype).startswith("complex")
    for unfit, what in ((max(a.array.ndim, b.array.ndim) > 2, "a stack of matrices"), (is_complex, "a complex matrix")):
        if unfit:
            raise InputError(f"{arguments.output}: {what} does not fit a .csv file; save it as .npy or .npz")


def _bytes(text: str) -> int:
    try:
        return report.parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
