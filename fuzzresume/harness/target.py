"""What is tested: an adapter, exact package versions and options; and how the user's words for it are resolved.

Every error is a `TargetError` with a one-line message that says what to do.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import cast

from fuzzresume.harness.adapter import Adapter, Capabilities

GROUP = "fuzzresume.adapters"
"""The entry point group by which third parties register `name = "module:ADAPTER"`."""

BUILT_IN: Mapping[str, str] = {
    "reference": "fuzzresume.adapters.reference:ADAPTER",
    "mutant": "fuzzresume.adapters.mutant:ADAPTER",
    "langgraph": "fuzzresume.adapters.langgraph:ADAPTER",
}


class TargetError(Exception):
    """A target cannot be used; the message is one line."""


class UnknownTarget(TargetError):
    """No adapter has that name."""


class MissingExtra(TargetError):
    """The adapter's framework is not installed."""


class VersionNotInstalled(TargetError):
    """Another version of the framework is installed than the one asked for."""


class BadOption(TargetError):
    """An option or a value that the adapter does not have, or a combination that makes no sense."""


@dataclass(frozen=True)
class Target:
    """An adapter under given options, completed with the defaults. Raises BadOption for options it does not have."""

    adapter: Adapter
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        offered = self.adapter.options
        for key, value in self.options.items():
            if key not in offered:
                raise BadOption(f"{self.adapter.name} has no option {key!r}; {_listing('its options are', tuple(offered))}")
            if value not in offered[key]:
                raise BadOption(f"{self.adapter.name}: {key} cannot be {value!r}; {_listing('it is one of', offered[key])}")
        complete = {key: self.options.get(key, values[0]) for key, values in offered.items()}
        if not self.adapter.valid(complete):
            chosen = ", ".join(f"{key}={value}" for key, value in complete.items())
            raise BadOption(f"{self.adapter.name} cannot combine {chosen}; {_listing('its options are', tuple(offered))}")
        object.__setattr__(self, "options", complete)

    @cached_property
    def capabilities(self) -> Capabilities:
        """What can be expressed under these options."""
        return self.adapter.capabilities(self.options)

    @cached_property
    def packages(self) -> dict[str, str]:
        """The exact installed version of each package that decides the behaviour, the framework itself first."""
        return {name: metadata.version(name) for name in self.adapter.packages}

    @property
    def label(self) -> str:
        """`"langgraph@1.2.9"`, or the bare name of an adapter that needs no package."""
        return "@".join([self.adapter.name, *list(self.packages.values())[:1]])


@dataclass(frozen=True, slots=True)
class Available:
    """One row of the list of targets. `version` is None when it cannot be used here; `error` says why."""

    name: str
    version: str | None
    install: str
    options: Mapping[str, tuple[str, ...]]
    error: str = ""


def load_adapter(name: str) -> Adapter:
    """The adapter registered under `name`. Raises UnknownTarget or MissingExtra."""
    known = _registry()
    if name not in known:
        close = difflib.get_close_matches(name, known, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else _listing("known are", tuple(sorted(known)))
        raise UnknownTarget(f"no target is called {name!r}; {hint}")
    try:
        adapter = resolve(known[name])
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "fuzzresume":
            raise
        raise MissingExtra(f"target {name} needs {error.name or error}: {_install(name)}") from error
    for package in adapter.packages:
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError as error:
            raise MissingExtra(f"target {name} needs {package}: {_install(name)}") from error
    return adapter


def parse_target(text: str, options: Mapping[str, str] | None = None) -> Target:
    """Read `"langgraph"` or `"langgraph@1.2.9"`. Raises any TargetError."""
    name, at, version = text.partition("@")
    if at and not version:
        raise UnknownTarget(f"{text!r} names no version; write {name} or {name}@1.2.3")
    target = Target(load_adapter(name), options or {})
    installed = next(iter(target.packages.values()), "")
    if version and version != installed:
        has = f"{installed} is installed" if installed else "it has no version"
        raise VersionNotInstalled(f"{text} was asked for but {has}; pinned environments are not available yet")
    return target


def available() -> list[Available]:
    """Every registered target, usable here or not, by name."""
    return [_row(name) for name in sorted(_registry())]


def resolve(spec: str) -> Adapter:
    """The object that `"module:ATTRIBUTE"` names. Raises ImportError or AttributeError."""
    module, _, attribute = spec.partition(":")
    return cast(Adapter, getattr(importlib.import_module(module), attribute))


def spec_of(adapter: Adapter) -> str:
    """The `"module:ATTRIBUTE"` by which another process finds this very adapter. Raises TargetError when there is none."""
    module = type(adapter).__module__
    for attribute, value in vars(sys.modules[module]).items():
        if value is adapter:
            return f"{module}:{attribute}"
    for spec in _registry().values():
        name, _, attribute = spec.partition(":")
        if getattr(sys.modules.get(name), attribute, None) is adapter:
            return spec
    raise TargetError(f"adapter {adapter.name!r} is no module-level object, so a worker process cannot import it")


def _registry() -> dict[str, str]:
    return {**{point.name: point.value for point in metadata.entry_points(group=GROUP)}, **BUILT_IN}


def _row(name: str) -> Available:
    install = _install(name)
    try:
        target = Target(load_adapter(name))
    except (TargetError, ImportError, AttributeError) as error:
        return Available(name, None, install, {}, f"{type(error).__name__}: {error}")
    return Available(name, next(iter(target.packages.values()), "built in"), install, target.adapter.options)


def _install(name: str) -> str:
    if name in BUILT_IN:
        return f"pip install 'fuzzresume[{name}]'" if name not in ("reference", "mutant") else "pip install fuzzresume"
    point = next(iter(metadata.entry_points(group=GROUP, name=name)), None)
    return f"pip install {point.dist.name}" if point is not None and point.dist is not None else "pip install fuzzresume"


def _listing(words: str, names: tuple[str, ...]) -> str:
    return f"{words} {', '.join(names)}" if names else f"{words} none"
