"""Knowledge flows one way (docs/DESIGN.md, *Layers*): no module imports from a layer above its own, not even late."""

import ast
from pathlib import Path

import pytest

import fuzzresume

ROOT = Path(fuzzresume.__file__).parent

MAY_IMPORT = {
    "contract": set(),
    "harness": {"contract"},
    "adapters": {"contract", "harness"},
    "formal": {"contract"},
    "campaign": {"contract", "harness", "adapters", "machines", "corpus", "formal"},
    "repro": {"contract", "harness"},
    "report": {"contract", "harness", "campaign"},
    "testing": {"contract", "harness"},
}
"""What a layer may import besides itself. The command line and the pytest plugin may import everything."""


def imported(module):
    """(line, layer) of every import from the package, those in functions too, but not those for type checkers alone."""
    tree = ast.parse(module.read_text())
    checked_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in checked_only:
            continue
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name.startswith("fuzzresume."):
                yield node.lineno, name.split(".")[1]


@pytest.mark.parametrize("layer", MAY_IMPORT)
def test_no_module_imports_from_above(layer):
    upward = [
        f"{module.relative_to(ROOT)}:{line} imports {name}"
        for module in sorted((ROOT / layer).rglob("*.py"))
        for line, name in imported(module)
        if name not in {layer, *MAY_IMPORT[layer]}
    ]
    assert upward == []


def test_every_package_has_its_place():
    packages = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert packages == set(MAY_IMPORT)


def test_a_campaign_knows_none_of_what_is_made_of_it():
    """The sweep, the database and the night import the campaign; only looking a finding up opens the database."""
    rooms = ("fuzzresume.campaign.sweep", "fuzzresume.campaign.corpus", "fuzzresume.campaign.nightly")
    knowing = {
        module.name for module in (ROOT / "campaign").glob("*.py") if any(room in module.read_text() for room in rooms)
    }
    assert knowing == {"lookup.py"}
