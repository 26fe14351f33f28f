"""The grammar of the command line: options that every subcommand takes, and the list of subcommands.

Knows the subcommand modules; what an option of theirs means is written in them.
"""

import argparse
from collections.abc import Sequence

from exactla.cli import conformance, demo, devices, digest, enclose, lu, solve
from exactla.cli.exits import EXIT_CODES
from exactla.cli.options import Parser, common_options
from exactla.cli.report import VERSION

COMMANDS = (demo, devices, enclose, solve, lu, digest, conformance)

FILE_FORMATS = """\
files:
  X.npy, X.npz, X.npz:NAME   NumPy arrays, read without pickle; NAME picks one of several arrays
  X.mtx                      Matrix Market, dense or sparse (needs SciPy: pip install "exactla[cli]")
  X.csv                      numbers between commas, no header. Integers keep their value whatever their size; a
                             file with any decimal point or exponent is float64
  Decimals become the nearest value of float64, and results hold for the values as read.
"""


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="exactla",
        description="Linear algebra with answers defined by mathematics: tightest enclosures or correctly rounded "
        "products, and exact solutions, of matrices in files.",
        epilog=f"{FILE_FORMATS}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common_options()],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.set_defaults(quiet=False, traceback=False)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add_parser(commands, common_options())
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; what follows ``conformance`` is left for the suite, as ``rest``."""
    name = next((i for i, argument in enumerate(arguments) if not argument.startswith("-")), None)
    if name is None or arguments[name] != conformance.NAME:
        return build_parser().parse_args(arguments)
    return build_parser().parse_args(arguments[: name + 1], argparse.Namespace(rest=list(arguments[name + 1 :])))
