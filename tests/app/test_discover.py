"""novakind.discover: the command line's way from data to a result, as one function."""

from pathlib import Path

import numpy as np
import pytest

import novakind
from novakind.app.cli import main
from novakind.errors import UserError

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.filterwarnings("ignore::UserWarning")]


def test_the_function_does_what_the_command_does(shapes):
    options = {"novel": 2, "epochs": 2, "batch": 40, "optim.lr": 0.05, "views.flip": False}
    found = novakind.discover(shapes, "here", preset="glyphs", **options)
    words = "--novel 2 --epochs 2 --batch 40 --optim.lr 0.05 --no-views.flip --preset glyphs --quiet --out there"
    assert main(["discover", "shapes", *words.split()]) == 0
    there = novakind.Discovery.load(Path("there"))
    np.testing.assert_array_equal(found.logp, there.logp)
    assert found.table() == there.table()
    assert (Path("here") / "report.html").exists()
    assert novakind.discover(shapes, "here", preset="glyphs", **options).paths == found.paths  # finished: not again


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"novel": 0}, "novel=0 asks for no new category, but at least 1 is needed"),
        ({"novel": "some"}, 'novel="some" is no number of new categories'),
        ({"novel": 2.5}, "novel=2.5 is no whole number"),
        ({"novel": 2, "window": "3s"}, "window.* is for recordings, and .* holds pictures: leave it out"),
        ({"novel": 2, "nouvel": 1}, "nouvel is no setting: did you mean novel?"),
        ({"novel": 2, "preset": "videos"}, 'preset="videos" is not for pictures'),
        ({"novel": 2, "optim.lr": -1.0}, r'\*\*{"optim.lr": -1.0} is out of range'),
        ({"novel": 2, "data_root": 3}, "data_root=3 is no text"),
    ],
)
def test_errors_speak_of_arguments(shapes, options, sentence):
    with pytest.raises(UserError, match=sentence) as caught:
        novakind.discover(shapes, **options)
    assert "--" not in str(caught.value)


def test_numbers_of_numpy_and_paths_are_arguments_like_others(shapes):
    Path("truth.csv").write_text("path,label\nunlabeled/2.png,square\n")
    options = {"novel": np.int64(2), "epochs": 1, "batch": 20, "val": np.float32(0.25), "test": np.float64(0.25)}
    found = novakind.discover(shapes, "run", truth=Path("truth.csv"), **options)
    assert novakind.discover(shapes, "run", truth="truth.csv", **options).paths == found.paths  # the run is found again


def test_what_was_noticed_is_a_warning_and_stays_with_the_result(shapes):
    with pytest.warns(UserWarning, match="do not trust the new categories yet; add labeled items"):
        found = novakind.discover(shapes, "run", novel=2, epochs=1, batch=40, **{"optim.lr": 1e-6})
    assert any("train longer with --epochs" in warning for warning in found.warnings)
    assert novakind.Discovery.load("run").warnings == found.warnings
