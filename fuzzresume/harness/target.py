"""What is tested: an adapter, exact package versions and options; and how the user's words for it are resolved.

Every error is a `TargetError` with a one-line message that says what to do.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import cast

from fuzzresume.harness.adapter import Adapter, Capabilities, OnRequest, on_request

GROUP = "fuzzresume.adapters"
"""The entry point group by which third parties register `name = "module:ADAPTER"`."""

BUILT_IN: Mapping[str, str] = {
    "reference": "fuzzresume.adapters.reference:ADAPTER",
    "mutant": "fuzzresume.adapters.mutant:ADAPTER",
    "langgraph": "fuzzresume.adapters.langgraph:ADAPTER",
    "llamaindex": "fuzzresume.adapters.llamaindex:ADAPTER",
    "pydantic-graph": "fuzzresume.adapters.pydantic_graph:ADAPTER",
    "autogen": "fuzzresume.adapters.autogen:ADAPTER",
    "crewai": "fuzzresume.adapters.crewai:ADAPTER",
}

APART = ("crewai",)
"""Targets too heavy to share an environment: they always get one of their own."""

LATEST = "latest"
"""The version that means the newest one there is."""

VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]*")
"""What a version looks like; it ends up in a requirement and in the name of a folder."""


class TargetError(Exception):
    """A target cannot be used; the message is one line."""


class UnknownTarget(TargetError):
    """No adapter has that name."""


class MissingExtra(TargetError):
    """The adapter's framework is not installed, or, if it has an `extra`, what a value on request needs beside it."""

    def __init__(self, words: str, extra: str = "") -> None:
        super().__init__(words)
        self.extra = extra


class NoEnvironment(TargetError):
    """An environment could not be built, or the adapter cannot drive what is in it; other targets are not concerned."""


class StoreUnavailable(TargetError):
    """The server that holds a target's stores could not be started, or does not answer any more. Never an outcome."""


class AdapterSlip(TargetError):
    """A mistake in the adapter's own code came out of a call. Never an outcome: nobody knows what the framework would do."""


class BadOption(TargetError):
    """An option or a value that the adapter does not have, or a combination that makes no sense."""


@dataclass(frozen=True)
class Target:
    """An adapter under given options, completed with the defaults. Raises BadOption for options it does not have."""

    adapter: Adapter
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        offered = _offered(self.adapter)
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
        for key, wanted in self._wanted():
            for package in wanted.packages:
                if _version_of(self.adapter, package) is None:
                    what = f"target {self.adapter.name} with {key}={complete[key]}"
                    words = f"{what} needs {package}: {_install(self.adapter.name, wanted.extra)}"
                    raise MissingExtra(words, wanted.extra or self.adapter.name)

    @cached_property
    def capabilities(self) -> Capabilities:
        """What can be expressed under these options."""
        return self.adapter.capabilities(self.options)

    @cached_property
    def packages(self) -> dict[str, str]:
        """The exact installed version of each package that decides the behaviour, the framework itself first."""
        more = [package for _, wanted in self._wanted() for package in wanted.packages]
        return {name: _version_of(self.adapter, name) or "" for name in (*self.adapter.packages, *more)}

    @property
    def label(self) -> str:
        """`"langgraph@1.2.9"`, or the bare name of an adapter that needs no package."""
        return "@".join([self.adapter.name, *list(self.packages.values())[:1]])

    def _wanted(self) -> list[tuple[str, OnRequest]]:
        """What the chosen values bring with them that are used on request only, by option."""
        values = on_request(self.adapter)
        found = ((key, values.get(key, {}).get(value)) for key, value in self.options.items())
        return [(key, wanted) for key, wanted in found if wanted is not None]


@dataclass(frozen=True, slots=True)
class Available:
    """One row of the list of targets. `version` is None when it cannot be used here; `error` says why.

    `apart`: it is not meant to be installed here, because it gets an environment of its own.
    """

    name: str
    version: str | None
    install: str
    options: Mapping[str, tuple[str, ...]]
    error: str = ""
    apart: bool = False


def spec_in_registry(name: str) -> str:
    """The `"module:ATTRIBUTE"` of the adapter registered under `name`. Raises UnknownTarget."""
    known = _registry()
    if name not in known:
        close = difflib.get_close_matches(name, known, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else _listing("known are", tuple(sorted(known)))
        raise UnknownTarget(f"no target is called {name!r}; {hint}")
    return known[name]


def load_adapter(name: str) -> Adapter:
    """The adapter registered under `name`, in this environment. Raises UnknownTarget or MissingExtra."""
    try:
        adapter = resolve(spec_in_registry(name))
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "fuzzresume":
            raise
        raise MissingExtra(f"target {name} needs {error.name or error}: {_install(name)}") from error
    for package in adapter.packages:
        if _version_of(adapter, package) is None:
            raise MissingExtra(f"target {name} needs {package}: {_install(name)}")
    return adapter


def parse_target(text: str, options: Mapping[str, str] | None = None) -> Target:
    """Read `"langgraph"`, `"langgraph@1.2.9"` or `"module:ATTRIBUTE"`, and make sure that it can be used. Raises any
    TargetError.

    A version that is not the installed one, and what is never installed beside other frameworks, gets an environment of its
    own.
    """
    if ":" in text:
        from fuzzresume.harness.named import named_target

        return named_target(text, options or {})
    name, at, version = text.partition("@")
    spec_in_registry(name)
    if at and not VERSION.fullmatch(version):
        raise UnknownTarget(f"{text!r} names no version; write {name} or {name}@1.2.3")
    if name in APART and not version:
        version = LATEST
    if not version or version == installed_version(name):
        target = Target(load_adapter(name), options or {})
        target.capabilities.keeper.ready()
        return target
    # Only who asks for an environment needs what builds it, which the other end of a pipe does not have.
    from fuzzresume.harness.pinned import pinned_target

    return pinned_target(name, version, options or {})


def recorded_target(name: str, packages: Mapping[str, str], options: Mapping[str, str], *, exact: bool = False) -> Target:
    """The target of a trace: the installed one, unless it has none or `exact` asks for the recorded versions.

    Those come in an environment of their own. Raises any TargetError.
    """
    if ":" in name:
        return parse_target(name, options)
    try:
        spec_in_registry(name)
    except UnknownTarget as error:
        raise UnknownTarget(
            f"{error}; for one that is not installed, write module:ATTRIBUTE as the trace's target"
        ) from None
    if exact or name in APART:
        if not packages:
            raise UnknownTarget(f"no version of {name} was recorded")
        if any(_metadata_version(package) != version for package, version in packages.items()):
            from fuzzresume.harness.pinned import exact_target

            return exact_target(name, packages, options)
    return Target(load_adapter(name), options)


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
    if name in APART:
        return Available(name, None, f"fuzzresume prepare {name}", {}, "built on first use otherwise", apart=True)
    install = _install(name)
    try:
        target = Target(load_adapter(name))
    except (TargetError, ImportError, AttributeError) as error:
        return Available(name, None, install, {}, f"{type(error).__name__}: {error}")
    return Available(name, next(iter(target.packages.values()), "built in"), install, _offered(target.adapter))


def _offered(adapter: Adapter) -> dict[str, tuple[str, ...]]:
    """Every value of every option: those that the fuzzer draws, then those on request."""
    more = on_request(adapter)
    return {key: (*values, *more.get(key, ())) for key, values in adapter.options.items()}


def installed_version(name: str) -> str:
    """The version here of the framework of the target `name`; "" where it has none or is not installed."""
    if name in ("reference", "mutant"):
        return metadata.version("fuzzresume")
    found = requirements_of(name)
    return (_metadata_version(package_of(found[0])) or "") if found else ""


def package_of(requirement: str) -> str:
    """The package that a requirement names, without extras, versions and markers."""
    return re.split(r"[^\w.-]", requirement.strip())[0]


def requirements_of(name: str, extra: str = "") -> list[str]:
    """What the target `name` needs beside fuzzresume, its framework first, as its distribution declares it."""
    extra = extra or name
    if name in BUILT_IN:
        marker = re.compile(rf"extra == ['\"]{re.escape(extra)}['\"]")
        declared = metadata.requires("fuzzresume") or []
        return [line.partition(";")[0].strip() for line in declared if marker.search(line)]
    point = next(iter(metadata.entry_points(group=GROUP, name=name)), None)
    declared = (point.dist.requires or []) if point is not None and point.dist is not None else []
    return [line for line in declared if "extra ==" not in line and not re.match(r"fuzzresume\b(?!-)", line)]


def known_requirements(name: str) -> list[str]:
    """Everything that the target `name` may need under any option, as declared."""
    if name in BUILT_IN:
        return metadata.requires("fuzzresume") or []
    return requirements_of(name)


def _version_of(adapter: Adapter, package: str) -> str | None:
    """The version of a package where the adapter's framework lives."""
    lookup: Callable[[str], str | None] = getattr(adapter, "version_of", _metadata_version)
    return lookup(package)


def _metadata_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _install(name: str, extra: str = "") -> str:
    if name in BUILT_IN:
        extras = ",".join(filter(None, (name, extra)))
        return f"pip install 'fuzzresume[{extras}]'" if name not in ("reference", "mutant") else "pip install fuzzresume"
    point = next(iter(metadata.entry_points(group=GROUP, name=name)), None)
    return f"pip install {point.dist.name}" if point is not None and point.dist is not None else "pip install fuzzresume"


def _listing(words: str, names: tuple[str, ...]) -> str:
    return f"{words} {', '.join(names)}" if names else f"{words} none"
