"""The traces of real findings that ship with the package, in `shrinks/`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from fuzzresume.contract.trace import Trace, loads
from fuzzresume.harness.target import Target


def gallery() -> list[Trace]:
    """All of them, by folder and name."""
    root = resources.files("fuzzresume.shrinks")
    folders = sorted((folder for folder in root.iterdir() if folder.is_dir()), key=lambda folder: folder.name)
    files = (file for folder in folders for file in sorted(folder.iterdir(), key=lambda file: file.name))
    return [loads(file.read_bytes(), file.name) for file in files if file.name.endswith(".json")]


def that_could_be_drawn(traces: list[Trace], target: Target, pinned: Mapping[str, str]) -> list[Trace]:
    """Those of this target, whatever its version, under option values that a campaign with these pinned may draw."""
    values = {**target.adapter.options, **{key: (value,) for key, value in pinned.items()}}
    return [
        trace
        for trace in traces
        if trace.target == target.adapter.name
        and all(value in values.get(option, ()) for option, value in trace.options.items())
    ]
