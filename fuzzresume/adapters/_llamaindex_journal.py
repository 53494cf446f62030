"""The caller's store of a LlamaIndex run where it keeps the journal: a line of JSON for some ticks and the state they left.

`BasicRuntime.journal` yields the ticks but does not carry the state, which the caller adds. A line is an entry once its
newline is there; a torn one is cut off before the next is appended. The framework is not imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzzresume.adapters import _llamaindex_store as store
from fuzzresume.contract.observation import Frontier
from fuzzresume.harness.adapter import WRONG_TYPE
from fuzzresume.harness.env import Env, Store, Unsupported

TAMPER_KINDS = ("empty", "dropped-field", "wrong-type", "extra-field")
"""The damage that can be done. A file that is cut off, or whose tail is zeros, is an older journal."""

Entry = dict[str, Any]
"""`ticks`, each the `seq` and `data` of a `JournalRecord`, and `state`, the state's payload."""


def path_of(store: Store) -> Path:
    """The file of the journal."""
    return store.folder / "journal.jsonl"


def append(env: Env, entry: Entry) -> None:
    """Add an entry behind the last whole one."""
    env.hook("append.before")
    line = json.dumps(entry).encode() + b"\n"
    path = path_of(env)
    path.touch()
    with path.open("r+b") as file:
        file.seek(len(_whole(file.read())))
        file.truncate()
        file.write(line[: len(line) // 2])
        file.flush()
        env.hook("append.half")
        file.write(line[len(line) // 2 :])
    env.hook("append.after")


def load(env: Env) -> list[Entry]:
    """The whole entries. Raises ValueError for a line that is no JSON."""
    env.hook("load.before")
    entries = _entries(env)
    env.hook("load.after")
    return entries


def frontier(store_: Store) -> Frontier:
    """The tasks whose marks the newest entry holds, in the present epoch; none until a step of the epoch has finished.

    Unreadable is unknown: any error while reading gives `done=None` and says why.
    """
    try:
        entries = _entries(store_)
        ticks = [_value(json.loads(tick["data"])) for entry in entries for tick in entry["ticks"]]
        begun = [i for i, tick in enumerate(ticks) if tick["type"] == "add_event" and store.begins(tick["event"])]
        finished = any(tick["type"] == "step_result" for tick in ticks[begun[-1] :]) if begun else False
        return Frontier(store.completed(entries[-1]["state"]) if finished else ())
    except Exception as error:
        return Frontier(None, f"{type(error).__name__}: {error}")


def tamper(store_: Store, kind: str) -> None:
    """Damage the journal.

    `dropped-field` removes the event of the newest tick that has one; `wrong-type` makes the declared string `note` of the
    newest state a number; `extra-field` adds to the newest tick a field that nobody declared. Raises Unsupported for any
    other kind, and when there is no entry.
    """
    if kind not in TAMPER_KINDS:
        raise Unsupported(f"the adapter cannot damage this store by {kind!r}")
    entries = _entries(store_)
    if not entries:
        raise Unsupported("nothing is journaled yet")
    match kind:
        case "empty":
            path_of(store_).write_bytes(b"")
            return
        case "wrong-type":
            entries[-1]["state"] = store.with_note(entries[-1]["state"], WRONG_TYPE)
        case "dropped-field":
            _change_newest(entries, lambda tick: tick.pop("event", None) is not None)
        case _:
            _change_newest(entries, lambda tick: tick.setdefault("undeclared", True))
    path_of(store_).write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def _change_newest(entries: list[Entry], change: Callable[[dict[str, Any]], bool]) -> None:
    """Change the newest tick that can be changed so."""
    for record in (tick for entry in reversed(entries) for tick in reversed(entry["ticks"])):
        data = json.loads(record["data"])
        if change(_value(data)):
            record["data"] = json.dumps(data)
            return


def _entries(store_: Store) -> list[Entry]:
    path = path_of(store_)
    lines = _whole(path.read_bytes()).splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def _whole(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _value(data: dict[str, Any]) -> dict[str, Any]:
    """A tick's fields, without the serializer's wrapper."""
    value: dict[str, Any] = data.get("value", data)
    return value
