"""An adapter named by where it is, `module:ATTRIBUTE`, because nothing has registered it yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from fuzzresume.harness.adapter import Adapter
from fuzzresume.harness.target import Target, UnknownTarget, resolve

_SHAPE = ("name", "packages", "options", "capabilities", "valid", "life")


def named_adapter(spec: str) -> Adapter:
    """The adapter that `"module:ATTRIBUTE"` names. Raises UnknownTarget where there is none.

    As with `python -m`, the module may lie in the working directory: a new adapter is not installed yet.
    """
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = resolve(spec)
    except (Exception, SystemExit) as error:
        raise UnknownTarget(" ".join(f"{spec}: {type(error).__name__}: {error}".split())) from error
    if missing := [part for part in _SHAPE if not hasattr(found, part)]:
        raise UnknownTarget(f"{spec} is no adapter: it has no {missing[0]}")
    if isinstance(found, type):
        raise UnknownTarget(f"{spec} is a class; name an instance of it")
    return found


def named_target(spec: str, options: Mapping[str, str]) -> Target:
    """That adapter under given options, ready to be used. Raises any TargetError."""
    target = Target(named_adapter(spec), options)
    target.capabilities.keeper.ready()
    return target
