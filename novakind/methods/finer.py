"""Finer outputs, merged while a network learns: how large novel classes are need not be known.

Equal shares are right for no data but balanced ones, and wrong shares split large classes and join small ones. So there
are several times more outputs than categories, all equally large, and a large class gets several. Whether two of them
share a class shows when an item changes its view: the choice between two halves of one class is lost, that between two
classes survives. A running table counts which outputs the two views of an item choose; the pair whose choice survives
least, by the mutual information of its 2 x 2 part over its entropy, becomes one by adding its probabilities, so that
nothing has to be learnt anew; again and again, until as many are left as categories are looked for. From then on the
statistics of predictions are held to the masses that were found, or to given shares, the largest for the largest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from novakind.config import Config
from novakind.methods.protocol import Batch
from novakind.model import Card, Model
from novakind.objective.batch import processes, shared
from novakind.objective.heads import HEADS, JoinedHead
from novakind.objective.prior import Prior

TIMES = 3  # as many outputs as categories
BEGIN, LATEST = 0.2, 0.5  # share of the training before which no outputs merge, and at which they do at the latest
AGREE = 0.6  # of the items: so many choose one output in both views when merging begins
LASTS = 0.3  # share of the training until all are merged
MEMORY = 0.95  # of the running table, by step
SHOWN = 20  # shares that are logged
FLOOR = 0.2  # of an even share: so much each category is held to at least

LogProbs = Float[Tensor, "batch classes"]
Table = Float[Tensor, "outputs outputs"]


class Joint(NamedTuple):
    """Two outputs that became one: their first members, how much of the choice between them survived, their mass."""

    first: int
    second: int
    survives: float
    mass: float


def is_finer(config: Config) -> bool:
    """Whether a run has more outputs than categories: where it learns from scratch and shares are not taken as even."""
    random = config.method == "ours" and config.start == "random"
    return random and config.prior != "uniform" and config.novel > 1 and config.overclustering != 1


class FinerHead(nn.Module):
    """A head with more novel outputs than categories; its answers are those of the categories at any time.

    `group[i]` is the first output of the group that output i belongs to; `table` counts, over pairs of views, which
    outputs they choose together; `merged` are the merges so far, in their order.
    """

    group: Tensor
    table: Tensor
    merged: Tensor
    survived: Tensor
    began: Tensor

    def __init__(self, inner: nn.Module, prior: Prior, outputs: int, given: bool) -> None:
        super().__init__()
        self.inner, self.known, self.wanted = inner, prior.known, len(prior.novel)
        self.given = sorted(prior.novel, reverse=True) if given else None
        self.mixed = prior.mixed
        self.register_buffer("group", torch.arange(outputs))
        self.register_buffer("table", torch.full((outputs, outputs), outputs**-2.0))
        self.register_buffer("merged", torch.full((outputs, 2), -1))
        self.register_buffer("survived", torch.zeros(outputs, 2))
        self.register_buffer("began", torch.full((), torch.inf))

    def forward(self, embedding: Float[Tensor, "batch dim"]) -> LogProbs:
        return joined(self.inner(embedding), self.known, merge_down(self.table, self.group, self.wanted)[0])

    def learn(self, embedding: Float[Tensor, "batch dim"], batch: Batch) -> tuple[LogProbs, Float[Tensor, " classes"]]:
        """Count and merge; then what it says of known classes and groups, and how unlabeled items must spread."""
        logp = self.inner(embedding)
        _, first, second = batch.split(logp[:, self.known :])
        if len(first):
            self.count(first.detach(), second.detach())
            self.merge(batch.progress)
        return joined(logp, self.known, self.group), self.target()

    def target(self) -> Float[Tensor, " classes"]:
        """How unlabeled items are to spread over the known classes and the groups."""
        heads = self.group.unique()
        mass = masses(self.table, self.group)
        share = mass / mass.sum()
        if len(heads) == len(self.group):
            share = torch.full_like(share, 1 / len(share))
        elif self.given is not None and len(heads) == self.wanted:
            share = share.new_tensor(self.given)[share.argsort(descending=True).argsort()]
        else:
            share = share.clamp(min=FLOOR / len(share))
            share = share / share.sum()
        known = share.new_full((self.known,), self.mixed / max(1, self.known))
        return torch.cat([known, (1 - self.mixed) * share])

    @torch.no_grad()
    def count(self, first: Float[Tensor, "views outputs"], second: Float[Tensor, "views outputs"]) -> None:
        """Take the novel outputs of two views of each item into the table."""
        p, q = first.exp(), second.exp()
        both = p.T @ q + q.T @ p
        both = both if processes() == 1 else shared(both)
        self.table.mul_(MEMORY).add_(both / both.sum().clamp(min=1e-12), alpha=1 - MEMORY)

    @torch.no_grad()
    def merge(self, progress: float) -> None:
        """Merge as many as the progress of the training asks for."""
        outputs = len(self.group)
        if self.began.isinf() and progress >= BEGIN and (progress >= LATEST or float(self.table.trace()) >= AGREE):
            self.began.fill_(progress)
        done = min(1.0, max(0.0, (progress - float(self.began)) / LASTS))
        groups = round(outputs - (outputs - self.wanted) * done)
        made = outputs - len(self.group.unique())
        if groups >= outputs - made:
            return
        group, merges = merge_down(self.table, self.group, groups)
        for number, one in enumerate(merges, made):
            self.merged[number] = torch.tensor(one[:2])
            self.survived[number] = torch.tensor(one[2:])
        self.group.copy_(group)

    def noted(self) -> dict[str, float]:
        """How many outputs are left, how well the next pair is told apart, and the shares, the largest first."""
        group, next_pair = merge_down(self.table, self.group, self.wanted)[0], self.tree()[1 - self.wanted]
        mass = masses(self.table, group).sort(descending=True).values
        shares = {f"share/{place}": float(one / mass.sum()) for place, one in enumerate(mass[:SHOWN], 1)}
        return {"outputs": float(len(self.group.unique())), "told_apart": next_pair.survives} | shares

    def tree(self) -> list[Joint]:
        """All merges down to one: those that were made, then those that would follow."""
        made = len(self.group) - len(self.group.unique())
        past = [
            Joint(*map(int, pair), *map(float, level))
            for pair, level in zip(self.merged[:made].tolist(), self.survived[:made].tolist(), strict=True)
        ]
        return past + merge_down(self.table, self.group, 1)[1]

    def into(self) -> tuple[int, ...]:
        """The category of each output, known ones first."""
        group = merge_down(self.table, self.group, self.wanted)[0]
        return (*range(self.known), *(self.known + group.unique(return_inverse=True)[1]).tolist())


def new_finer(card: Card, config: Config, prior: Prior) -> FinerHead:
    """An untrained finer head in the place of the one that the card names."""
    outputs = (config.overclustering or TIMES) * len(prior.novel)
    inner = HEADS[card.head](card.dim, prior.known + outputs, card.tau)
    return FinerHead(inner, prior, outputs, config.prior != "auto")


def settle(model: Model) -> None:
    """Leave the categories that were found, as a head that a file can hold."""
    assert isinstance(model.head, FinerHead)
    into, tree = model.head.into(), model.head.tree()
    model.head = JoinedHead(model.head.inner, into, len(model.card.categories))
    model.head.tree = [(one.first, one.second, round(one.survives, 4), round(one.mass, 4)) for one in tree]
    model.card = replace(model.card, into=into)


def joined(logp: Float[Tensor, "batch all"], known: int, group: Int[Tensor, " outputs"]) -> LogProbs:
    """Log-probabilities of the known classes and the groups: those of its members, added up."""
    heads = group.unique()
    if len(heads) == len(group):
        return logp
    members = [known + torch.nonzero(group == head)[:, 0] for head in heads]
    columns = [logp[:, ones[0]] if len(ones) == 1 else torch.logsumexp(logp[:, ones], 1) for ones in members]
    return torch.cat([logp[:, :known], torch.stack(columns, 1)], 1)


def masses(table: Table, group: Int[Tensor, " outputs"]) -> Float[Tensor, " groups"]:
    number = group.unique(return_inverse=True)[1]
    return table.new_zeros(int(number.max()) + 1).index_add(0, number, table.sum(1))


def survival(table: Table) -> Table:
    """For each pair, how much of the choice between the two survives a change of view: 0 for none, 1 for all of it.

    The mutual information of the 2 x 2 table of that pair, over the entropy of its margin.
    """
    same, other = table.diagonal(), table
    a, d = same[:, None].expand_as(table), same[None, :].expand_as(table)
    total = (a + d + 2 * other).clamp(min=1e-12)
    a, d, b = a / total, d / total, other / total
    row = a + b
    joint = torch.xlogy(a, a) + torch.xlogy(d, d) + 2 * torch.xlogy(b, b)
    margin = torch.xlogy(row, row) + torch.xlogy(1 - row, 1 - row)
    return (joint - 2 * margin) / (-margin).clamp(min=1e-6)


def merge_down(
    table: Table, group: Int[Tensor, " outputs"], groups: int
) -> tuple[Int[Tensor, " outputs"], list[Joint]]:
    """Merge the pair that survives least until so many are left; the groups, and the merges."""
    heads, number = group.unique(return_inverse=True)
    hot = torch.nn.functional.one_hot(number, len(heads)).to(table.dtype)
    table, heads, group, made = hot.T @ table @ hot, heads.tolist(), group.clone(), []
    while len(heads) > groups:
        scores = survival(table) + torch.diag(torch.full((len(heads),), torch.inf, device=table.device))
        first, second = sorted(divmod(int(scores.argmin()), len(heads)))
        mass = float(table[[first, second]].sum())
        made.append(Joint(heads[first], heads[second], float(scores[first, second]), mass))
        group[group == heads[second]] = heads[first]
        table[first] += table[second]
        table[:, first] += table[:, second]
        left = [place for place in range(len(heads)) if place != second]
        table, heads = table[left][:, left], [heads[place] for place in left]
    return group, made
