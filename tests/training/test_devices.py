"""Where the network is. No GPU is at hand: the `meta` device, which refuses tensors of any other, stands in for one."""

from dataclasses import replace

import pytest
import torch
from shards import ALL, KNOWN, NOVEL, WIDTH, drawn
from torch import nn

from novakind.config import Config
from novakind.errors import UserError
from novakind.methods import Batch, make_method
from novakind.modality.features import Features
from novakind.model import CUSTOM, Card, Model
from novakind.objective.prior import Prior
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
