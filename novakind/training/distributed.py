"""Several processes, one training: torchrun starts them, DistributedDataParallel takes the mean of their gradients.

Every process draws the same global batch from the same seed and takes its part of it, so that N processes see what one
would. Sums over the batch are over all of its parts (objective/batch.py), also those of batch normalisation. The first
process writes and speaks; the others follow, and whichever ends, all end.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from novakind.data.sampler import Drawn, Sampler
from novakind.errors import LostError, UserError
from novakind.methods import Batch, Method
from novakind.model import Model
from novakind.objective.batch import processes, shared

PATIENCE = timedelta(days=1)  # while the first process reads files, the others wait
LOST = ("gloo", "Connection", "NCCL", "Socket", "recvBytes", "sendBytes", "TCPStore", "terminated")

Found = TypeVar("Found")


def launched() -> bool:
    """Whether torchrun started this process, beside others."""
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def rank() -> int:
    """The number of this process, from 0."""
    return int(os.environ["RANK"]) if launched() else 0


def is_first() -> bool:
    """Whether this is the process that writes and speaks."""
    return rank() == 0


@contextmanager
def joined() -> Iterator[None]:
    """Join the others that torchrun started, if any; when one of them is lost, this one ends with a sentence."""
    if not launched():
        yield
        return
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=PATIENCE)
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    except RuntimeError as error:
        if any(word in str(error) for word in LOST):
            raise LostError(
                f"process {rank()} of {os.environ['WORLD_SIZE']} ends because another one has ended: what is done is "
                "saved up to the last epoch, and the same command goes on from there"
            ) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
        with suppress(RuntimeError):
            dist.destroy_process_group()


def _terminated(*_: object) -> None:
    raise RuntimeError("terminated")  # by torchrun, when another process has ended


def agreed(work: Callable[[], Found]) -> Found:
    """What the work gives in this process; a mistake that any process finds is one of all of them."""
    if processes() == 1:
        return work()
    found: Any = None
    try:
        found, mistake = work(), None
    except UserError as error:
        mistake = str(error)
    mistakes: list[str | None] = [None] * processes()
    dist.all_gather_object(mistakes, mistake)
    for each in mistakes:
        if each is not None:
            raise UserError(each)
    return found


def in_turn(work: Callable[[], Found]) -> Found:
    """The work in the first process of each machine, then in the others, which find its files."""
    leads = not launched() or os.environ["LOCAL_RANK"] == "0"
    found: Any = agreed(work if leads else lambda: None)
    return agreed((lambda: found) if leads else work)


def told(work: Callable[[], Found]) -> Found:
    """What the first process finds, in all of them."""
    box: list[Any] = [agreed(work if is_first() else lambda: None)]
    if processes() > 1:
        dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
    return box[0]


class Together:
    """The checkpoints of a run for all processes: the first one reads and writes them."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def restore(self) -> dict[str, Any] | None:
        return told(self.run.restore)

    def history(self, epochs: int) -> list[dict[str, Any]]:
        return told(lambda: self.run.history(epochs))

    def log(self, line: dict[str, Any]) -> None:
        if is_first():
            self.run.log(line)

    def checkpoint(self, state: dict[str, Any]) -> None:
        if is_first():
            self.run.checkpoint(state)


def check_method(method: Method, name: str) -> None:
    """Only what is known to be exact over several processes may run in them."""
    if processes() > 1 and not method.together:
        raise UserError(f"--method {name} trains in one process: leave torchrun out, or give another --method")


def check_shares(sampler: Sampler) -> None:
    """Every process needs an item of each kind, or it would miss what the others sum up."""
    fewest = min(sampler.labeled_batch, sampler.unlabeled_batch)
    if processes() > fewest:
        raise UserError(
            f"{processes()} processes are too many for steps of {sampler.labeled_batch} labeled and "
            f"{sampler.unlabeled_batch} unlabeled items: give --nproc-per-node {fewest} or less, or a larger --batch"
        )


def share(items: Drawn) -> Drawn:
    """This process's part of a step: as many items as the others', or one more."""
    if processes() == 1:
        return items
    return Drawn(*(np.array_split(each, processes())[rank()] for each in items))


def trained(model: Model, method: Method) -> Callable[[Batch], dict[str, Tensor]]:
    """The loss of a batch, whose gradients are those of the global batch in every process."""
    if processes() == 1:
        return partial(method.loss, model)
    from torch.nn.parallel import DistributedDataParallel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a name that older versions of torch do not have
        # not all weights take part in every step: heads of novel classes do not in a stage of known ones
        return DistributedDataParallel(Loss(model, method), broadcast_buffers=False, find_unused_parameters=True)


class Loss(nn.Module):
    """A method's loss as a module."""

    def __init__(self, model: Model, method: Method) -> None:
        super().__init__()
        self.model, self.method = model, method

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        return self.method.loss(self.model, batch)


@torch.no_grad()
def alike(model: Model) -> None:
    """Give every process the first one's weights and buffers: k-means need not end alike on unlike machines."""
    if processes() > 1:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=0)


def normalised_together(model: nn.Module) -> None:
    """Let batch normalisation see the global batch; weights keep their names, so any number of processes can go on."""
    if processes() == 1:
        return
    for module in list(model.modules()):
        for name, part in module.named_children():
            if isinstance(part, nn.modules.batchnorm._BatchNorm) and not getattr(module, "sees_all", False):
                setattr(module, name, GlobalNorm(part))


class GlobalNorm(nn.Module):
    """Batch normalisation over the items of all processes; on CPUs too, which torch's SyncBatchNorm refuses."""

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, norm: Any) -> None:
        super().__init__()
        self.eps, self.momentum = norm.eps, norm.momentum
        self.weight, self.bias = norm.weight, norm.bias
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, getattr(norm, name))
        self.train(norm.training)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        rows = x.movedim(1, -1).flatten(0, -2).to(self.running_mean.dtype)
        sums = shared(torch.cat([rows.sum(0), rows.new_tensor([len(rows)])]))
        size, mean = sums[-1].detach(), sums[:-1] / sums[-1].detach()
        var = shared((rows - mean).square().sum(0)) / size
        with torch.no_grad():
            self.num_batches_tracked += 1
            share = self.momentum if self.momentum is not None else 1 / float(self.num_batches_tracked)
            self.running_mean.lerp_(mean, share)
            self.running_var.lerp_(var * size / (size - 1), share)
        scale = (var + self.eps).rsqrt() * (1 if self.weight is None else self.weight)
        per_channel = (1, -1, *(1,) * (x.ndim - 2))
        found = (x - mean.view(per_channel)) * scale.view(per_channel)  # centred first: gradients would cancel else
        return (found if self.bias is None else found + self.bias.view(per_channel)).to(x.dtype)
