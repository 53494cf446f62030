"""TLA+ values in Python: written into modules, read back from what TLC prints.

Sequences are tuples, sets frozensets, records `Record`s; numbers, strings and booleans are themselves. TLA+ writes the
empty function as the empty sequence; nothing here is a function, so nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Value = Any


class Record(tuple[tuple[str, Any], ...]):
    """A record: its (field, value) pairs in field order, so that equal records are equal and hash alike."""

    __slots__ = ()

    def __new__(cls, pairs: Iterable[tuple[str, Value]] = (), /, **fields: Value) -> Record:
        """A record of these fields, in any order."""
        return super().__new__(cls, sorted([*pairs, *fields.items()]))

    def __getattr__(self, name: str) -> Value:
        for field, value in self:
            if field == name:
                return value
        raise AttributeError(name)


def write(value: Value) -> str:
    """The TLA+ expression of a value. Raises ValueError for anything that has none."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case Record():
            return "[" + ", ".join(f"{field} |-> {write(item)}" for field, item in value) + "]"
        case tuple():
            return "<<" + ", ".join(map(write, value)) + ">>"
        case frozenset():
            return "{" + ", ".join(sorted(map(write, value))) + "}"
    raise ValueError(f"no TLA+ value: {value!r}")


def wrap(items: Iterable[str], opening: str, closing: str, per_line: int = 12) -> str:
    """A long sequence or set, a few items a line: TLC's parser takes time that grows with the square of a line's length."""
    texts = list(items)
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return opening + ",\n  ".join(lines) + closing


_TOKEN = re.compile(r'<<|>>|\|->|\.\.|[\[\]{},]|"(?:[^"\\]|\\.)*"|-?\d+|\w+')


def read(text: str) -> Value:
    """The value that TLC printed. Raises ValueError when the text is not one whole value."""
    tokens = _TOKEN.findall(text)
    try:
        value, rest = _value(tokens, 0)
    except IndexError:
        raise ValueError(f"a TLA+ value ends early: {text[:80]!r}") from None
    if rest != len(tokens):
        raise ValueError(f"more than one TLA+ value: {text[:80]!r}")
    return value


def _value(tokens: list[str], at: int) -> tuple[Value, int]:
    token = tokens[at]
    if token == "<<":
        items, at = _items(tokens, at + 1, ">>")
        return tuple(items), at
    if token == "{":
        items, at = _items(tokens, at + 1, "}")
        return frozenset(items), at
    if token == "[":
        return _record(tokens, at + 1)
    if token[0] == '"':
        return token[1:-1].replace('\\"', '"').replace("\\\\", "\\"), at + 1
    if token in ("TRUE", "FALSE"):
        return token == "TRUE", at + 1
    if at + 1 < len(tokens) and tokens[at + 1] == "..":
        return frozenset(range(int(token), int(tokens[at + 2]) + 1)), at + 3
    return int(token), at + 1


def _items(tokens: list[str], at: int, closing: str) -> tuple[list[Value], int]:
    items: list[Value] = []
    while tokens[at] != closing:
        item, at = _value(tokens, at)
        items.append(item)
        if tokens[at] == ",":
            at += 1
    return items, at + 1


def _record(tokens: list[str], at: int) -> tuple[Record, int]:
    pairs: list[tuple[str, Value]] = []
    while tokens[at] != "]":
        field = tokens[at]
        item, at = _value(tokens, at + 2)
        pairs.append((field, item))
        if tokens[at] == ",":
            at += 1
    return Record(pairs), at + 1


def printed(lines: Iterable[str]) -> Iterator[Value]:
    """The sequences among a program's output lines, each with its continuation lines: what `PrintT(<<...>>)` printed."""
    open_, depth = "", 0
    for line in lines:
        if not open_ and not line.startswith("<<"):
            continue
        open_ += line + "\n"
        depth += sum(line.count(c) for c in "<[{") - sum(line.count(c) for c in ">]}") + line.count("|->")
        if depth == 0:
            yield read(open_)
            open_ = ""
