"""The released versions of a package, as uv finds them: with the user's own index, credentials and cache, as environments
are built.

uv lists nothing, but it says what is newest. So it is asked again and again, each time for what is older than its last
answer. What it would not install, yanked releases and those for another Python, it does not name.
"""

from __future__ import annotations

import re
import sys

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from fuzzresume.harness.environments import reason, run_uv
from fuzzresume.harness.target import TargetError

UNSATISFIABLE = 1
"""uv's exit code where nothing fits what was asked for; a failure has another."""


class NoReleases(TargetError):
    """The index could not be asked, or has nothing that fits; the message is one line."""


def version_of(text: str) -> Version:
    """Read a version. Raises TargetError, in one line."""
    try:
        return Version(text)
    except InvalidVersion as error:
        raise TargetError(f"{text!r} is no version, such as 1.2.3") from error


def releases(package: str, within: SpecifierSet, *, pre: bool = False) -> list[Version]:
    """Every release of `package` that fits `within` and this Python, the oldest first; `pre`: pre-releases too.

    Raises NoReleases.
    """
    found: list[Version] = []
    while True:
        # `<V` would leave out V's pre-releases too.
        older = SpecifierSet(f"<={found[-1]},!={found[-1]}") if found else SpecifierSet()
        said = run_uv(
            "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-deps",
            "--prerelease", "allow" if pre else "disallow", "--python", sys.executable, "-",
            text=f"{package}{within & older}",
        )  # fmt: skip
        if said.returncode:
            if found and said.returncode == UNSATISFIABLE:
                return found[::-1]
            raise NoReleases(f"no releases of {package} are known: {reason(said.stderr)}")
        match = re.search(r"==\s*([^\s;]+)", said.stdout)
        if match is None:
            raise NoReleases(f"no releases of {package} are known: uv said {reason(said.stdout)}")
        found.append(Version(match[1]))
