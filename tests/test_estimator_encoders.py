"""Encoders of the user's own: what they froze stays frozen, and what cannot work is refused before training."""

import numpy as np
import pytest
import torch
from torch import nn

from novakind import Discoverer

X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.where(np.arange(60) < 30, np.arange(60) % 2, -1)


def fitted(encoder: nn.Module, epochs: int = 2, **settings) -> Discoverer:
    return Discoverer(2, encoder=encoder, epochs=epochs, random_state=0, settings={"batch": 20, **settings}).fit(X, Y)


def frozen() -> nn.Module:
    """A network whose buffer holds what no average may touch, as masks of attention do."""
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.ReLU())
    net.register_buffer("mask", torch.tensor([-torch.inf, 0.1]))
    return net.requires_grad_(False).eval()


@pytest.mark.parametrize(
    "settings", [{}, {"ema": 0.9}, {"method": "dtc"}, {"method": "autonovel"}, {"epochs": 0, "minutes": 0.01}]
)
def test_a_frozen_encoder_stays_as_it_was(settings):
    encoder = frozen()
    after = fitted(encoder, **settings).model_.encoder.state_dict()
    for name, tensor in encoder.state_dict().items():
        assert torch.equal(after[name], tensor), name


def test_only_what_is_frozen_and_in_eval_mode_stays():
    encoder = nn.Sequential(
        frozen(), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))
    )
    encoder[3].eval()  # by habit: its weights still learn
    encoder[0][2].train()  # on purpose: a dropout that goes on
    model = fitted(encoder).model_.train()
    training = {name for name, module in model.encoder.named_modules() if module.training}
    assert training == {"", "0.2", "1", "2", "3", "3.0", "3.1"}
    assert not torch.equal(model.encoder[1].running_mean, encoder[1].running_mean)
    assert torch.equal(model.encoder[0][1].running_mean, encoder[0][1].running_mean)
    assert not any(module.training for module in model.eval().modules())
