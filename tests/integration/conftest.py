"""Fixtures that several modules of these tests use."""

from functools import partial
from importlib import metadata

import pytest

from fuzzresume.harness.forked import Zygotes


@pytest.fixture(scope="module")
def zygotes():
    """Worker processes that the tests of a module share."""
    with Zygotes() as pool:
        yield pool


@pytest.fixture
def without_package(monkeypatch):
    """Makes a package as good as not installed."""
    version = metadata.version

    def version_of_the_others(package, *, gone):
        if package == gone:
            raise metadata.PackageNotFoundError(package)
        return version(package)

    return lambda gone: monkeypatch.setattr(metadata, "version", partial(version_of_the_others, gone=gone))


@pytest.fixture
def new_run(tmp_path):
    """Opens runs of the LangGraph adapter (see langgraph_lives.Run), each in a folder of its own, and ends them."""
    from langgraph_lives import Run
    from lives import WORKLOAD

    runs = []

    def make(workload=WORKLOAD, **options):
        runs.append(Run(tmp_path / f"run-{len(runs)}", workload, **options))
        return runs[-1]

    yield make
    for run in runs:
        run.reload()
