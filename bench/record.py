"""The record of a run: rows of plain values, and the JSON file that holds them (schema in README.md)."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.contestant import Contestant
from bench.measuring import Outcome

SCHEMA = "exactla-bench/1"

Row = dict[str, Any]


def row(outcome: Outcome, problem: Mapping[str, object], multiplications: int) -> Row:
    """One contestant on one problem."""
    timing = outcome.timing
    entry: Row = {"contestant": outcome.contestant.name, **problem, "reason": outcome.reason or None}
    if timing is not None:
        entry |= {
            "seconds_median": timing.median,
            "seconds_minimum": timing.minimum,
            "samples": list(timing.seconds),
            "calls_per_sample": timing.calls,
            "macs_per_second": multiplications / timing.median,
            "ratio": None,
        }
    if outcome.details:
        entry["details"] = dict(outcome.details)
    if outcome.quality is not None:
        entry["quality"] = dict(outcome.quality)
    return entry


def compare(rows: Sequence[Row], reference: str) -> None:
    """Fill in `ratio`: median of this contestant over that of the reference; above 1 the reference is faster."""
    medians = {r["contestant"]: r["seconds_median"] for r in rows if "seconds_median" in r}
    for entry in rows:
        if "seconds_median" in entry and reference in medians:
            entry["ratio"] = entry["seconds_median"] / medians[reference]


def contestants(entered: Sequence[Contestant]) -> list[dict[str, object]]:
    """Who took part and who was missing, for the record."""
    listed: list[dict[str, object]] = []
    for contestant in entered:
        reason = contestant.missing()
        listed.append(
            {
                "name": contestant.name,
                "summary": contestant.summary,
                "guarantee": contestant.guarantee.value,
                "version": contestant.version() if reason is None else None,
                "missing": reason,
            }
        )
    return listed


def write(path: Path, command: str, content: Mapping[str, object]) -> None:
    """Write a record; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": SCHEMA, "command": command, **content}, indent=1) + "\n"
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def read(path: Path) -> dict[str, Any]:
    """Read a record.

    Raises
    ------
    ValueError
        The file is not a record of this schema.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"{path} is not a record of schema {SCHEMA}")
    return content
