"""``exactla digest``: the digests of the arrays in files, in lines like those of sha256sum."""

import argparse
import sys

import exactla as xl
from exactla.cli.exits import ExitCode, InputError, message
from exactla.cli.loading import NamedArray, load_all
from exactla.cli.options import Commands, Parser


def add_parser(commands: Commands, common: Parser) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "digest",
        parents=[common],
        help="print the digest of each array in files",
        description="Print the SHA-256 of each array's shape, format and values: the same whatever the file format, "
        "the memory order or the machine. A file that cannot be read does not keep the others from being printed.",
        allow_abbrev=False,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help=".npy, .npz (each array), .npz:NAME, .mtx or .csv")
    parser.add_argument(
        "--joint", action="store_true", help="one digest of all the arrays in order, as exactla.digest(*arrays) gives"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the digests."""
    if arguments.joint:
        loaded = [item for file in arguments.files for item in load_all(file)]
        print(f"{_digest(*loaded)}  {' '.join(item.name for item in loaded)}")
        return ExitCode.OK
    code = ExitCode.OK
    for file in arguments.files:
        try:
            for item in load_all(file):
                print(f"{_digest(item)}  {item.name}")
        except InputError as error:
            print(f"exactla: error: {message(error)}", file=sys.stderr)
            code = ExitCode.BAD_INPUT
    return code


def _digest(*items: NamedArray) -> str:
    try:
        return xl.digest(*(item.array for item in items))
    except TypeError as error:
        raise InputError(f"{', '.join(item.name for item in items)}: {error}") from error
