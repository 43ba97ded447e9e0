"""Rounds: a run that goes on from another and from what a person made of it: what it learns from, starts with, changes.

Nothing that a person decided is overturned: confirmed items keep their category whatever the model says, what was
kept out of a category stays out, categories keep their numbers, and none are merged but by a person.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn
from torch.nn.functional import normalize

from novakind.config import Config
from novakind.data.collection import Collection
from novakind.data.decided import Decisions
from novakind.data.manifest import IGNORED
from novakind.data.paths import in_files, root_of
from novakind.data.split import Split
from novakind.datasets import is_named
from novakind.errors import UserError
from novakind.model import Model, load_model, predict
from novakind.objective.heads import JoinedHead, PrototypeHead
from novakind.runs.carried import Carried
from novakind.runs.discovery import Discovery
from novakind.runs.folder import DECISIONS, Run
from novakind.runs.record import read_results
from novakind.runs.reviewed import STATUS, Reviewed
from novakind.runs.taught import accepted, typical

FLOOR = 0.5  # items that each living category is taken to have at least, when shares are counted
LINEAR = "flat"  # the encoder of vectors, of which a linear map alone is learnt
SAMPLE = 200  # items whose contents are compared with those of the earlier run


def decisions_of(path: Path, looked_for: int | None = None) -> Decisions:
    """What a run found and a person decided, as it stands now; `looked_for` open categories, by default those that
    nobody has named."""
    run, found = Run(path), Discovery.load(path)
    source, results = run.source(), read_results(path)
    assert found.review is not None
    state = found.review.state
    seen = state.snapshot()
    into = [
        one if alive else -1 if root in (None, one) else root
        for one, (alive, root) in enumerate(zip(seen.alive, seen.into, strict=True))
    ]
    status = [STATUS[one] for one in seen.status]
    items = dict(zip(found.paths, zip(seen.category.tolist(), status, found.splits, strict=True), strict=True))
    if (path / DECISIONS).exists():  # what left in an earlier round stays away
        gone = Decisions.read(path / DECISIONS).items
        items = {key: facts for key, facts in gone.items() if facts[1] == IGNORED} | items
    decisions = Decisions(
        after=str(path.resolve()),
        number=results.get("round", {}).get("number", 1) + 1,
        root=str(root_of(Path(source.data)).resolve()) if source_in_files(source) else "",
        names=distinct(state, into),
        known=found.known,
        into=tuple(into),
        named=seen.named,
        different=tuple(sorted(seen.different)),
        items=items,
        taught=tuple(found.paths[item] for item in accepted(state)),
        barred=tuple((found.paths[item], number) for item, number in sorted(seen.rejected)),
    )
    have = len(decisions.open_ones())
    if looked_for is not None and looked_for < have:
        raise UserError(
            f"--novel {looked_for} is less than the {have} open categories of {path}, and a round closes none: "
            "merge some in a review first, or leave it out"
        )
    if looked_for is not None and looked_for > have:
        return decisions.with_more(looked_for - have)
    if run.settings()["encoder"] == LINEAR:
        taught = sorted({*accepted(state), *typical(found)})
        return replace(decisions, taught=tuple(found.paths[item] for item in taught))
    return decisions


def source_in_files(source: Any) -> bool:
    return not is_named(source.data, source.root) and in_files(Path(source.data))


def distinct(state: Reviewed, into: list[int]) -> tuple[str, ...]:
    """A name for each number: those of categories that are no more give way to the living."""
    living = [name for name, to, number in zip(state.names, into, itertools.count(), strict=False) if to == number]
    names: list[str] = []
    for number, name in enumerate(state.names):
        if into[number] != number:
            name = name or f"category {number}"
            while name in living or name in names:
                name += " (merged)"
        names.append(name)
    return tuple(names)


def next_folder(after: Path, decisions: Decisions) -> Path:
    """NAME-2 after NAME, NAME-3 after NAME-2, ...: the first that is free, or that holds this very round."""
    name = after.name.removesuffix(f"-{decisions.number - 1}") if decisions.number > 2 else after.name
    for number in itertools.count(decisions.number):
        folder = after.with_name(f"{name}-{number}")
        if not folder.exists() or ((folder / DECISIONS).exists() and Decisions.read(folder / DECISIONS) == decisions):
            return folder
    raise AssertionError


def for_round(config: Config, collection: Collection, split: Split) -> Config:
    """The settings of a round: its categories, and shares as they were found among the items that nobody decided
    about."""
    decided = collection.decided
    assert decided is not None
    known, free = len(collection.classes), split.train[collection.labels[split.train] < 0]
    if not len(free):
        raise UserError(
            f"every item of {collection.name} is labeled, confirmed or in a part of a split, so nothing is left to "
            "sort: novakind export gives the files back"
        )
    if config.method != "ours":
        raise UserError(f"--method {config.method} has no further round, only ours has: give --method ours to both")
    before = decided.before[free]
    counts = np.bincount(before[before >= 0], minlength=len(decided.names)).astype(float)
    living = np.array([number == into for number, into in enumerate(decided.into)])
    counts = np.where(living, counts + FLOOR, 0)
    shares = [f"{share:.6g}" if share else "-" for share in (counts[known:] / counts[known:].sum()).tolist()]
    surprises = (collection.labels < known) & decided.confirmed & (decided.before < known)
    share = config.known_share
    if not share and surprises.any():  # there are known ones among them after all
        share = min(0.9, float(counts[:known].sum() / counts.sum()))
    novel = len(decided.names) - known
    batch = max(config.batch, 10 * novel)
    there = np.union1d(decided.before, collection.labels)
    start = "decided" if config.encoder == LINEAR and np.isin(np.flatnonzero(living), there).all() else "earlier"
    return replace(config, novel=novel, prior=",".join(shares), known_share=share, start=start, heads=1, batch=batch)


def like_before(collection: Collection, earlier: Model) -> Collection:
    """Seen as the earlier model saw it: its weights fit no other scale."""
    same = type(collection.modality) is type(earlier.modality) and collection.modality.shape == earlier.modality.shape
    return replace(collection, modality=earlier.modality) if same else collection


def carried_over(collection: Collection, earlier: Model, after: Path) -> Model:
    """The earlier model with an output for each category of this round: every category keeps its own.

    A category that a person made starts in the direction in which its items differ from the others of those that they
    were among.
    """
    decided = collection.decided
    assert decided is not None
    card = replace(earlier.card, categories=decided.names, into=decided.into, known=len(collection.classes))
    model = Model(replace(card, origin=None, reads=None), earlier.encoder)
    model.embed.load_state_dict(earlier.embed.state_dict())
    inner = earlier.head.inner if isinstance(earlier.head, JoinedHead) else earlier.head
    assert isinstance(model.head, JoinedHead)
    had = len(earlier.card.categories)
    fresh = {number: new_direction(number, collection, after) for number in range(had, len(decided.names))}
    rows = loudest(inner, earlier.card.into, had, after) if len(earlier.card.into) > had else list(range(had))
    copy_rows(model.head.inner, inner, rows, {number: row for number, row in fresh.items() if row is not None})
    return model


@torch.inference_mode()
def loudest(inner: nn.Module, into: tuple[int, ...], categories: int, after: Path) -> list[int]:
    """Of the outputs that merged into each category in training, the one that has most of its items."""
    found = Discovery.result(after)
    said = inner(torch.tensor(found.embedding)).exp().numpy()
    rows = []
    for number in range(categories):
        outputs = [one for one, to in enumerate(into) if to == number]
        rows.append(outputs[int(said[found.category == number][:, outputs].sum(0).argmax())])
    return rows


def new_direction(number: int, collection: Collection, after: Path) -> Float[np.ndarray, " dim"] | None:
    """How the items of a category that the earlier model did not have differ from the others; None without any."""
    decided = collection.decided
    assert decided is not None
    found = Discovery.result(after)
    places = {path: item for item, path in enumerate(found.paths)}
    rows = {item: places[path] for item, path in enumerate(collection.paths) if path in places}
    members = [row for item, row in rows.items() if decided.before[item] == number]
    if not members:
        return None
    around = np.isin(found.category, np.unique(found.category[members]))
    around[members] = False
    others = np.flatnonzero(around) if around.any() else np.setdiff1d(np.arange(len(found.paths)), members)
    unit = found.embedding / np.maximum(np.linalg.norm(found.embedding, axis=1, keepdims=True), 1e-12)
    return unit[members].mean(0) - (unit[others].mean(0) if len(others) else 0)


@torch.no_grad()
def copy_rows(head: nn.Module, earlier: nn.Module, rows: list[int], fresh: dict[int, np.ndarray]) -> None:
    """The first outputs as those `rows` of the earlier head were, and `fresh` directions for others."""
    if type(head) is not type(earlier):
        raise UserError("the head of the earlier run is of another kind: leave --head out")
    mine, old = head.state_dict(), earlier.state_dict()
    for name, tensor in mine.items():
        tensor[: len(rows)] = old[name][rows]
    matrix = head.prototypes if isinstance(head, PrototypeHead) else next(iter(head.parameters()))
    length = matrix[: len(rows)].norm(dim=1).mean()
    for number, direction in fresh.items():
        matrix[number] = normalize(torch.from_numpy(direction.astype(np.float32)), dim=0) * length


def check_same(collection: Collection, earlier: Model, decisions: Decisions) -> None:
    """Refuse rows that have the numbers of earlier ones and other contents."""
    if decisions.root or not all(path.isdecimal() for path in collection.paths):
        return
    found = Discovery.result(decisions.after)
    places = {path: item for item, path in enumerate(found.paths)}
    both = [(item, places[path]) for item, path in enumerate(collection.paths) if path in places]
    items, rows = np.array(both[:: max(1, len(both) // SAMPLE)]).T
    seen = predict(earlier, collection.items[items])[0]
    far = np.linalg.norm(seen - found.embedding[rows], axis=1) > 0.1 * (1e-6 + np.linalg.norm(seen, axis=1))
    if far.mean() > 0.1:
        raise UserError(
            f"{collection.name} has other rows than {decisions.after} under the same numbers, so no decision can be "
            "carried over: add new rows at the end, or give the items names"
        )


def earlier_model(decisions: Decisions) -> Model:
    return load_model(Path(decisions.after) / "model.safetensors")


def round_of(decisions: Decisions, collection: Collection, category: np.ndarray) -> dict[str, Any]:
    """What results.json says of a round: after which run, what was decided before it, and what changed."""
    decided = collection.decided
    assert decided is not None
    into = decided.into
    pairs = {(into[one], into[other]) for one, other in decisions.different}
    carried = Carried(
        decided.named,
        into,
        frozenset((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1] and min(pair) >= 0),
        frozenset((item, number) for item, numbers in decided.barred.items() for number in numbers),
        tuple(np.flatnonzero(decided.confirmed).tolist()),
    )
    facts = {"number": decisions.number, "after": decisions.after, "changed": changes(decisions, collection, category)}
    return facts | carried.written()


def changes(decisions: Decisions, collection: Collection, category: np.ndarray) -> dict[str, Any]:
    """What is other than before, for results.json: what was decided, and what the model made of it."""
    decided = collection.decided
    assert decided is not None
    free = (collection.labels < 0) | decided.taught
    was, now = decided.before[free], category[free]
    moved = Counter(zip(was[(was >= 0) & (was != now)].tolist(), now[(was >= 0) & (was != now)].tolist(), strict=True))
    status = Counter(facts[1] for facts in decisions.items.values())
    names = decided.names
    return {
        "named": [name for name, named in zip(decisions.names, decisions.named, strict=True) if named],
        "merged": sum(into not in (-1, number) for number, into in enumerate(decisions.into)),
        "confirmed": int(decided.confirmed.sum()),
        "ignored": status[IGNORED],
        "kept_out": len(decisions.barred),
        "undecided": int((was >= 0).sum()),
        "moved": sum(moved.values()),
        "moves": [[names[one], names[other], count] for (one, other), count in moved.most_common(10)],
        "new_items": int((decided.before < 0).sum()),
        "gone_items": len(decisions.items) - status[IGNORED] - int((decided.before >= 0).sum()),
    }


def said(changed: dict[str, Any], after: str) -> str:
    """The same in a few lines."""
    named = f" ({', '.join(changed['named'][:5])}{', ...' if len(changed['named']) > 5 else ''})"
    decided = {
        f"{len(changed['named'])} categories named{named if changed['named'] else ''}": len(changed["named"]),
        f"{changed['merged']} merged": changed["merged"],
        f"{changed['confirmed']} items confirmed": changed["confirmed"],
        f"{changed['ignored']} left out": changed["ignored"],
        f"{changed['kept_out']} kept out of a category": changed["kept_out"],
    }
    lines = [f"decided since {after}: {', '.join(text for text, count in decided.items() if count) or 'nothing'}"]
    largest = "; ".join(f"{count} from {one} to {other}" for one, other, count in changed["moves"][:3])
    moved = f"{changed['moved']} of {changed['undecided']} undecided items moved"
    lines.append(moved + (f": {largest}" if largest else ""))
    if changed["new_items"] or changed["gone_items"]:
        lines.append(f"{changed['new_items']} items are new, {changed['gone_items']} are gone")
    return "\n".join(lines)
