"""Encoders of the user's own: what they froze stays frozen, and what cannot work is refused before training."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from novakind import Discoverer
from novakind.errors import UserError
from novakind.model import width

X = np.random.default_rng(0).normal(size=(60, 4))
Y = np.where(np.arange(60) < 30, np.arange(60) % 2, -1)


class Returning(nn.Module):
    """Gives what a function makes of its input."""

    def __init__(self, make: Callable[[Tensor], Any], **attributes: Any) -> None:
        super().__init__()
        self.make = make
        self.weight = nn.Parameter(torch.eye(4))
        for name, value in attributes.items():
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Any:
        return self.make(x @ self.weight)


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


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (
            Returning(lambda x: x, dim=64),
            "has dim = 64 but gives 4 numbers per item: set its dim to 4, or leave it out",
        ),
        (Returning(lambda x: (x, x)), "returns a tuple, but a tensor .* is needed: wrap it in a module"),
        (Returning(lambda x: {"features": x}), "returns a dict, but a tensor .* is needed: wrap it in a module"),
        (Returning(lambda x: x[:, :, None]), r"gives outputs of shape \(2, 4, 1\) for two items, .*: pool or flatten"),
        (Returning(lambda x: x.mean()), r"gives outputs of shape \(\) for two items"),
        (Returning(lambda x: x[:1]), r"gives outputs of shape \(1, 4\) for two items"),
        (
            Returning(lambda x: x.double()),
            r"gives torch.float64, but torch.float32 is needed: convert it with .float\(\)",
        ),
        (
            nn.Linear(5, 3),
            r"does not take a batch of items of shape \(4,\) \(.*shapes cannot be multiplied.*\): give one",
        ),
    ],
    ids=["dim", "tuple", "dict", "axes", "scalar", "one row", "double", "shape"],
)
def test_what_cannot_work_is_refused_before_training(encoder, message):
    with pytest.raises(UserError, match=f"^the encoder {message}") as error:
        fitted(encoder)
    assert "\n" not in str(error.value)


def test_the_right_dim_is_taken():
    assert fitted(Returning(lambda x: x, dim=4)).model_.embed.in_features == 4


def test_trying_leaves_the_encoder_as_it_was():
    encoder = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Sequential(nn.BatchNorm1d(8), nn.Dropout(0.5)))
    encoder[2].eval()
    modes = [module.training for module in encoder.modules()]
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    assert width(encoder, (4,)) == 8
    assert [module.training for module in encoder.modules()] == modes
    assert all(torch.equal(tensor, before[name]) for name, tensor in encoder.state_dict().items())
    with pytest.raises(UserError):
        width(encoder, (5,))
    assert [module.training for module in encoder.modules()] == modes


def test_a_file_with_another_encoder(tmp_path):
    fitted(nn.Linear(4, 8)).save(tmp_path / "model.safetensors")
    with pytest.raises(UserError, match=r"holds other weights than this encoder \(size mismatch .*: give the one"):
        Discoverer.load(tmp_path / "model.safetensors", encoder=nn.Linear(4, 9))
