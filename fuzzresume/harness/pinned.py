"""Targets in environments of their own, as `langgraph@1.1.4` and `crewai` (docs/DESIGN.md, *Pinned environments*)."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from fuzzresume.harness.environments import COMPANIONS, environment
from fuzzresume.harness.remote import Remote, RemoteAdapter
from fuzzresume.harness.target import (
    LATEST,
    VERSION,
    MissingExtra,
    NoEnvironment,
    Target,
    UnknownTarget,
    known_requirements,
    package_of,
    requirements_of,
    spec_in_registry,
)


def pinned_target(name: str, version: str, options: Mapping[str, str]) -> Target:
    """The target `name` at that version of its framework. Raises any TargetError, NoEnvironment among them."""
    needed = requirements(name, version)
    return _target(f"{name}@{version}", name, needed, options, fresh=version == LATEST)


def exact_target(name: str, packages: Mapping[str, str], options: Mapping[str, str]) -> Target:
    """The target `name` at exactly these versions of the packages that decide its behaviour. Raises as `pinned_target`."""
    declared = {package_of(line).lower() for line in known_requirements(name)}
    for package, version in packages.items():
        if package.lower() not in declared or not VERSION.fullmatch(version):
            raise UnknownTarget(f"{name} cannot be had with {package!r} at {version!r}: that is no version of what it uses")
    exact = [f"{package}=={version}" for package, version in packages.items()]
    known = {package_of(line) for line in exact}
    return _target(
        f"{name}@{next(iter(packages.values()), '')}",
        name,
        [*exact, *(line for line in requirements_of(name) if package_of(line) not in known)],
        options,
    )


def requirements(name: str, version: str) -> list[str]:
    """What to install for that version of a target's framework; what comes with it is only named, so the resolver is free.

    Raises UnknownTarget for a target that needs no framework.
    """
    found = [package_of(line) for line in requirements_of(name)]
    if not found:
        raise UnknownTarget(f"{name}@{version}: {name} has no framework that could have another version")
    framework, *companions = found
    if version == LATEST:
        return [framework, *companions]
    pinned = COMPANIONS.get(f"{framework}=={version}", ())
    settled = {package_of(line) for line in pinned}
    return [f"{framework}=={version}", *pinned, *(one for one in companions if one not in settled)]


def _target(label: str, name: str, needed: Sequence[str], options: Mapping[str, str], *, fresh: bool = False) -> Target:
    adapter = _adapter(label, name, tuple(needed), fresh)
    try:
        target = Target(adapter, options)
    except MissingExtra as missing:
        more = tuple(package_of(line) for line in requirements_of(name, missing.extra))
        adapter = _adapter(label, name, (*needed, *(line for line in more if line not in needed)), fresh)
        target = Target(adapter, options)
    adapter.ready(target.options)
    return target


_adapters: dict[tuple[str, ...], RemoteAdapter] = {}


def hang_up() -> None:
    """End the processes in all environments. Targets that were made before start theirs again when they need it."""
    while _adapters:
        _adapters.popitem()[1].close()


def _adapter(label: str, name: str, needed: tuple[str, ...], fresh: bool) -> RemoteAdapter:
    """One process for each question, for as long as this one lives."""
    if needed not in _adapters:
        _adapters[needed] = _start(label, name, needed, fresh)
    return _adapters[needed]


def _start(label: str, name: str, needed: tuple[str, ...], fresh: bool) -> RemoteAdapter:
    spec = spec_in_registry(name)
    found = environment(label, needed, fresh=fresh)
    try:
        return RemoteAdapter(Remote(found.python, spec, _modules(spec)))
    except MissingExtra as missing:
        raise NoEnvironment(f"{label} cannot be used: {missing} (its environment is {found.folder})") from missing


def _modules(spec: str) -> dict[str, str]:
    """The top package of an adapter that is not ours, and the folder it lies in."""
    top = spec.partition(":")[0].partition(".")[0]
    if top == "fuzzresume":
        return {}
    found = importlib.util.find_spec(top)
    if found is None or not found.submodule_search_locations:
        raise NoEnvironment(f"the adapter {spec} is in no package, so no other environment can import it")
    return {top: str(Path(next(iter(found.submodule_search_locations))))}
