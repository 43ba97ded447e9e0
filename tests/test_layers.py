"""Imports point only upwards in the map of the package: what is below may use what is above, never the reverse."""

import ast
import subprocess
import sys
from pathlib import Path

import novakind

LAYERS = """
    errors given disk toml settings structure progress rows objective modality encoders config model
    data datasets methods training runs results arguments estimator compare app __main__
""".split()  # noqa: SIM905 easier to read than quotes
ROOT = Path(novakind.__file__).parent


def imported(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "novakind":
            parts = node.module.split(".")
            names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("novakind.")}
    return names & set(LAYERS)


def test_imports_point_upwards():
    for file in ROOT.rglob("*.py"):
        layer = file.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer == "__init__":
            continue
        assert layer in LAYERS, f"{layer} has no place in the map"
        for name in imported(file) - {layer}:
            assert LAYERS.index(name) < LAYERS.index(layer), f"{file.name} imports {name}, which stands below it"


WRITES = {
    "mkdir",
    "makedirs",
    "unlink",
    "rmdir",
    "rmtree",
    "touch",
    "write_text",
    "write_bytes",
    "symlink_to",
    "link_to",
}
WRITES |= {"hardlink_to", "copyfile", "copytree", "move", "ftruncate"}
READS = {"read_text", "read_bytes"}


def calls(file: Path) -> set[str]:
    """The methods that a file calls, by name."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    return {node.func.attr for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)}


def test_nothing_but_the_door_changes_a_file():
    """What is written elsewhere would not be atomic, nor refused in one sentence; nor would the campaign see it."""
    assert {file.name for file in ROOT.rglob("*.py") if calls(file) & WRITES} == {"disk.py"}


def test_files_of_others_are_opened_through_their_door():
    """Those that are read otherwise are novakind's own, installed, or known to be regular."""
    own = {"page.py", "published.py", "sentences.py", "server.py"}
    assert {file.name for file in ROOT.rglob("*.py") if calls(file) & READS} <= own


def test_files_stay_short():
    """Those of the package and those around it; a file that grows past 300 lines holds two nouns."""
    around = ("tests", "experiments", "bench", "examples", "docs")
    places = [ROOT, *(Path(__file__).parents[1] / name for name in around)]
    files = [file for place in places for file in place.rglob("*.py")]
    assert len(files) > 200
    assert {file.name for file in files if len(file.read_text(encoding="utf-8").splitlines()) > 300} == set()


def test_scikit_learn_waits_until_it_is_needed():
    """Its import takes a second, which nobody should wait for who asks for help or goes on with a run."""
    asked = "import sys, novakind.app.cli; print(sorted({'sklearn', 'scipy', 'av'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
