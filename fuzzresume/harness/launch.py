"""Runs a module of this very fuzzresume in any interpreter, without what is installed beside fuzzresume.

Run as a script: `python -P launch.py MODULE ARGUMENT…`. On a path, the package's neighbours in its `site-packages` would
come along into an environment that has its own versions of them. Standard library only.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent

installed: dict[str, str] = {}
"""The packages that were installed so beside fuzzresume, and their folders: who starts another process passes them on."""


def install(name: str, package: Path) -> None:
    """Make the package in the folder `package` importable under `name`, and nothing that lies beside it."""
    spec = importlib.util.spec_from_file_location(name, package / "__init__.py", submodule_search_locations=[str(package)])
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    installed[name] = str(package)


if __name__ == "__main__":
    install("fuzzresume", PACKAGE)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
