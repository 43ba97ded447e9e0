"""Five steps of every method on a batch that is divided unequally, for tests: what each process computes."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from novakind.config import Config, Objective, starting
from novakind.data.collection import from_arrays
from novakind.data.split import part
from novakind.methods import Batch, Method, make_method
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.pixels import ImageViews
from novakind.model import CUSTOM, Card, Model
from novakind.objective import batch as sums
from novakind.objective.heads import MLPHead
from novakind.objective.prior import Prior
from novakind.training import distributed
from novakind.training.loop import fit
from novakind.training.parts import in_parts
from novakind.training.running import Loss

KNOWN, NOVEL, WIDTH = 3, 4, 6
LABELED, UNLABELED = 13, 17
NONE = Objective(ce=0, swapped_sharpened=0, kl=0, var=0)
TERMS = ("entropy", "sharpened", "norm", "mse", "swapped", "swapped_sharpened", "kl", "kl_one_sided", "var")
TERMS += ("var_diagonal", "novel_entropy", "novel_mass")
ALL = replace(NONE, ce=1.0, smoothing=0.1, **dict.fromkeys(TERMS, 1.0))

CASES: dict[str, Config] = {
    **{
        f"{term}-{head}": Config(objective=replace(NONE, **{term: 1.0}), head=head)
        for term in ("ce", *TERMS)
        for head in ("prototype", "linear")
    },
    "all-prototype": Config(objective=ALL),
    "all-linear": Config(objective=ALL, head="linear"),
    "all-heads": Config(objective=ALL, heads=3),
    "all-linear-heads": Config(objective=ALL, heads=3, head="linear"),
    "mixed": Config(objective=ALL, known_share=0.4),
    "finer": Config(objective=ALL, prior="auto"),
    "decided": Config(objective=ALL, start="decided"),
    "pictures": Config(objective=ALL, encoder="convnet"),
    "in-parts": Config(objective=ALL, encoder="flat"),
    "alternating": Config(objective=ALL, steps="alternating"),
    "nothing-to-learn": Config(objective=replace(ALL, ce=0.0), steps="alternating"),
    **{
        method: Config(method=method)
        for method in ("uno", "uno-direct", "iic", "nev", "supcon", "supervised", "oracle")
    },
    **{method: Config(method=method) for method in ("spacing", "kcl", "mcl", "autonovel")},
}
SINGLE = [replace(NONE, **{term: 1.0}) for term in ("ce", *TERMS)]  # judged by one step, all together by five
STEPS = 5
NAIVE = ("kl-prototype", "var-linear", "uno")


def made(config: Config) -> tuple[Model, Method]:
    """An untrained model in float64, with what the method adds in its last stage."""
    torch.manual_seed(0)
    pictures = config.encoder == "convnet"
    kind = Image(size=8) if pictures else Features((0.0,) * WIDTH, (1.0,) * WIDTH)
    names = tuple(f"class {number}" for number in range(KNOWN + NOVEL))
    encoder = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()) if pictures else None
    norm = nn.LayerNorm(8) if config.encoder == "flat" else nn.BatchNorm1d(8)  # which sees the items of a part
    encoder = encoder or nn.Sequential(nn.Linear(WIDTH, 8), norm, nn.ReLU())
    model = Model(Card(CUSTOM, config.head, 8, 0.1, KNOWN, names, kind.settings()), encoder).double()
    method = make_method(replace(config, novel=NOVEL, dim=8), Prior.uniform(KNOWN, NOVEL, config.known_share))
    method.reveal(torch.arange(100) % (KNOWN + NOVEL))
    for stage in method.stages(7):
        method.begin(model, stage)
    model.double().train()
    distributed.normalised_together(model)
    return model, method


def drawn(step: int, config: Config, place: tuple[float, float]) -> list[Batch]:
    """The part of a global batch between two places, from 0 to 1; of each kind in turn, where steps alternate."""
    rng = np.random.default_rng(step)
    shape = (3, 8, 8) if config.encoder == "convnet" else (WIDTH,)
    views = [rng.normal(size=(size, *shape)) for size in (LABELED, UNLABELED, UNLABELED)]
    labels, items = rng.integers(0, KNOWN, LABELED), rng.permutation(50)[:UNLABELED]

    def cut(rows: np.ndarray) -> Tensor:
        start, end = (round(end * len(rows)) for end in place)
        return torch.from_numpy(rows[start:end])

    labeled, first, second = map(cut, views)
    barred = cut(rng.random((UNLABELED, KNOWN + NOVEL)) < 0.2) if config.start == "decided" else None
    both = Batch(torch.cat([labeled, first, second]), cut(labels), 0.5, cut(items), barred)
    if config.steps == "joint":
        return [replace(both, x=labeled, items=both.items[:0])] if config.method in ("supcon", "supervised") else [both]
    named = Batch(labeled, cut(labels), 0.5, both.items[:0])
    return [named, Batch(torch.cat([first, second]), both.labels[:0], 0.5, both.items)]


def own_place() -> tuple[float, float]:
    """Where this process's part begins and ends: the second has twice as many items as the first, and so on."""
    ends = np.cumsum([0, *range(1, sums.processes() + 1)])
    rank = distributed.rank()
    return ends[rank] / ends[-1], ends[rank + 1] / ends[-1]


def five_steps(names: list[str]) -> dict[str, dict[str, Any]]:
    """For each case the losses of five steps, the gradients of the first and the weights and buffers after the last."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MLPHead, "hidden", 16)
        return {name: steps_of(CASES[name]) for name in names}


def naive_step(names: list[str]) -> dict[str, dict[str, Any]]:
    """The same with sums whose gradients stay in their process, as all_reduce leaves them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "reduced", naive)
        return five_steps(names)


def naive(tensor: Tensor, how: Any) -> Tensor:
    return tensor + (sums.all_reduced(tensor.detach(), how) - tensor.detach())


def whole_training() -> dict[str, Tensor]:
    """What fit() has learnt in two epochs of pictures, four heads and no random views, in float64."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (90, 8, 8), dtype=np.uint8)
    data = from_arrays(pictures, np.where(np.arange(90) % 4 < 2, np.arange(90) % 4, -1), "made")
    config = replace(starting(Image, "glyphs"), novel=2, batch=25, epochs=2, views=ImageViews(strength="none"))
    torch.set_default_dtype(torch.float64)
    try:
        return fit(data, part(data, 0.2, 0.0), config)[0].state_dict()
    finally:
        torch.set_default_dtype(torch.float32)


def every_step() -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """All cases as they are, some as they must not be, and a whole training."""
    return five_steps(list(CASES)), naive_step(list(NAIVE)), whole_training()


def seen_in_parts(loss: Loss, model: Model, batch: Batch) -> dict[str, Tensor]:
    """The same, but the encoder looks at a third of the batch at a time."""
    numbered = replace(batch, x=torch.arange(len(batch.x)))
    return in_parts(loss, model, model.encoder, lambda numbers, _: batch.x[numbers], 3)(numbered)


def steps_of(config: Config) -> dict[str, Any]:
    model, method = made(config)
    loss = distributed.trained(model, method)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses: list[dict[str, float]] = []
    gradients: dict[str, Tensor] = {}
    for step in range(STEPS if config.objective not in SINGLE else 1):
        for batch in drawn(step, config, own_place()):
            terms = seen_in_parts(loss, model, batch) if config.encoder == "flat" else loss(batch)
            losses.append({name: term.item() for name, term in terms.items()})
            if terms:
                optimizer.zero_grad()
                torch.stack(list(terms.values())).sum().backward()
                gradients = gradients or {
                    name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None
                }
                optimizer.step()
    return {"losses": losses, "gradients": gradients, "state": {k: v.clone() for k, v in model.state_dict().items()}}
