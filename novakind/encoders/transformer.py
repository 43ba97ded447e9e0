"""The networks of transformers: built from plain settings, with or without weights, without its bars and notes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn

from novakind.encoders.snapshot import Snapshot
from novakind.errors import UserError

# What names code, kernels or quantised weights to be loaded, and the labels of a classifier that is not used.
LEFT_OUT = ("auto_map", "attn_implementation", "experts_implementation", "quantization_config", "id2label", "label2id")
DEEPEST, MOST = 1000, 2**31  # layers of a network, and anything else: more are no network's
NEVER_USED = ("num_batches_tracked", "mask_token", "position_ids")


def need(name: str, extra: str) -> None:
    """UserError unless transformers is installed."""
    try:
        import transformers  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UserError(
            f"encoder {name} needs transformers: pip install 'novakind[{extra}]', on Python 3.11 or newer."
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """transformers without progress bars and notes, which tell of heads that we do not use; put back afterwards."""
    from transformers.utils import logging  # pyright: ignore[reportMissingImports]

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def settings(folder: Snapshot) -> dict[str, Any]:
    """The settings of a published network, with every default written out, in plain JSON."""
    from transformers import AutoConfig  # pyright: ignore[reportMissingImports]

    if not folder.table("config.json"):
        raise folder.refused(f"there is no config.json in {folder.path}", "give the folder of a model of transformers")
    with quiet():
        try:
            found = AutoConfig.from_pretrained(folder.path, trust_remote_code=False, local_files_only=True)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise folder.refused(
                f"this transformers does not know it ({first_line(error)})", "choose another, or upgrade transformers"
            ) from error
        known = plain(json.loads(found.to_json_string(use_diff=False)))
    odd = next(((key, value) for key, value in numbers(known) if value > (DEEPEST if "layer" in key else MOST)), None)
    if odd:
        raise folder.refused(f"its config.json asks for {odd[0]} = {odd[1]:.6g}", "download it again")
    return known


def numbers(config: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """All numbers, by name, also those of tables within."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from numbers(value)
        elif isinstance(value, int | float):
            yield key, value


def plain(config: dict[str, Any]) -> dict[str, Any]:
    """The settings of the network alone: nothing private, no labels, nothing that would load code."""
    return {
        key: plain(value) if isinstance(value, dict) else value
        for key, value in config.items()
        if not key.startswith("_") and key not in LEFT_OUT
    }


def unweighted(name: str, config: dict[str, Any], device: str = "cpu") -> nn.Module:
    """The network of these settings before it has learnt anything; "meta" takes no time and no memory."""
    from transformers import AutoConfig, AutoModel  # pyright: ignore[reportMissingImports]

    with quiet(), torch.device(device):
        try:
            known = AutoConfig.for_model(**plain(config))
            return AutoModel.from_config(known, trust_remote_code=False, dtype=torch.float32).eval()
        except (ValueError, KeyError, TypeError, ImportError) as error:
            raise UserError(
                f"encoder {name}: this transformers cannot build it ({first_line(error)}): choose another, or install "
                f"transformers {config.get('transformers_version', '')}."
            ) from error


def weighted(folder: Snapshot, config: dict[str, Any], unused: str) -> nn.Module:
    """The network of these settings with the folder's weights; only names that start with `unused` may be missing."""
    from transformers import AutoConfig, AutoModel  # pyright: ignore[reportMissingImports]

    folder.weights()
    with quiet():
        try:
            network, loaded = AutoModel.from_pretrained(
                folder.path,
                config=AutoConfig.for_model(**plain(config)),
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
        except (ValueError, KeyError, TypeError, ImportError, OSError, RuntimeError, SafetensorError) as error:
            raise folder.refused(f"its weights cannot be loaded ({first_line(error)})", "download it again") from error
    missing = [key for key in sorted(loaded["missing_keys"]) if not key.endswith(NEVER_USED)]
    missing = [key for key in missing if not (unused and key.startswith(unused))]
    if missing:
        raise folder.refused(
            f"{len(missing)} tensors of the network are not in its weights, {missing[0]} first", "choose a whole model"
        )
    return network.eval()


def parts(network: nn.Module) -> list[nn.Module]:
    """Embeddings, each layer or stage, the last norm: what has weights, from the first to the last."""
    found: list[nn.Module] = []
    children = list(network.children())
    if len(children) == 1 and not isinstance(children[0], nn.ModuleList):  # a shell around the network
        return parts(children[0])
    for child in children:
        if isinstance(child, nn.ModuleList):
            found += child
        elif any(isinstance(inner, nn.ModuleList) for inner in child.children()):
            found += parts(child)
        else:
            found.append(child)
    return [part for part in found if any(True for _ in part.parameters())]


def expect_names(encoder: Any, state: Mapping[str, Any], prefix: str, *_: Any) -> None:
    """A hook before weights are loaded: UserError if they carry the names of another version of transformers."""
    from transformers import __version__ as present  # pyright: ignore[reportMissingImports]

    saved = {key.removeprefix(prefix) for key in state if key.startswith(f"{prefix}body.")}
    ours = {key for key in encoder.state_dict() if key.startswith("body.")}
    wrote = encoder.origin.architecture["config"].get("transformers_version", present)
    if saved and saved != ours and wrote != present:
        raise UserError(
            f"encoder {encoder.origin.name}: its weights were saved with transformers {wrote}, and {present} names "
            f"some of them otherwise: pip install transformers=={wrote}."
        )


def first_line(error: BaseException) -> str:
    """The first sentence of what an exception says, for a sentence of ours."""
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return said.partition(". ")[0].rstrip(".")[:200]
