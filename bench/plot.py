"""Plots the speed of a products record over the sizes, by matplotlib."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.peers import PEERS
from bench.record import Row


def missing() -> str | None:
    """Why nothing can be plotted here; None where it can."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        return f"{error}; python -m pip install matplotlib"
    return None


def save(record: Mapping[str, Any], path: Path) -> None:
    """One panel for each dtype and kind of data: million multiply-adds a second over n; exactla's own lines thick."""
    from matplotlib.figure import Figure

    rows = [row for row in record["results"] if "seconds_median" in row]
    styles = _styles(list(dict.fromkeys(row["contestant"] for row in rows)))
    panels = list(dict.fromkeys((row["dtype"], row["data"]) for row in rows))
    columns = min(2, len(panels))
    figure = Figure(figsize=(2.0 + 4.5 * columns, 4.2 * -(-len(panels) // columns)), layout="constrained")
    grid = figure.subplots(-(-len(panels) // columns), columns, squeeze=False, sharey=True)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (dtype, kind) in zip(grid.flat, panels, strict=False):
        _panel(axes, [row for row in rows if (row["dtype"], row["data"]) == (dtype, kind)], styles)
        axes.set_title(f"{dtype}, {kind} data")
    handles = {line.get_label(): line for axes in grid.flat for line in axes.get_lines()}
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False)
    environment = record["environment"]
    figure.suptitle(f"{environment['cpu']}, {environment['threads']} threads, exactla {environment['exactla']}", size=9)
    figure.savefig(path)


def _styles(names: list[str]) -> dict[str, dict[str, Any]]:
    """exactla in thick black, peers in colours, in the order of the record."""
    own = [name for name in names if name not in PEERS]
    others = [name for name in names if name in PEERS]
    black = {name: {"color": "black", "linewidth": 2.5, "marker": "os^"[i % 3]} for i, name in enumerate(own)}
    colours = {name: {"color": f"C{i % 10}", "marker": "os^"[i // 10 % 3]} for i, name in enumerate(others)}
    return {**black, **colours}


def _panel(axes: Any, rows: list[Row], styles: dict[str, dict[str, Any]]) -> None:
    for name, style in styles.items():
        line = sorted((row["n"], row["macs_per_second"] / 1e6) for row in rows if row["contestant"] == name)
        if line:
            axes.plot(*zip(*line, strict=True), label=name, markersize=4, **style)
    sizes = sorted({row["n"] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_yscale("log")
    axes.set_xlabel("n")
    axes.set_ylabel("million multiply-adds a second")
    axes.grid(visible=True, which="major", alpha=0.3)
