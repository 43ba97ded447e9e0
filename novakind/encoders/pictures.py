"""Pictures: a published encoder of images; how it wants them, and which of its outputs is the embedding."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from novakind.encoders.origin import Origin
from novakind.encoders.snapshot import Snapshot
from novakind.encoders.transformer import expect_names, first_line, parts, settings, unweighted

BESIDE_TEXTS = ("clip", "siglip")  # models of pictures and texts, whose half for pictures stands alone
PROJECTION = "visual_projection.weight"
FILTERS = {1: "bicubic", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers; 1 is Lanczos, whose nearest is bicubic


class Pictures(nn.Module):
    """Pictures of side `size`, normalised by the origin's mean and std, to unit vectors."""

    def __init__(self, body: nn.Module, origin: Origin) -> None:
        super().__init__()
        self.dim, self.pooling = origin.dim, str(origin.architecture["pooling"])
        self.body, self.origin = body, origin
        self.register_load_state_dict_pre_hook(expect_names)
        if self.pooling in ("cls", "mean") and getattr(body, "pooler", None) is not None:
            body.register_module("pooler", None)
        width = origin.architecture["projected_from"]
        self.projection = nn.Linear(width, origin.dim, bias=False) if width else nn.Identity()

    @torch.no_grad()
    def take(self, folder: Snapshot) -> None:
        """The weights that do not belong to the body."""
        if isinstance(self.projection, nn.Linear):
            weight = folder.tensor(PROJECTION)
            assert weight is not None, "its width was read from it"
            self.projection.weight.copy_(weight)

    def forward(self, images: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch {self.dim}"]:
        found = pooled(self.body(pixel_values=images), self.pooling)
        return F.normalize(self.projection(found).float(), dim=1)

    def parts(self) -> list[nn.Module]:
        """From the first layer to the last, for those who train only some of them."""
        return [*parts(self.body), *([self.projection] if isinstance(self.projection, nn.Linear) else [])]


def pooled(output: Any, pooling: str) -> Tensor:
    """One vector a picture."""
    if pooling in ("pooler", "features"):
        return output.pooler_output.flatten(1)
    last = output.last_hidden_state
    if pooling == "cls":
        return last[:, 0]
    return last.mean(1) if last.ndim == 3 else last.mean((2, 3))


def described(folder: Snapshot) -> dict[str, Any]:
    """What the origin says of it, but for where it comes from."""
    config, pooling, projection = settings(folder), "", None
    if "vision_config" in config:
        if config["model_type"] not in BESIDE_TEXTS:
            raise folder.refused(
                f"models of kind {config['model_type']} read more than pictures, and of those only "
                f"{' and '.join(BESIDE_TEXTS)} are known here",
                "choose an encoder of pictures",
            )
        config, pooling, projection = config["vision_config"], "features", folder.tensor(PROJECTION)
    if "mask_ratio" in config:
        raise folder.refused(
            "it leaves out patches at random, so its embeddings are not of whole pictures",
            "choose an encoder that was trained further",
        )
    side, width = size(folder, config), 0
    network = unweighted(folder.name, config, "meta")
    try:
        with torch.no_grad():
            output = network(pixel_values=torch.empty(1, 3, side, side, device="meta"))
        pooling = pooling or chosen(network, output)
        dim = pooled(output, pooling).shape[1]
    except (AttributeError, AssertionError, RuntimeError, TypeError, ValueError) as error:
        raise folder.refused(
            f"it makes no embedding of a picture of {side} x {side} pixels ({first_line(error)})",
            "choose an encoder of pictures",
        ) from error
    if projection is not None:
        dim, width = projection.shape
    return {
        "dim": dim,
        "size": side,
        **prepared(folder),
        "architecture": {"config": config, "pooling": pooling, "projected_from": width},
    }


def chosen(network: nn.Module, output: Any) -> str:
    """How the network's outputs become one vector.

    The pooler, unless it is the dense layer with tanh of a pre-training task (which many published weights leave out);
    then the class token; the mean over the picture where there is none.
    """
    pooler = getattr(network, "pooler", None)
    token = any(name.endswith("cls_token") for name, _ in network.named_parameters())
    if getattr(output, "pooler_output", None) is not None and not hasattr(pooler, "dense"):
        return "cls" if token and pooler is None else "pooler"
    return "cls" if token else "mean"


def size(folder: Snapshot, config: dict[str, Any]) -> int:
    """Side of the pictures that the network sees: after the crop, where there is one."""
    processor = folder.processor()
    crop = processor.get("crop_size") if processor.get("do_center_crop") else None
    given = crop or processor.get("size") or config.get("image_size")
    if isinstance(given, dict):
        given = [given[key] for key in ("height", "width", "shortest_edge", "longest_edge") if given.get(key)]
    sides = given if isinstance(given, list) else [given]
    if len(set(sides)) != 1 or not isinstance(sides[0], int) or sides[0] < 1:
        raise folder.refused(f"it wants pictures of size {given}, not squares of one side", "choose another encoder")
    return sides[0]


def prepared(folder: Snapshot) -> dict[str, Any]:
    """How pictures with values from 0 to 1 are scaled and normalised."""
    processor = folder.processor()
    number = processor.get("resample", 2)
    if number not in FILTERS:
        raise folder.refused(f"it scales pictures with filter {number}, not bilinear or bicubic", "choose another")
    mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    if processor.get("do_normalize", True):
        mean, std = processor.get("image_mean") or mean, processor.get("image_std") or std
    brightest = 255 * processor.get("rescale_factor", 1 / 255) if processor.get("do_rescale", True) else 255.0
    if abs(brightest - 1) > 1e-6:  # the network wants another range than 0 to 1
        mean, std = [value / brightest for value in mean], [value / brightest for value in std]
    return {"interpolation": FILTERS[number], "mean": tuple(map(float, mean)), "std": tuple(map(float, std))}
