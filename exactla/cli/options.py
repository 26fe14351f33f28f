"""What the parsers of all subcommands share: how they fail, and the options that each of them takes."""

import argparse
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
