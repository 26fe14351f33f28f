"""``exactla conformance``: hands its arguments to the conformance suite, which has its own options and help."""

import argparse

from exactla.cli.options import Commands, Parser

NAME = "conformance"


def add_parser(commands: Commands, common: Parser) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        NAME, parents=[common], add_help=False, help="run the frozen cases, or compare the digests of two runs"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the suite with everything that stood after ``conformance``."""
    from exactla_conformance.cli import main

    return main(arguments.rest)
