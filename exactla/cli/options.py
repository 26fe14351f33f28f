"""What the parsers of subcommands share: how they fail, and the options that all of them, or several, take."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, TypeAlias

from exactla.cli.exits import InputError


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing its usage and leaving the process."""

    def error(self, message: str) -> NoReturn:
        """Raise `InputError` with the message of argparse."""
        raise InputError(f"{message} (see {self.prog} --help)")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
"""Where a subcommand adds its parser."""


def common_options() -> Parser:
    """Options that may stand before or after the name of the subcommand."""
    # Absent ones must not be set: a subcommand's default would undo what stood before its name.
    common = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("-q", "--quiet", action="store_true", help="show no progress bars")
    common.add_argument("--traceback", action="store_true", help="show where an error came from")
    return common


def add_first(parser: Parser, matrix: str) -> None:
    """The file of the first operand, which is called `matrix` in the help."""
    parser.add_argument("a", metavar="A", help=f"file of {matrix}: .npy, .npz, .npz:NAME, .mtx or .csv")


def add_output(parser: Parser, what: str) -> None:
    """The file for results; `what` says which of them it gets in which formats."""
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help=what)


def add_dtype(parser: Parser, names: Iterable[str], what: str, default: str | None = None) -> None:
    """A floating-point type, one of these names."""
    parser.add_argument("--dtype", choices=tuple(names), metavar="DTYPE", default=default, help=what)


def add_backend(parser: Parser) -> None:
    """The backend to force."""
    parser.add_argument("--backend", metavar="NAME", help="one of those that 'exactla devices' lists")
