"""The `exactla` command: `main` parses the arguments, runs a subcommand and turns errors into messages and exit codes.

Each subcommand is a module here with `add_parser(commands, common)` and a `run(arguments)` that returns an `ExitCode`.
Modules that not every run needs (SciPy, tqdm, the conformance suite) are imported where they are used.
"""

import io
import os
import sys
import traceback
from collections.abc import Sequence

from exactla.cli.exits import ExitCode, exit_code, message
from exactla.cli.parser import parse

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `exactla` command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, without the name of the program. The default is those of the process.

    Returns
    -------
    int
        0 on success; 1 where a check failed; 2 for bad usage or bad input (a missing or malformed file, a wrong shape
        or dtype, a NaN, an unavailable backend); 3 where memory, workspace or disk space did not suffice; 70 for an
        error inside exactla; 130 after an interrupt; 141 where the reader of the output went away.

    Notes
    -----
    Errors of the user print one line, ``exactla: error: ...``, on the standard error stream, and no traceback.
    ``--traceback``, or a non-empty environment variable ``EXACTLA_DEBUG``, adds it.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name need not be text
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        return _report(error, show_traceback="--traceback" in arguments or bool(os.environ.get("EXACTLA_DEBUG")))


def _run(arguments: list[str]) -> int:
    try:
        parsed = parse(arguments)
        return int(parsed.run(parsed))
    except SystemExit as stop:  # how argparse ends after --help and --version, and the suite's parser after any fault
        return stop.code if isinstance(stop.code, int) else ExitCode.OK


def _report(error: BaseException, *, show_traceback: bool) -> ExitCode:
    code = exit_code(error)
    if code is ExitCode.OUTPUT_CLOSED:
        # Python flushes the stream once more on its way out: give it somewhere to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code
    if show_traceback or code is ExitCode.INTERNAL_ERROR:
        traceback.print_exception(error)
    if code is ExitCode.INTERNAL_ERROR:
        print("exactla: this is an error inside exactla, please report it with the lines above", file=sys.stderr)
    elif code is ExitCode.INTERRUPTED:
        print("exactla: interrupted", file=sys.stderr)
    else:
        print(f"exactla: error: {message(error)}", file=sys.stderr)
    return code
