"""The command line of the benchmarks: what can be asked for, with the defaults."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import commands
from exactla import registry

SIZES = "64,128,256,512,1024,2048"
GPU_SIZES = "1024,2048,4096,8192,16384"
CALL_PEERS = "numpy,numpy-bound,precise-numpy,arb-64"
PAUSE = "seconds of rest before each sample (default: %(default)s)"
MEMORY_PEERS = "numpy,arb-64"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a benchmark.

    Returns
    -------
    int
        0 where exactla took part and was right everywhere, 1 where not, 2 where the request cannot be carried out.
    """
    options = _parser().parse_args(argv)
    run: Callable[[Namespace], int] = options.run
    try:
        return run(options)
    except (OSError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m bench", description=__doc__)
    known = parser.add_subparsers(dest="command", required=True, metavar="command")

    products = known.add_parser("products", help="square products over sizes, beside peers")
    _common(products, sizes=SIZES, dtypes="float64,float32", data="normal,wide", repeat=5)
    products.add_argument("--subjects", default="mm_enclose", help="calls of exactla (default: %(default)s)")
    products.add_argument("--peers", default="all", help="all, none, or names (default: %(default)s)")
    products.add_argument("--pause", type=float, default=0.2, help=PAUSE)
    products.add_argument("--limit", type=float, default=20.0, help="seconds of the longest call waited for")
    products.add_argument("--quality", type=int, default=64, help="largest n whose bounds are compared (0: none)")
    products.add_argument("--plot", type=Path, help="picture of the speeds, .png or .svg")
    products.set_defaults(run=commands.run_products)

    solve = known.add_parser("solve", help="exact solutions of linear systems, beside peers")
    _common(solve, sizes="64,128,256,512,1024", dtypes=None, data="random,planted", repeat=3)
    solve.add_argument(
        "--columns",
        default="1",
        help="right-hand sides, n for as many as unknowns; the first kind takes all (default: 1)",
    )
    solve.add_argument(
        "--once-above",
        type=float,
        default=2.0,
        help="seconds above which a call is not repeated (default: %(default)s)",
    )
    solve.add_argument("--peers", default="all", help="all, none, or names (default: %(default)s)")
    solve.add_argument("--pause", type=float, default=0.2, help=PAUSE)
    solve.add_argument("--limit", type=float, default=30.0, help="seconds of the longest call waited for")
    solve.set_defaults(run=commands.run_solve)

    lu = known.add_parser("lu", help="multiple-precision systems, beside peers")
    _multiple(lu, sizes="64,128,256", precisions="1568,3136", data="lotkin,random", limit=60.0)
    lu.add_argument(
        "--steps",
        action="store_true",
        help="with --backend cuda: time each step on the device too, in a call that waits for it after each",
    )
    lu.set_defaults(run=commands.run_lu)

    mp = known.add_parser("mp", help="multiple-precision products, beside peers")
    _multiple(mp, sizes="256,512,1024", precisions="106,159,212", data="components", limit=120.0)
    mp.set_defaults(run=commands.run_mp)

    calls = known.add_parser("calls", help="the cost of a call on tiny operands")
    _common(calls, sizes=None, dtypes="float64,float32", data=None, repeat=9)
    calls.add_argument("--peers", default=CALL_PEERS, help="all, none, or names (default: %(default)s)")
    calls.add_argument("--pause", type=float, default=0.2, help=PAUSE)
    calls.set_defaults(run=commands.run_calls)

    memory = known.add_parser("memory", help="peak memory of a product, in a process of its own")
    _common(memory, sizes="2048", dtypes="float64", data="normal", repeat=None)
    memory.add_argument("--peers", default=MEMORY_PEERS, help="all, none, or names (default: %(default)s)")
    memory.add_argument("--workspace-limit", type=int, help="bytes that exactla may use as workspace")
    memory.set_defaults(run=commands.run_memory)

    profile = known.add_parser("profile", help="time by verb of the backend")
    _common(profile, sizes="512", dtypes="float64", data="normal,wide", repeat=3)
    profile.add_argument("--functions", type=int, default=0, help="list so many functions too, by cProfile")
    profile.set_defaults(run=commands.run_profile)

    gpu = known.add_parser("gpu", help="products on a CUDA device beside cuBLAS")
    gpu.add_argument("--sizes", default=GPU_SIZES, help="sides n of n x n products (default: %(default)s)")
    gpu.add_argument("--dtypes", default="float64,float32", help="comma-separated (default: %(default)s)")
    gpu.add_argument("--wide", default="4096", help="sides of products of wide data, or nothing (default: %(default)s)")
    gpu.add_argument("--repeat", type=_positive, default=7, help="samples (default: %(default)s)")
    gpu.add_argument("--output", type=Path, help="write the record here, as JSON")
    gpu.set_defaults(run=commands.run_gpu)

    roofline = known.add_parser("roofline", help="the steps of a product on the cpu backend beside what bounds them")
    roofline.add_argument("--threads", type=_positive, default=2, help="threads (default: %(default)s)")
    roofline.add_argument("--dtypes", default="float64", help="comma-separated (default: %(default)s)")
    roofline.add_argument("--sizes", default="1024", help="sides n of n x n products (default: %(default)s)")
    roofline.add_argument("--repeat", type=_positive, default=15, help="samples (default: %(default)s)")
    roofline.add_argument("--pause", type=float, default=0.2, help=PAUSE)
    roofline.add_argument("--output", type=Path, help="write the record here, as JSON")
    roofline.add_argument("--page", type=Path, help="put the table into this page, in place of the one that is there")
    roofline.set_defaults(run=commands.run_roofline)

    show = known.add_parser("show", help="print or plot a record of products")
    show.add_argument("record", type=Path)
    show.add_argument("--plot", type=Path, help="picture of the speeds, .png or .svg")
    show.set_defaults(run=commands.run_show)

    child = known.add_parser("memory-child")
    child.add_argument("contestant")
    child.add_argument("product")
    child.set_defaults(run=commands.run_memory_child)
    return parser


def _multiple(parser: ArgumentParser, *, sizes: str, precisions: str, data: str, limit: float) -> None:
    """Options of the benchmarks of multiple precision."""
    _common(parser, sizes=sizes, dtypes=None, data=data, repeat=3)
    parser.add_argument("--precisions", default=precisions, help="bits, comma-separated (default: %(default)s)")
    parser.add_argument("--peers", default="all", help="all, none, or names (default: %(default)s)")
    parser.add_argument("--pause", type=float, default=0.2, help=PAUSE)
    parser.add_argument("--limit", type=float, default=limit, help="seconds of the longest call waited for")


def _common(
    parser: ArgumentParser, *, sizes: str | None, dtypes: str | None, data: str | None, repeat: int | None
) -> None:
    """Options that benchmarks share; one whose default is None does not apply."""
    preferred = registry.default("cpu").name
    parser.add_argument("--backend", default=preferred, help="backend of exactla (default: %(default)s)")
    parser.add_argument("--threads", type=_positive, default=2, help="threads for everyone (default: %(default)s)")
    if dtypes is not None:
        parser.add_argument("--dtypes", default=dtypes, help="comma-separated (default: %(default)s)")
    if sizes is not None:
        parser.add_argument("--sizes", default=sizes, help="sides n of n x n products (default: %(default)s)")
    if data is not None:
        parser.add_argument("--data", default=data, help="comma-separated (default: %(default)s)")
    if repeat is not None:
        parser.add_argument("--repeat", type=_positive, default=repeat, help="samples (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="write the record here, as JSON")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"has to be a whole number of at least 1, got {text!r}")
    return int(text)
