"""Wraps what a backend returns in handles, unwraps what it is given, and counts the calls of each method."""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from exactla.backend import Backend, IntervalPieces, Operand, Scanned, SpecialPieces, Tile

# what these return is for the host, not a buffer
_FOR_THE_HOST = {
    "cramer",
    "engine_is_exact",
    "first_invalid_interval",
    "first_nonfinite",
    "free_bytes",
    "integers",
    "lifting",
    "lifting_bytes",
    "minor_limits",
    "minors",
    "prime_count",
    "restore",
    "solving_bytes",
    "scope",
    "tile_bytes",
    "total",
}


class Handle:
    """A buffer that only its backend can look into."""

    __slots__ = ("_content",)

    def __init__(self, content: Any) -> None:
        self._content = content


class Loopback:
    """A backend around another one; `calls` counts what the algorithms asked for."""

    name = "loopback"

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.engines = inner.engines
        self.leading_bits = inner.leading_bits
        self.settling = self if inner.settling else None
        self.settled_bits = inner.settling.settled_bits if inner.settling else 0
        self.halving = inner.halving
        self.least_lifting = inner.least_lifting
        self.most_searched = inner.most_searched
        self.prime_limits = inner.prime_limits
        self.multiprecision = inner.multiprecision
        self.calls: Counter[str] = Counter()

    def direct(self, *args: Any, **kwargs: Any) -> None:
        """No shortcut, which would leave the verbs out."""
        self.calls["direct"] += 1

    def __getattr__(self, method: str) -> Callable[..., Any]:
        inner = getattr(self.inner.settling if method == "round_settled" else self.inner, method)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls[method] += 1
            result = inner(*_unwrap(args), **_unwrap(kwargs))
            if method == "round_certified":
                return _wrap(result[0]), result[1]
            return result if method in _FOR_THE_HOST else _wrap(result)

        setattr(self, method, call)  # one function for each method, as a class would have
        return call


def _wrap(value: Any) -> Any:
    if value is None or isinstance(value, Handle):
        return value
    if isinstance(value, Operand):
        return value._replace(buffer=_wrap(value.buffer), exponents=_wrap(value.exponents), tops=_wrap(value.tops))
    if isinstance(value, Scanned):
        return value._replace(operands=_wrap(value.operands))
    if isinstance(value, (tuple, list)):
        return type(value)(_wrap(item) for item in value)
    if isinstance(value, (IntervalPieces, SpecialPieces)):
        return _map_fields(value, _wrap)
    return Handle(value)


def _unwrap(value: Any) -> Any:
    if isinstance(value, Handle):
        return value._content
    if isinstance(value, dict):
        return {name: _unwrap(item) for name, item in value.items()}
    if isinstance(value, (Operand, Tile)):
        return type(value)(*map(_unwrap, value))
    if isinstance(value, (tuple, list)):
        return type(value)(_unwrap(item) for item in value)
    if isinstance(value, (IntervalPieces, SpecialPieces)):
        return _map_fields(value, _unwrap)
    return value


def _map_fields(value: Any, function: Callable[[Any], Any]) -> Any:
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{type(value).__name__} is no record")
    return replace(value, **{f.name: function(getattr(value, f.name)) for f in fields(value)})
