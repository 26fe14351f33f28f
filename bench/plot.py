"""Plots the speed of a products record over the sizes, by matplotlib."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    panels = list(dict.fromkeys((row["dtype"], row["data"]) for row in rows))
    figure = Figure(figsize=(1.5 + 5.0 * len(panels), 5.5), layout="constrained")
    all_axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, (dtype, kind) in zip(all_axes, panels, strict=True):
        _panel(axes, [row for row in rows if (row["dtype"], row["data"]) == (dtype, kind)], names)
        axes.set_title(f"{dtype}, {kind} data")
    all_axes[0].set_ylabel("million multiply-adds a second")
    handles = {line.get_label(): line for axes in all_axes for line in axes.get_lines()}
    figure.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False)
    environment = record["environment"]
    figure.suptitle(f"{environment['cpu']}, {environment['threads']} threads, exactla {environment['exactla']}", size=9)
    figure.savefig(path)


def _panel(axes: Any, rows: list[Row], names: list[str]) -> None:
    for number, name in enumerate(names):
        line = sorted((row["n"], row["macs_per_second"] / 1e6) for row in rows if row["contestant"] == name)
        if line:
            own = name.startswith(("mm", "bmm"))
            axes.plot(*zip(*line, strict=True), marker="os^Dv*"[number // 10], color=f"C{number % 10}", label=name,
                      linewidth=3.0 if own else 1.2, markersize=6 if own else 4)  # fmt: skip
    sizes = sorted({row["n"] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.set_yscale("log")
    axes.set_xlabel("n")
    axes.grid(visible=True, which="major", alpha=0.3)
