"""What is on record of a target and version before it is fuzzed: the paper's claims, the verdicts expected of a campaign,
and why the two differ where they do. Data that ships with the package, in `corpus/baselines`, one file each."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

import msgspec

from fuzzresume.contract.properties import PROPERTIES, VerdictName


class BaselineError(Exception):
    """A baseline cannot be used; the message is one line and names the field."""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the paper says of a property, in the contract's verdicts and in our words."""

    verdict: VerdictName
    claim: str


class Difference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why an expected verdict is not the paper's, or rests on something else. `traces` show it: files of the repository."""

    why: str
    traces: list[str] = []


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One target at one version. `expected` are the verdicts under the target's default options; a property that the paper
    does not speak of has no claim."""

    target: str
    version: str
    paper: dict[str, Claim] = {}
    expected: dict[str, VerdictName] = {}
    differences: dict[str, Difference] = {}

    @property
    def label(self) -> str:
        """Such as `langgraph@1.2.9`."""
        return f"{self.target}@{self.version}"


def read_baseline(data: bytes | str, name: str) -> Baseline:
    """Read one file, called `name` in errors. Raises BaselineError."""
    try:
        found = msgspec.toml.decode(data, type=Baseline)
    except msgspec.DecodeError as error:
        raise BaselineError(f"{name}: {error}") from error
    for table in ("paper", "expected", "differences"):
        if unknown := _unknown(getattr(found, table)):
            raise BaselineError(f"{name}: {table}.{unknown[0]}: there is no such property")
    return found


def baselines() -> dict[str, Baseline]:
    """Every baseline that ships, by its label. Raises BaselineError."""
    folder = resources.files("fuzzresume.corpus") / "baselines"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    found = [read_baseline(file.read_bytes(), file.name) for file in files]
    return {baseline.label: baseline for baseline in found}


def _unknown(names: Iterable[str]) -> list[str]:
    return [name for name in names if name not in PROPERTIES]
