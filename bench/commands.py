"""The commands of `python -m bench`: choose who takes part, run, print as results come, write the record."""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence

from bench import (
    calls,
    data,
    environment,
    gpu,
    lu_solvers,
    lu_steps,
    measuring,
    memory,
    mp_products,
    multiprecision,
    plot,
    products,
    profiling,
    record,
    report,
    roofline,
    solvers,
    solving,
    subjects,
    systems,
)
from bench.contestant import Contestant
from bench.peers import PEERS
from bench.record import Row
from bench.timing import Sampling

_DTYPES = ("float16", "float32", "float64")
_CALL_SUBJECTS = ("bmm_enclose", "mm_enclose", "mm")


_ALL_PEERS = {**PEERS, **solvers.PEERS, **lu_solvers.PEERS, **mp_products.PEERS}


def run_products(options: Namespace) -> int:
    """Square products over sizes, dtypes and data."""
    _require_plot(options)
    entered = _enter(_names(options.subjects, subjects.PRODUCTS, "subject"), options)
    covered = products.Options(
        backend=options.backend,
        sizes=_sizes(options.sizes),
        dtypes=_names(options.dtypes, _DTYPES, "dtype"),
        data=_names(options.data, data.DATA, "kind of data"),
        threads=options.threads,
        sampling=Sampling(options.repeat, options.pause),
        limit=options.limit,
        quality_up_to=options.quality,
    )
    rows: list[Row] = []
    with environment.thread_limit(options.threads):
        facts = _introduce(options, entered)
        for problem in products.run(_present(entered), covered):
            _print("", *report.times(problem))
            rows += problem
    _print(*report.summary(rows))
    content = _finish(options, facts, entered, rows)
    if options.plot is not None:
        plot.save(content, options.plot)
    return _verdict(rows)


def run_solve(options: Namespace) -> int:
    """Exact solutions over sizes, kinds of systems and numbers of right-hand sides."""
    reason = subjects.unavailable(options.backend)
    if reason is not None:
        raise ValueError(reason)
    peers = {"all": ",".join(solvers.PEERS), "none": ""}.get(options.peers, options.peers)
    chosen = _names(peers, solvers.PEERS, "peer") if peers else []
    entered = [solvers.Exactla(options.backend), *(solvers.PEERS[name] for name in chosen)]
    covered = solving.Options(
        sizes=_sizes(options.sizes),
        data=_names(options.data, systems.MATRICES, "kind of system"),
        columns=[None if part.strip() == "n" else _sizes(part)[0] for part in options.columns.split(",")],
        threads=options.threads,
        sampling=Sampling(options.repeat, options.pause, options.once_above),
        limit=options.limit,
    )
    rows: list[Row] = []
    with environment.thread_limit(options.threads):
        facts = _introduce(options, entered)
        for problem in solving.run(_present(entered), covered):
            _print("", *report.solutions(problem))
            rows += problem
    _finish(options, facts, entered, rows)
    return _verdict(rows)


def run_lu(options: Namespace) -> int:
    """Multiple-precision systems over kinds, precisions and sizes."""
    kinds = _names(options.data, multiprecision.MATRICES, "kind of matrix")
    if options.steps and options.backend != lu_steps.BACKEND:
        raise ValueError(f"--steps are of the {lu_steps.BACKEND} backend, got --backend {options.backend}")
    own = [lu_solvers.ExactlaLU(options.backend, refine, with_steps=options.steps) for refine in (0, 1)]
    return _run_multiple(options, own, lu_solvers.PEERS, kinds, multiprecision.run_systems)


def run_mp(options: Namespace) -> int:
    """Multiple-precision products over kinds, precisions and sizes."""
    kinds = _names(options.data, ("components", *multiprecision.MATRICES), "kind of matrix")
    own = [mp_products.ExactlaMm(options.backend)]
    return _run_multiple(options, own, mp_products.PEERS, kinds, multiprecision.run_products)


def _run_multiple(
    options: Namespace,
    own: Sequence[Contestant],
    known: Mapping[str, Contestant],
    kinds: Sequence[str],
    run: Callable[[Sequence[Contestant], multiprecision.Options], Iterable[list[Row]]],
) -> int:
    reason = subjects.unavailable(options.backend)
    if reason is not None:
        raise ValueError(reason)
    peers = {"all": ",".join(known), "none": ""}.get(options.peers, options.peers)
    entered = [*own, *(known[name] for name in (_names(peers, known, "peer") if peers else []))]
    covered = multiprecision.Options(
        sizes=_sizes(options.sizes),
        precisions=_sizes(options.precisions),
        data=kinds,
        threads=options.threads,
        sampling=Sampling(options.repeat, options.pause),
        limit=options.limit,
    )
    rows: list[Row] = []
    with environment.thread_limit(options.threads):
        facts = _introduce(options, entered)
        for problem in run(_present(entered), covered):
            _print("", *report.multiple(problem))
            rows += problem
    _finish(options, facts, entered, rows)
    return _verdict(rows)


def run_calls(options: Namespace) -> int:
    """Small products: the cost of a call."""
    entered = _enter(_CALL_SUBJECTS, options)
    dtypes = _names(options.dtypes, _DTYPES, "dtype")
    rows: list[Row] = []
    with environment.thread_limit(options.threads):
        facts = _introduce(options, entered)
        sampling = Sampling(options.repeat, options.pause)
        for case in calls.run(_present(entered), dtypes, options.threads, sampling):
            _print("", *report.times(case))
            rows += case
    _finish(options, facts, entered, rows)
    return _verdict(rows)


def run_memory(options: Namespace) -> int:
    """Peak memory of a product."""
    entered = _enter(("mm_enclose",), options)
    with environment.thread_limit(options.threads):
        facts = _introduce(options, entered)
    rows: list[Row] = []
    for dtype, kind, n in _problems(options):
        wanted = memory.Product(options.backend, dtype, kind, n, options.threads, options.workspace_limit)
        found = memory.run(_present(entered), wanted)
        _print("", *report.memory(found))
        rows += found
    _finish(options, facts, entered, rows)
    return _verdict(rows)


def run_memory_child(options: Namespace) -> int:
    """One contestant of `run_memory`, in this process; prints its row as JSON."""
    product = memory.Product(**json.loads(options.product))
    known = {**PEERS, "mm_enclose": subjects.subject("mm_enclose", product.backend)}
    print(json.dumps(memory.child(known[options.contestant], product)))
    return 0


def run_profile(options: Namespace) -> int:
    """Time by verb of the Backend protocol."""
    options.peers = "none"
    (own,) = _enter(("mm_enclose",), options)
    rows: list[Row] = []
    with environment.thread_limit(options.threads):
        facts = _introduce(options, [own])
        for dtype, kind, n in _problems(options):
            job = own.prepare(data.product(kind, dtype, n, n, n), options.threads)
            verbs = profiling.by_verb(job, options.backend, options.repeat)
            with environment.thread_limit(1):
                functions = profiling.by_function(job, options.functions) if options.functions else []
            problem = {"contestant": own.name, "n": n, "dtype": dtype, "data": kind, "reason": None}
            rows.append({**problem, "details": dict(job.details()), "verbs": verbs, "functions": functions})
            _print("", *report.profile(rows[-1]))
    _finish(options, facts, [own], rows)
    return 0


def run_gpu(options: Namespace) -> int:
    """Products on a CUDA device beside cuBLAS."""
    reason = subjects.unavailable(gpu.BACKEND)
    if reason is not None:
        raise ValueError(reason)
    wide = _sizes(options.wide) if options.wide else []
    covered = gpu.cases(_sizes(options.sizes), _names(options.dtypes, _DTYPES, "dtype"), wide)
    facts = environment.describe(1) | gpu.describe()
    _print(*environment.lines(facts))
    rows: list[Row] = []
    for case in covered:
        found = gpu.run(case, options.repeat)
        _print("", *report.times(found), *report.parts(found[0]))
        rows += found
    _finish(options, facts, [], rows)
    return 0


def run_roofline(options: Namespace) -> int:
    """The steps of a product beside what bounds them."""
    reason = roofline.missing()
    if reason is not None:
        raise ValueError(reason)
    rows: list[Row] = []
    with environment.thread_limit(options.threads):
        facts = _introduce(options, [])
        for dtype in _names(options.dtypes, _DTYPES, "dtype"):
            for n in _sizes(options.sizes):
                rows += roofline.run(n, dtype, options.threads, Sampling(options.repeat, options.pause))
    table = list(report.roofline(rows))
    _print(*table)
    _finish(options, {**facts, "torch": roofline.torch_version()}, [], rows)
    if options.page is not None:
        report.replace(options.page, table)
    return 0


def run_show(options: Namespace) -> int:
    """Print, and plot, a products record."""
    _require_plot(options)
    content = record.read(options.record)
    if content["command"] != "products":
        raise ValueError(f"{options.record} holds {content['command']}; only products can be shown")
    _print(*environment.lines(content["environment"]), *report.summary(content["results"]))
    if options.plot is not None:
        plot.save(content, options.plot)
    return 0


def _print(*lines: str) -> None:
    for line in lines:
        print(line, flush=True)


def _names(text: str, known: Iterable[str], what: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} named {name!r}; known are {', '.join(known)}")
    if not names:
        raise ValueError(f"name at least one {what}: {', '.join(known)}")
    return names


def _sizes(text: str) -> list[int]:
    sizes = [int(part) for part in text.split(",") if part.strip().isdigit() and int(part) > 0]
    if not sizes or len(sizes) != len(text.split(",")):
        raise ValueError(f"sizes are positive integers separated by commas, got {text!r}")
    return sizes


def _problems(options: Namespace) -> list[tuple[str, str, int]]:
    dtypes = _names(options.dtypes, _DTYPES, "dtype")
    kinds = _names(options.data, data.DATA, "kind of data")
    return [(dtype, kind, n) for dtype in dtypes for kind in kinds for n in _sizes(options.sizes)]


def _enter(own: Iterable[str], options: Namespace) -> list[Contestant]:
    """exactla's calls and the peers asked for; exactla's backend must be there."""
    reason = subjects.unavailable(options.backend)
    if reason is not None:
        raise ValueError(reason)
    peers = {"all": ",".join(PEERS), "none": ""}.get(options.peers, options.peers)
    chosen = _names(peers, PEERS, "peer") if peers else []
    return [*(subjects.subject(name, options.backend) for name in own), *(PEERS[name] for name in chosen)]


def _present(entered: Sequence[Contestant]) -> list[Contestant]:
    return [contestant for contestant in entered if contestant.missing() is None]


def _introduce(options: Namespace, entered: Sequence[Contestant]) -> dict[str, object]:
    facts = environment.describe(options.threads)
    _print(*environment.lines(facts), "")
    for line in record.contestants(entered):
        state = line["version"] if line["missing"] is None else f"MISSING: {line['missing']}"
        _print(f"{line['name']:<17} {line['summary']}; {state}")
    return facts


def _finish(
    options: Namespace, facts: Mapping[str, object], entered: Sequence[Contestant], rows: Sequence[Row]
) -> dict[str, object]:
    arguments = {
        name: value if isinstance(value, int | float | str) else None
        for name, value in vars(options).items()
        if name not in ("run", "command", "output", "plot", "page")
    }
    content: dict[str, object] = {
        "arguments": arguments,
        "environment": facts,
        "contestants": record.contestants(entered),
        "results": list(rows),
    }
    if options.output is not None:
        record.write(options.output, options.command, content)
        _print("", f"written to {os.fspath(options.output)}")
    return content


def _require_plot(options: Namespace) -> None:
    reason = plot.missing() if options.plot is not None else None
    if reason is not None:
        raise ValueError(f"--plot: {reason}")


def _verdict(rows: Sequence[Row]) -> int:
    """1 where exactla failed or where a claim of tightness or rounding of exactla's own was false."""
    own = [row for row in rows if row["contestant"] not in _ALL_PEERS]
    wrong = [row for row in own if _failed(row) or row.get("quality", {}).get("missed")]
    for row in wrong:
        print(f"bench: {row['contestant']} at n = {row['n']}: {row['reason'] or 'a result is wrong'}", file=sys.stderr)
    return 1 if wrong else 0


def _failed(row: Row) -> bool:
    return str(row["reason"] or "").startswith(measuring.FAILED)
