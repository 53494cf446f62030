"""What `fuzzresume nightly` does, as a team writes it down: `fuzzresume.toml`, or `[tool.fuzzresume]` of `pyproject.toml`.

The structs are the format: what they say of a key is what is checked, and what the JSON schema of the file says.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

OWN = "fuzzresume.toml"
SHARED = "pyproject.toml"

PhaseName = Literal["regress", "enumerate", "tour", "random", "race", "minimise"]
FailOn = Literal["violated", "new", "gone", "changed"]

DURATION = r"^(?!0*(\.0*)?\s*[smh]?$)\d+(\.\d+)?\s*[smh]?$"
"""90, 60s, 2m or 1h, and more than nothing."""

Duration = Annotated[str, Meta(pattern=DURATION, description="A duration: 90, 60s, 2m or 1h.")]
Runs = Annotated[int, Meta(ge=1, description="Runs of a target, after which its campaign ends.")]
TargetName = Annotated[str, Meta(pattern=r"^\S+$", description="Such as langgraph, langgraph@1.2.9 or langgraph@latest.")]
File = Annotated[str, Meta(min_length=1, description="A path, relative to the folder of this file.")]


class ConfigError(Exception):
    """A configuration cannot be used; the message is one line and names file and key."""


class TargetTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A target with options that are pinned, and with a time or a number of runs of its own."""

    name: TargetName
    options: dict[str, str] = {}
    time: Duration | None = None
    runs: Runs | None = None

    @property
    def label(self) -> str:
        """What a night calls it, whatever version it turns out to be: `langgraph@latest api=graph`."""
        return " ".join([self.name, *(f"{key}={value}" for key, value in sorted(self.options.items()))])


class OutputFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files that a night writes; one that is not named is not written."""

    junit: File | None = None
    sarif: File | None = None
    summary: File | None = None
    events: File | None = None
    html: File | None = None
    json: File | None = None


Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""What the corpus database holds as a whole number."""


class NightlyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is fuzzed every night, for how long, and what makes the night fail."""

    targets: Annotated[list[TargetName | TargetTable], Meta(min_length=1, description="What is fuzzed, in this order.")]
    time: Annotated[
        Duration | None, Meta(description="The time of the whole night. Default 30m where runs are not bounded.")
    ] = None
    runs: Runs | None = None
    seed: Annotated[Seed, Meta(description="The same seed every night. Default: the number of the night.")] | None = None
    phases: Annotated[list[PhaseName], Meta(min_length=1, description="Phases to go through. Default: all.")] | None = None
    baseline: Annotated[File | None, Meta(description="The baseline file: what it names does not fail.")] = None
    database: Annotated[File, Meta(description="The corpus database.")] = ".fuzzresume/corpus.db"
    out: Annotated[File, Meta(description="The folder for the traces of findings.")] = ".fuzzresume"
    fail_on: Annotated[
        tuple[FailOn, ...],
        Meta(
            description="What makes a night fail. violated: a violation that the baseline does not name; new: only one that"
            " earlier nights do not know either; gone: a finding that no longer shows; changed: a verdict that changed."
        ),
    ] = ("violated",)
    tlc: Annotated[bool, Meta(description="Ask TLC about every finding, where it is installed.")] = True
    outputs: OutputFiles = OutputFiles()

    def __post_init__(self) -> None:
        labels = [target.label for target in self.tables]
        if twice := {label for label in labels if labels.count(label) > 1}:
            raise ValueError(f"targets: {sorted(twice)[0]} is there twice")
        if self.phases is not None and set(self.phases) == {"minimise"}:
            raise ValueError("phases: nothing would be run; add one of enumerate, tour, random, race")

    @property
    def tables(self) -> list[TargetTable]:
        """The targets, each as a table."""
        return [target if isinstance(target, TargetTable) else TargetTable(target) for target in self.targets]

    @property
    def duration(self) -> str | None:
        """The time of the night: half an hour where neither time nor runs are bounded, None where only runs are."""
        bounded = self.runs is not None or all(target.runs is not None for target in self.tables)
        return self.time or (None if bounded else "30m")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration and the file that it came from."""

    config: NightlyConfig
    file: Path

    def path(self, text: str) -> Path:
        """A path of the configuration: it is meant relative to the folder of the file."""
        return self.file.parent / text


def find_config(folder: Path) -> Path:
    """The nearest configuration, from a folder upwards. Raises ConfigError for none, and for two in one folder."""
    for place in (folder, *folder.parents):
        own, shared = place / OWN, place / SHARED
        found = [own] if own.is_file() else []
        if shared.is_file() and _shared_table(_read(shared)) is not None:
            found.append(shared)
        if len(found) > 1:
            raise ConfigError(f"{place}: {OWN} and [tool.fuzzresume] of {SHARED} are both there; keep one of them")
        if found:
            return found[0]
    raise ConfigError(f"there is no {OWN}, and no [tool.fuzzresume] in a {SHARED}, in {folder} or above it; write one")


def load_config(file: Path) -> Loaded:
    """The configuration in a file. Raises ConfigError."""
    raw: Any = _read(file)
    prefix = ""
    if file.name == SHARED:
        raw, prefix = _shared_table(raw), "tool.fuzzresume."
        if raw is None:
            raise ConfigError(f"{file}: it has no table [tool.fuzzresume]")
    elif _shared_table(raw) is not None:
        raise ConfigError(f"{file}: tool.fuzzresume: the table belongs at the top level here; leave out `tool.fuzzresume`")
    try:
        return Loaded(msgspec.convert(raw, NightlyConfig), file)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{file}: {prefix}{_words(str(error), raw)}") from error


def config_schema() -> bytes:
    """The JSON schema of the configuration, indented, ending in a newline."""
    schema = msgspec.json.schema(NightlyConfig)
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "fuzzresume nightly", **schema}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: not TOML: {error}") from error


def _shared_table(raw: Mapping[str, Any]) -> Any:
    """What `pyproject.toml` says of fuzzresume; None where it says nothing."""
    tool = raw.get("tool")
    return tool.get("fuzzresume") if isinstance(tool, dict) else None


def _words(message: str, raw: object) -> str:
    """A message of msgspec, such as ``Expected `str`, got `int` - at `$.time` ``, in the words of the file."""
    said, _, place = message.partition(" - at `$")
    place = place.rstrip("`").removesuffix("[...]").lstrip(".")
    if unknown := re.search(r"unknown field `(.*)`", said):
        return f"{_key(place, unknown[1])}: there is no such key; {_near(unknown[1], _keys(place))}"
    if missing := re.search(r"missing required field `(.*)`", said):
        return f"{_key(place, missing[1])}: this key is missing"
    if not place:
        return said
    value = _at(raw, place)
    if said.startswith("Invalid enum value"):
        allowed = get_args(FailOn if place.startswith("fail_on") else PhaseName)
        return f"{place}: {value!r} is none of these; {_near(str(value), allowed)}"
    if "matching regex" in said and isinstance(value, str):
        return f"{place}: {value!r} is no {'duration; write 90, 60s, 2m or 1h' if 'time' in place else 'target'}"
    toml = said.replace(" | null", "").replace("object", "table")
    return f"{place}: {value!r}: {toml[:1].lower()}{toml[1:]}"


def _key(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _keys(place: str) -> Sequence[str]:
    """The keys that may be at a place."""
    struct = NightlyConfig if not place else OutputFiles if place == "outputs" else TargetTable
    return struct.__struct_fields__


def _near(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, cutoff=0.5)
    return f"did you mean {' or '.join(close[:2])}?" if close else f"known are {', '.join(known)}"


def _at(raw: Any, place: str) -> object:
    """The value at `targets[0].name`."""
    for key, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place):
        raw = raw[int(index)] if index else raw[key]
    return raw
