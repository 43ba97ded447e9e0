"""Every command and every piece of Python in the documentation runs, and every option that it names exists.

Fences marked sh and python are run, page by page in one folder of made-up data, with trainings of two epochs; unmarked
ones show output or a folder.
"""

import re
import runpy
import shlex
import sys
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from footage import numbered, write_video
from PIL import Image as Pillow

from novakind.app.cli import VERBS, main
from novakind.app.demo import write_digits
from novakind.app.discover import assemble
from novakind.app.options import named, parsed, read_words
from novakind.datasets.images import digit_pictures
from novakind.encoders.front import is_installed
from novakind.errors import UserError

ROOT = Path(__file__).parents[2]
PAGES = {
    page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8")
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
    for page in sorted(ROOT.glob(pattern))
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = {"", "bibtex", "math"}  # never run
RUN = {"sh", "python"}

# What begins like this is not run, for this reason; the options of novakind are read nevertheless.
NOT_RUN = {
    "pip install": "needs the network",
    "make demo": "installs from the network",
    "make test": "installs from the network, and would run this again",
    "make docs": "installs from the network",
    "export NOVAKIND_DATA": "is of the shell itself",
    "novakind data": "downloads",
    "hf download": "downloads",
    "novakind compare cifar10": "needs data that are downloaded, and hours",
    "novakind compare mobiact": "needs data that are asked for",
    "novakind compare usc-had": "needs data that are downloaded by hand",
    "novakind compare digits --known 5 --preset glyphs --methods all": "takes an hour",
    "novakind search digits": "takes an hour",
    "novakind review": "serves until Ctrl-C, and tests/results/review talks to it",
    "python -m experiments": "takes hours, and tests/experiments runs its smallest scale",
}
DATA = {
    "docs/data/pictures.md": "photos",
    "docs/data/recordings.md": "recordings",
    "docs/data/videos.md": "clips",
    "docs/data/text.md": "sentences.csv",
    "docs/data/vectors.md": "embeddings.npz",
}
ELSEWHERE = {"--help", "--help-all", "--version"}  # of every verb
# of experiments, examples, benchmarks and the campaign
SCRIPTS = {"--scale", "--data", "--write", "--list", "--keep-old", "--seeds", "--make-up", "--every-write"}
SCRIPTS |= {"--pictures", "--table"}


def blocks(page: str) -> list[tuple[str, str]]:
    return FENCE.findall(PAGES[page])


def commands(block: str) -> list[list[str]]:
    """The words of each line, without comments."""
    lines = (shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines())
    return [words for words in lines if words]


def commands_of(page: str) -> list[list[str]]:
    return [words for language, block in blocks(page) if language == "sh" for words in commands(block)]


def excused(words: list[str]) -> str:
    return next((begin for begin in NOT_RUN if " ".join(words).startswith(begin)), "")


WITH_BLOCKS = [page for page in PAGES if any(language in RUN for language, _ in blocks(page))]


@pytest.fixture
def folder(tmp_path, monkeypatch, one_thread) -> Path:
    """The data that the documentation speaks of, small and made up, in the current folder; trainings are short."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("novakind.training.loop.choose_epochs", lambda steps, clustered=False: 2)
    layout = import_module("novakind.results.report.layout")
    # The map takes longer than all the rest, and has tests of its own.
    monkeypatch.setattr(layout, "project", lambda embedding: (np.zeros((len(embedding), 2)), "PCA"))
    for place in ("app.demo", "datasets.images"):
        monkeypatch.setattr(f"novakind.{place}.digit_pictures", lambda: tuple(part[:400] for part in digit_pictures()))
    rng = np.random.default_rng(0)
    rows = ["path,label"]
    for number in range(110):
        name = f"{('cat', 'dog')[number % 2] if number < 40 else 'unlabeled'}/{number}.png"
        Path("photos", name).parent.mkdir(parents=True, exist_ok=True)
        Pillow.fromarray(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)).save(Path("photos", name))
        rows.append(f"photos/{name},{'' if number >= 40 else name.partition('/')[0]}")
    Path("items.csv").write_text("\n".join(rows))
    Path("more_photos").mkdir()
    Pillow.new("RGB", (20, 16)).save("more_photos/one.png")
    np.savez("embeddings.npz", **arrays())
    Path("examples").symlink_to(ROOT / "examples")
    return tmp_path


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    classes = np.arange(140) % 7
    return {"X": rng.normal(size=(140, 6)) + 4 * classes[:, None], "y": np.where(classes < 2, classes, -1)}


def write_clips() -> None:
    for number in range(60):
        file = Path("clips") / (("run", "sit")[number % 2] if number < 10 else "unlabeled") / f"{number}.avi"
        write_video(file, [Fraction(i, 8) for i in range(12)], draw=partial(numbered, width=32, height=32))


def write_data(page: str, monkeypatch) -> None:
    """What only one page needs."""
    if page == "docs/pretrained.md" and not is_installed("efficientnet-lite0"):
        pytest.skip("the extra pretrained is not installed")
    if page == "README.md":
        write_digits(Path("demo"))
    elif page == "docs/data/videos.md":
        write_clips()
    elif page == "docs/data/text.md":
        if not is_installed("minilm"):
            pytest.skip("the extra text is not installed")
        exec(next(block for language, block in blocks(page) if language == "python"), {})
    elif page == "docs/data/recordings.md":
        run_command(["python", "examples/sensor_recordings.py", "--make-up"], monkeypatch)


def run_command(words: list[str], monkeypatch) -> None:
    if words[0] == "novakind" or words[:3] == ["python", "-m", "novakind"]:
        assert main(words[1:] if words[0] == "novakind" else words[3:]) == 0, shlex.join(words)
    elif words[0] == "python" and words[1].endswith(".py"):
        monkeypatch.setattr(sys, "argv", words[1:])
        runpy.run_path(str(ROOT / words[1]), run_name="__main__")
    else:
        pytest.fail(f"{shlex.join(words)} is neither run nor excused: teach this test how, or name it in NOT_RUN")


@pytest.mark.filterwarnings("ignore::UserWarning")  # two epochs are too few to find anything
@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_every_block_runs(page, folder, monkeypatch):
    write_data(page, monkeypatch)
    variables = {"embeddings": arrays()["X"], "labels": arrays()["y"], "more": arrays()["X"][:3]}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, page, "exec"), variables)
        elif language == "sh":
            for words in commands(block):
                if not excused(words):
                    run_command(words, monkeypatch)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page):
    assert {language for language, _ in blocks(page)} <= RUN | SHOWN
    assert PAGES[page].count("\n```") == 2 * len(blocks(page)), "a fence that does not end, or stands within a list"


def test_every_excuse_is_needed():
    assert {excused(words) for page in PAGES for words in commands_of(page)} - {""} == NOT_RUN.keys()


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_not_run_have_options_that_exist(page, tmp_path, monkeypatch):
    """Those in the text too."""
    monkeypatch.chdir(tmp_path)
    lines = [words for words in commands_of(page) if excused(words)]
    lines += [shlex.split(span) for span in spans(page) if span.startswith("novakind ") and "..." not in span]
    for words in lines:
        if words[0] == "novakind" and len(words) > 1 and words[1] in VERBS:
            check_options(words[1], words[2:])


def check_options(verb: str, words: list[str]) -> None:
    typed = read_words([word for word in words if word not in ELSEWHERE], VERBS[verb].known())
    own = {name for name in typed.options if hasattr(VERBS[verb].options, name)}
    if VERBS[verb].is_training and typed.plain and typed.plain[0] != "DATA" and "N" not in typed.options.values():
        assemble(typed.plain[0], "auto", {k: v for k, v in typed.options.items() if k not in own}, parsed)


def spans(page: str) -> list[str]:
    """What stands between single backquotes, on one line."""
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", FENCE.sub("", PAGES[page]))]


@pytest.mark.parametrize("page", PAGES)
def test_every_option_exists(page):
    known = {name: setting for verb in VERBS.values() for name, setting in verb.known().items()}
    for span in spans(page):
        for option in re.findall(r"(?<!\S)--[a-z][\w.-]*", span):
            if option not in ELSEWHERE | SCRIPTS:
                named(option.removeprefix("--"), known)


@pytest.mark.parametrize("page", DATA)
def test_options_of_a_guide_are_for_its_kind_of_data(page, folder, monkeypatch):
    write_data(page, monkeypatch)
    rows = re.findall(r"^\| `(--[^`]+)` \|", PAGES[page], re.MULTILINE)
    assert len(rows) >= 5
    for row in rows:
        options = dict(read_words(shlex.split(row), VERBS["discover"].known()).options)
        assemble(DATA[page], str(options.pop("preset", "auto")), options, parsed)


def test_a_wrong_option_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"--series\.rotate is no setting"):
        check_options("discover", ["mobiact", "--series.rotate", "15"])
    with pytest.raises(UserError, match="is for recordings"):
        check_options("discover", ["cifar10", "--window", "3s"])
