"""Model: encoder, embedding, head; self-describing in one safetensors file, without pickle."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from novakind import encoders
from novakind.encoders.front import Front, blank_of, front_from, origin_from
from novakind.encoders.width import width
from novakind.errors import UnreadableError, UserError
from novakind.given import MEGABYTE, read_whole
from novakind.modality import Modality, from_settings
from novakind.objective.heads import HEADS, JoinedHead
from novakind.rows import Items
from novakind.settings import Positive, Range
from novakind.structure import misfit_fields, misfit_table

CUSTOM = "custom"
LARGEST = 16 * 1024 * MEGABYTE  # of a file of weights
AWARE = "aware"  # in `extra`: a head of novel classes alone, whose answers are the task-aware ones


@dataclass(frozen=True)
class Card:
    """What a model is, in plain values: enough to build it again and to read its outputs."""

    encoder: str
    head: str
    dim: Annotated[int, Range(1, 65_536)]
    tau: Positive
    known: Annotated[int, Range(0, 2**31)]
    categories: tuple[str, ...]
    """Names of all K categories: the known classes, then new-1, new-2, ..."""
    modality: dict[str, Any]
    origin: dict[str, Any] | None = None
    """The published encoder that it began with."""
    reads: dict[str, Any] | None = None
    """How items are read where that encoder stays as it was, and the model sorts its vectors."""
    into: tuple[int, ...] = ()
    """The category that each output counts for, -1 for none, where outputs were merged by training or by a person; ()
    where each is its own."""
    arrays: dict[str, Any] | None = None
    """What `Discoverer.load` gives back as it was: the "classes" and their "dtype", "features" by name."""


class Model(nn.Module):
    """x -> embedding e = h(f(x)), linear without activation -> log-probabilities of K classes.

    `extra` holds whatever modules a method adds; they are trained and saved with the rest. What a user has frozen in a
    custom encoder stays as it is, the statistics of its batch normalisation too: `frozen` names it.
    """

    def __init__(self, card: Card, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.card = card
        self.modality: Modality = from_settings(card.modality)
        shape = seen_shape(self.modality)
        self.encoder: Any = encoder if encoder is not None else untrained(card, shape)
        self.frozen = frozen_parts(self.encoder)
        self.embed = nn.Linear(self.encoder.dim if encoder is None else width(encoder, shape), card.dim)
        self.head = HEADS[card.head](card.dim, len(card.into or card.categories), card.tau)
        if card.into:
            self.head = JoinedHead(self.head, card.into, len(card.categories))
        self.extra = nn.ModuleDict()
        self.__dict__["front"] = None  # not a part of what is trained, averaged and checkpointed
        for weight in self.parameters():
            if weight.ndim == 4:  # filters of pictures; for those of videos no layout is faster
                weight.data = weight.data.contiguous(memory_format=torch.channels_last)

    def train(self, mode: bool = True) -> Model:
        """As every module's, but what is frozen stays in eval mode."""
        super().train(mode)
        for name in self.frozen:
            self.get_submodule(name).training = False
        return self

    def embedding(self, x: Tensor) -> Float[Tensor, "batch dim"]:
        return self.embed(self.encoder(x))

    def forward(self, x: Tensor) -> Float[Tensor, "batch classes"]:
        return self.head(self.embedding(x))

    @torch.inference_mode()
    def aware(self, embedding: Float[np.ndarray, "items dim"]) -> Float[np.ndarray, "items novel"] | None:
        """Answers among the novel classes alone, where a method trains a head for them."""
        if AWARE not in self.extra:
            return None
        return self.extra[AWARE](torch.from_numpy(embedding).to(self.device)).cpu().numpy()

    @property
    def front(self) -> Front | None:
        """The frozen encoder before it."""
        return self.__dict__["front"]

    def put_behind(self, front: Front) -> Model:
        """Sort the vectors of a frozen encoder, which is saved with the model."""
        self.__dict__["front"] = front
        self.card = replace(self.card, origin=asdict(front.origin), reads=front.modality.settings())
        return self

    @property
    def reads(self) -> Modality:
        """How new items are read."""
        return self.front.modality if self.front else self.modality

    def look(self, rows: np.ndarray) -> np.ndarray:
        """What the model sorts: rows as they are read, or the vectors of the frozen encoder."""
        return self.front(rows) if self.front else rows

    @property
    def device(self) -> torch.device:
        return self.embed.weight.device

    def replace_encoder(self, name: str, encoder: Any) -> None:
        """Put another encoder in place of the present one, and an untrained embedding behind it."""
        device = self.device
        self.card = replace(self.card, encoder=name, origin=None)
        self.encoder, self.frozen = encoder.to(device), frozen_parts(encoder)
        self.embed = nn.Linear(encoder.dim, self.card.dim).to(device)

    def replace_head(self, name: str) -> nn.Module:
        """Put an untrained head of another kind in place of the present one."""
        self.card = replace(self.card, head=name)
        self.head = HEADS[name](self.card.dim, len(self.card.categories), self.card.tau).to(self.device)
        return self.head


def untrained(card: Card, shape: tuple[int, ...]) -> nn.Module:
    """The encoder that the card names."""
    if card.origin is not None and card.reads is None:
        return blank_of(origin_from(card.origin))
    return encoders.build(card.encoder, shape)


def seen_shape(modality: Modality) -> tuple[int, ...]:
    """The shape of one item as the encoder sees it; of a video it may see fewer frames than are stored."""
    blank = np.zeros((1, *modality.shape), modality.dtype)
    return tuple(modality.normalise(modality.collate(blank)).shape[1:])


def frozen_parts(encoder: nn.Module) -> frozenset[str]:
    """Names in the model of what was frozen: modules without a weight that learns, in eval mode, and their parts."""
    frozen: set[str] = set()
    for name, module in encoder.named_modules(prefix="encoder"):
        weights = list(module.parameters())
        if weights and not module.training and not any(weight.requires_grad for weight in weights):
            frozen |= {inner for inner, part in module.named_modules(prefix=name) if not part.training}
    return frozenset(frozen)


def predict(model: Model, rows: Items) -> tuple[Float[np.ndarray, "items dim"], Float[np.ndarray, "items classes"]]:
    """Embeddings and log-probabilities of all rows, without augmentation."""
    embeddings = np.empty((len(rows), model.card.dim), np.float32)
    logp = np.empty((len(rows), len(model.card.categories)), np.float32)
    for part, embedded, scores in answers(model, rows, np.arange(len(rows))):
        embeddings[part], logp[part] = embedded, scores
    return embeddings, logp


def embeddings_of(model: Model, rows: Items, numbers: np.ndarray) -> Float[np.ndarray, "some dim"]:
    """The embeddings of some of the rows, without a copy of those."""
    embeddings = np.empty((len(numbers), model.card.dim), np.float32)
    for part, embedded, _ in answers(model, rows, numbers):
        embeddings[part] = embedded
    return embeddings


def answers(model: Model, rows: Items, numbers: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Embeddings and log-probabilities of the rows of these numbers, some at a time, with their place among them."""
    was_training = model.training
    model.eval()
    batch = min(512, max(8, 2**25 // max(1, rows[:1].size)))  # 128 MB of numbers: videos are large
    for start in range(0, len(numbers), batch):
        part = slice(start, start + batch)
        with torch.inference_mode():
            x = model.modality.normalise(model.modality.collate(rows[numbers[part]])).to(model.device)
            embedded = torch.stack([model.embedding(face) for face in model.modality.faces(x)])
            scores = torch.stack([model.head(each) for each in embedded]).logsumexp(0) - math.log(len(embedded))
        yield part, embedded.mean(0).cpu().numpy(), scores.cpu().numpy()
    model.train(was_training)


def to_bytes(model: Model) -> bytes:
    """The weights, and the card in the file's header."""
    tensors = {
        name: tensor.contiguous() for name, tensor in model.state_dict().items() if not name.startswith("extra.")
    }
    tensors |= model.front.tensors() if model.front else {}
    return save(tensors, {"card": json.dumps(asdict(model.card))})


def load_model(path: Path, encoder: nn.Module | None = None) -> Model:
    """A model as `to_bytes` wrote it; one with a custom encoder needs that module again."""
    if not os.path.lexists(path):
        raise UserError(
            f"{path} does not exist: train first with novakind discover, or give the folder of a finished run"
        )
    card, tensors = read_file(path)
    if card.encoder == CUSTOM and encoder is None:
        raise UserError(f"{path} was trained with a custom encoder: load it with Discoverer.load(path, encoder=...)")
    try:
        model = Model(card, encoder)
        own = {name: tensor for name, tensor in tensors.items() if not name.startswith("front.")}
        model.load_state_dict(own)
        if card.origin is not None and card.reads is not None:
            front = {name: tensor for name, tensor in tensors.items() if name not in own}
            model.put_behind(front_from(card.origin, card.reads, front))
    except Exception as error:  # a card that was changed can ask for anything
        reason = " ".join(str(error).split())[:160] or type(error).__name__
        if encoder is not None:
            reason = reason.partition("Model: ")[2] or reason
            raise UserError(
                f"{path} holds other weights than this encoder ({reason}): give the one of the fit"
            ) from None
        raise damaged(path, reason) from None
    return model.eval()


def damaged(path: Path, reason: object) -> UserError:
    return UserError(f"{path} is damaged ({reason}): run the same novakind discover command again to restore it")


def read_file(path: Path) -> tuple[Card, dict[str, Tensor]]:
    """The card and the tensors, checked for structure, types, ranges and agreement before anything is built."""
    try:
        content = read_whole(path, LARGEST)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        tensors = load(content)
    except (SafetensorError, UnreadableError, ValueError, RecursionError, MemoryError) as error:
        raise damaged(path, " ".join(str(error).split())[:120] or type(error).__name__) from None
    said = header.get("__metadata__", {}).get("card")
    if said is None:
        raise UserError(f"{path} was not written by novakind: give the folder of a finished run")
    try:
        card = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"its card is no JSON: {error}") from None
    wrong = misfit_table(card, {}, {}, "its card") or misfit_fields(Card, card)
    if not wrong:
        names, known, dim = card["categories"], card["known"], card["dim"]
        embed = tensors.get("embed.weight", torch.empty(0, 0))
        checks = {
            "two categories have one name": len(set(names)) < len(names) or not names,
            "it knows more classes than it has": known > len(names),
            "its head is not known": card["head"] not in HEADS,
            "its embedding has another width than its card says": len(embed) != dim,
            "a tensor holds what is no finite number": not all(map(is_finite, tensors.values())),
        }
        wrong = next((what for what, holds in checks.items() if holds), "")
    if wrong:
        raise damaged(path, wrong)
    tuples = {key: tuple(card.get(key, ())) for key in ("categories", "into")}
    return Card(**(card | tuples)), tensors


def is_finite(tensor: Tensor) -> bool:
    """Masks of attention may be infinite, but nothing is NaN."""
    return not tensor.is_floating_point() or not bool(tensor.isnan().any())
