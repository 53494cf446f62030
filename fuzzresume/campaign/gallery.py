"""The traces that ship with the package: real findings, in `shrinks/`, and public reports, in `corpus/reports/`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable

from fuzzresume.contract.trace import Trace, loads
from fuzzresume.harness.target import Target


def gallery() -> list[Trace]:
    """The findings, by target and name."""
    targets = _folders(resources.files("fuzzresume.shrinks"))
    return [trace for target in targets for finding in _folders(target) for trace in _read(finding.iterdir()).values()]


def reports() -> dict[str, Trace]:
    """The reports that have a seed trace, by name; `corpus/README.md` says which report each of them is."""
    return _read((resources.files("fuzzresume.corpus") / "reports").iterdir())


def _folders(root: Traversable) -> list[Traversable]:
    return sorted((folder for folder in root.iterdir() if folder.is_dir()), key=lambda folder: folder.name)


def _read(files: Iterable[Traversable]) -> dict[str, Trace]:
    found = sorted((file for file in files if file.name.endswith(".json")), key=lambda file: file.name)
    return {file.name.removesuffix(".json"): loads(file.read_bytes(), file.name) for file in found}


def that_could_be_drawn(traces: list[Trace], target: Target, pinned: Mapping[str, str]) -> list[Trace]:
    """Those of this target, whatever its version, under option values that a campaign with these pinned may draw."""
    values = {**target.adapter.options, **{key: (value,) for key, value in pinned.items()}}
    return [
        trace
        for trace in traces
        if trace.target == target.adapter.name
        and all(value in values.get(option, ()) for option, value in trace.options.items())
    ]
