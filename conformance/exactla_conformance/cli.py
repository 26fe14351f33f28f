"""`exactla conformance`: run the suite, compare recorded runs, freeze digests, list the cases, export them."""

# ruff: noqa: T201

import argparse
import sys
from collections.abc import Sequence

from exactla_conformance.cases import select_cases
from exactla_conformance.digests import write_json
from exactla_conformance.export import export
from exactla_conformance.report import ConformanceError
from exactla_conformance.runner import compare, run, update


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to a parser."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    runs = commands.add_parser("run", help="run the cases and compare with the frozen digests")
    runs.add_argument("--backend", help="the backend to force")
    runs.add_argument("--engine", help="the engine to force")
    runs.add_argument("--select", metavar="PATTERN", help="only the cases whose name matches or contains this")
    runs.add_argument("--output", metavar="FILE", help="write the report to this JSON file")
    runs.add_argument("--oracle", action="store_true", help="compute every answer with the exact oracle as well")
    compares = commands.add_parser("compare", help="compare two digest files or reports")
    compares.add_argument("first", metavar="A")
    compares.add_argument("second", metavar="B")
    updates = commands.add_parser("update", help="freeze the digests, if the oracle agrees on every case")
    updates.add_argument("path", nargs="?", metavar="FILE", help="the file to write instead of the reference")
    lists = commands.add_parser("list", help="list the cases and their calls")
    lists.add_argument("--select", metavar="PATTERN", help="only the cases whose name matches or contains this")
    exports = commands.add_parser("export", help="write the cases to one file for conformance/checker")
    exports.add_argument("path", metavar="FILE", help="the file to write")
    exports.add_argument("--select", metavar="PATTERN", help="only the cases whose name matches or contains this")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command; 0 if all agrees, 1 if something differs, 2 if it could not be carried out."""
    parser = argparse.ArgumentParser(prog="exactla conformance", description=__doc__)
    add_arguments(parser)
    arguments = parser.parse_args(argv)
    try:
        return _COMMANDS[arguments.command](arguments)
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        reason: object = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
    except (ValueError, ImportError) as error:
        reason = error
    print(f"exactla conformance: {reason}", file=sys.stderr)
    return 2


def _run(arguments: argparse.Namespace) -> int:
    report = run(arguments.backend, arguments.engine, arguments.select, _progress(), oracle=arguments.oracle)
    if arguments.output:
        write_json(report.to_json(), arguments.output)
    print(report)
    return 0 if report.passed else 1


def _compare(arguments: argparse.Namespace) -> int:
    comparison = compare(arguments.first, arguments.second)
    print(comparison)
    return 0 if comparison.same else 1


def _update(arguments: argparse.Namespace) -> int:
    print(update(arguments.path, _progress()))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    for name, case in select_cases(arguments.select).items():
        print(f"{name:44} {case.call}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    count = export(arguments.path, arguments.select, _progress())
    print(f"{arguments.path}: {count} cases")
    return 0


_COMMANDS = {"run": _run, "compare": _compare, "update": _update, "list": _list, "export": _export}


class _Counter:
    """A line on the terminal that counts the cases."""

    def __call__(self, done: int, total: int) -> None:
        print(f"\r{done} of {total} cases", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _progress() -> _Counter | None:
    return _Counter() if sys.stderr.isatty() else None
