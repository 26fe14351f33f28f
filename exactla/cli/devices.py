"""``exactla devices``: the installed backends, each engine put to a test, and why one is missing."""

import argparse
import platform
import time
from collections.abc import Iterator

import numpy as np

import exactla as xl
from exactla import settings
from exactla.cli import report
from exactla.cli.exits import ExitCode
from exactla.cli.options import Commands, Parser
from exactla.cli.selftest import product_fault
from exactla.registry import BackendStatus

HEADER = ("backend", "devices", "engine", "self-test", "time")
PASSED, FAILED, MISSING = "passed", "FAILED", "missing"


def add_parser(commands: Commands, common: Parser) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "devices",
        parents=[common],
        help="list the backends with a self-test of each",
        description="List the backends and their engines. Each engine multiplies a small matrix product with a wide "
        "range of exponents, which is compared with exact fractions. A failed test gives exit code 1.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(_arguments: argparse.Namespace) -> ExitCode:
    """Test and print."""
    print(f"{report.VERSION}, NumPy {np.__version__}, Python {platform.python_version()}, {platform.machine()}\n")
    lines, remarks = [], []
    failed = False
    for status in xl.backends():
        for line, remark in _test(status):
            lines.append(line)
            failed |= FAILED in line
            if remark:
                remarks.append((f"{status.name}:", remark))
    print(report.table(HEADER, lines))
    if remarks:
        print(f"\n{report.rows(remarks)}")
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK


def _test(status: BackendStatus) -> Iterator[tuple[tuple[str, ...], str]]:
    """One line of the table for each engine, with what is to be said about it."""
    where = (status.name, ", ".join(status.devices))
    if not status.available:
        yield (*where, "-", MISSING, "-"), status.reason
    for engine in status.engines:
        with settings.backend(status.name), settings.engine(engine):
            start = time.perf_counter()
            fault = product_fault()
            duration = report.seconds(time.perf_counter() - start)
        remark = "" if fault is None else f"{engine}: {fault}"
        yield (*where, engine, FAILED if fault else PASSED, duration), remark
