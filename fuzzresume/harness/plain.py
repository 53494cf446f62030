"""Data classes as plain data and back, by their own type hints; what a pipe into another environment carries.

A field that holds its default is left out, so one end may know fields that the other does not. Standard library only.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """A data class, or anything made of them, as dicts, lists, strings and numbers."""
    if is_dataclass(value):
        found = ((field, getattr(value, field.name)) for field in fields(value))
        return {field.name: to_plain(item) for field, item in found if item != _default(field)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """The inverse of `to_plain` for a value of type `kind`. Raises TypeError or KeyError for anything else."""
    return cast(T, _read(kind, data))


def _read(kind: Any, data: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if data is None else _read(next(one for one in inner if one is not type(None)), data)
    if origin is tuple:
        kinds = [inner[0]] * len(data) if inner[1:] == (...,) else inner
        return tuple(_read(one, item) for one, item in zip(kinds, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _read(inner[1], item) for key, item in data.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _hints(kind)
        return cast(Any, kind)(**{name: _read(hints[name], item) for name, item in data.items()})
    if origin is Literal:
        return data
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        return cast(Any, kind)(*(_read(hint, item) for hint, item in zip(_hints(kind).values(), data, strict=True)))
    if not isinstance(data, (int, float) if kind is float else kind):
        raise TypeError(f"{data!r} is no {kind}")
    return data


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default
