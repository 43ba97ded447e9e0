"""Where the network is. No GPU is at hand: the `meta` device, which refuses tensors of any other, stands in for one."""

from dataclasses import replace
from inspect import unwrap
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from shards import ALL, KNOWN, NOVEL, WIDTH, drawn
from torch import nn
from torch.utils import _device
from torch.utils._device import _device_constructors

from novakind.config import Config
from novakind.errors import UserError
from novakind.methods import Batch, make_method
from novakind.modality import image, pixels, video
from novakind.modality.features import Features, FeatureViews
from novakind.modality.image import Image
from novakind.modality.pixels import ImageViews
from novakind.modality.series import Series
from novakind.modality.video import Video, VideoViews
from novakind.modality.warp import SeriesViews
from novakind.model import CUSTOM, Card, Model, seen_shape
from novakind.objective.prior import Prior
from novakind.training.batches import drawing, makes_views, views
from novakind.training.setup import chosen_device

KNOWN_SIZES = replace(ALL, kl_one_sided=0.0)  # of a selection by values `meta` does not know the size


@pytest.mark.parametrize("config", [Config(objective=KNOWN_SIZES, heads=2), Config(method="uno"), Config(method="iic")])
def test_a_loss_is_computed_where_the_network_is(config):
    names = tuple(f"class {number}" for number in range(KNOWN + NOVEL))
    kind = Features((0.0,) * WIDTH, (1.0,) * WIDTH)
    model = Model(Card(CUSTOM, config.head, 8, 0.1, KNOWN, names, kind.settings()), nn.Linear(WIDTH, 8)).to("meta")
    method = make_method(replace(config, novel=NOVEL, dim=8), Prior.uniform(KNOWN, NOVEL))
    for stage in method.stages(7):
        method.begin(model, stage)
    (batch,) = drawn(0, config, (0.0, 1.0))
    there = Batch(batch.x.float().to("meta"), batch.labels.to("meta"), 0.5, batch.items.to("meta"))
    terms = method.loss(model, there)
    torch.stack(list(terms.values())).sum().backward()
    assert {term.device.type for term in terms.values()} == {"meta"}
    assert {weight.grad.device.type for weight in model.parameters() if weight.grad is not None} == {"meta"}


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    assert chosen_device("cpu") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert chosen_device("auto") == "cpu"
    for device in ("cuda", "mps"):
        with pytest.raises(UserError, match=f"--device {device} is asked for, but torch finds no GPU: give --device"):
            chosen_device(device)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert chosen_device("auto") == "cuda"


VARIED = {
    "pictures": (Image(16), ImageViews(rotate=12.0)),
    "pictures, weak": (Image(16), ImageViews(strength="weak")),
    "vectors": (Features((0.0,) * WIDTH, (1.0,) * WIDTH), FeatureViews(noise=0.3, mix=0.2)),
    "recordings": (Series(("x", "y", "z"), 40, mean=(0.0,) * 3, std=(1.0,) * 3), SeriesViews(drop=0.2)),
    "videos": (Video(8, 4, 8), VideoViews()),
    "videos, motion": (Video(8, 4, 8, motion=True), VideoViews(speed=0.5)),
}


@pytest.mark.parametrize("case", VARIED)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_views_are_made_where_the_network_is(monkeypatch, case, device):
    """Of a selection by chance `meta` does not know the size, so that it is always the first two items there."""
    modality, policy = VARIED[case]
    chosen = pixels.pick
    for module in (pixels, image, video):
        pick = chosen if device == "cpu" else lambda count, chance, generator: torch.arange(min(2, count))
        monkeypatch.setattr(module, "pick", pick)
    names = tuple(f"class {number}" for number in range(KNOWN + NOVEL))
    model = Model(Card(CUSTOM, "linear", 8, 0.1, KNOWN, names, modality.settings()), nn.Flatten()).to(device)
    items = np.random.default_rng(0).integers(0, 200, (9, *modality.shape)).astype(modality.dtype)
    seen: list[torch.device] = []
    augment = type(modality).augment

    def noted(self: object, batch: torch.Tensor, *others: object) -> torch.Tensor:
        seen.append(batch.device)
        return augment(self, batch, *others)

    monkeypatch.setattr(type(modality), "augment", noted)
    known = _device_constructors() - {torch.linspace}  # as transformers leaves it, if it is the first to ask
    monkeypatch.setattr(_device, "_device_constructors", lambda: known)
    found = views(model, items, np.arange(1, 8), Config(views=policy), 0.5)
    assert seen == [found.device] == [torch.device(device)]
    assert found.shape[1:] == seen_shape(modality)


def test_a_gpu_draws_by_itself(monkeypatch):
    own = SimpleNamespace(device=torch.device("cuda", 1))
    monkeypatch.setattr(torch.cuda, "default_generators", ("first", "second"))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    given = torch.Generator()
    assert unwrap(drawing)(torch.device("cuda"), given) == "second"
    assert unwrap(drawing)(torch.device("cuda", 0), given) == "first"
    assert unwrap(drawing)(torch.device("cuda"), own) is own
    assert unwrap(drawing)(torch.device("meta"), given) is given
    assert not makes_views(torch.device("mps"))
