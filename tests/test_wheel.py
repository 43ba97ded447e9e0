"""The wheel holds all that is needed: installed elsewhere it runs, and nothing of the repository is used."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from novakind import __version__

ROOT = Path(__file__).parents[1]


def run(*words: str | Path, cwd: Path) -> str:
    """What a command prints, without any trace of this environment but its libraries."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NOVAKIND", "COV"))}
    done = subprocess.run(words, cwd=cwd, env=clean | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built by hatchling alone, which needs no network."""
    pytest.importorskip("hatchling", reason="the wheel is built by hatchling, which the extra dev installs")
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out], cwd=ROOT, check=True)
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The programs of a fresh environment with the wheel; the libraries are those of the tests."""
    root = tmp_path_factory.mktemp("fresh")
    venv.create(root, symlinks=True)
    programs = root / ("Scripts" if os.name == "nt" else "bin")
    (site,) = [*root.glob("lib/python*/site-packages"), *root.glob("Lib/site-packages")]
    # A path in a .pth file is searched last, and the .pth files in it, such as that of an editable novakind, are not.
    (site / "libraries.pth").write_text("\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}))
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=root)
    return programs


def test_the_wheel_holds_every_file_of_the_package(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "novakind").rglob("*")
        if file.suffix in (".py", ".js", ".css", ".html", ".svg", ".typed")
    }
    assert {"novakind/py.typed", "novakind/results/report/page.html", "novakind/results/report/map.js"} <= wanted
    assert {name for name in inside if ".dist-info/" not in name} == wanted
    assert any(name.endswith("licenses/LICENSE") for name in inside)


def test_it_runs_where_it_is_installed(installed, tmp_path):
    place = run(installed / "python", "-c", "import novakind; print(novakind.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(installed.parent)
    assert run(installed / "novakind", "--version", cwd=tmp_path) == f"novakind {__version__}\n"
    assert run(installed / "python", "-m", "novakind", "--version", cwd=tmp_path) == f"novakind {__version__}\n"


def test_the_demonstration_runs_from_it(installed, tmp_path):
    printed = run(installed / "novakind", "demo", cwd=tmp_path)
    assert "new-5" in printed
    page = (tmp_path / "demo" / "run" / "report.html").read_text(encoding="utf-8")
    assert "<canvas" in page
    assert "<script" in page
