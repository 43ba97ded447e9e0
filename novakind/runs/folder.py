"""The run folder: everything needed to resume, predict, report and audit. Every file is whole or absent."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from novakind.config import Config, as_tables
from novakind.data.source import Source, learnt_kind
from novakind.disk import UnwritableError, append, locked, make_folder, remove, rename, write_atomic, write_csv
from novakind.errors import UnreadableError, UserError
from novakind.given import read_whole
from novakind.modality import KINDS
from novakind.runs.record import FRESH, SMALL, damaged, read_history, read_settings, read_state
from novakind.toml import read_toml, to_toml

FILES = (
    "config.toml",
    "metrics.jsonl",
    "state.pt",
    "model.safetensors",
    "predictions.csv",
    "embeddings.npz",
    "skipped.csv",
    "results.json",
    "report.html",
    "decisions.json",
    "events.out.tfevents.novakind",
)
DECISIONS, EVENTS = FILES[-2:]  # of an earlier run, that this one goes on from; for TensorBoard


EDITS = "edits.jsonl"  # what a person decided: names, merges, moves
# places: what is there is told apart by the data's digest; and reasons
MOVABLE = {"data.data", "data.data_root", "data.truth", "data.published.why", "data.decisions"}
MOVABLE |= {"compile", "log"}  # what is learnt does not depend on them


class Run:
    """A folder that one `discover` command writes, and that the same command continues."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def claim(cls, path: Path) -> Run:
        """Make the folder, or take it up again; one that holds somebody's own files is refused."""
        run = cls(path)
        try:
            make_folder(path)
            write_atomic(path / ".writable", b"")
            remove(path / ".writable")
            others = {child.name for child in path.iterdir() if child.name != "store" and child.name[0] != "."}
        except UnwritableError as error:
            raise error.or_by("give another folder with --out") from None
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror}): give another folder with --out") from None
        if others and not run.began() and not run.is_left_over(others):
            raise UserError(f"{path} holds other files than a run: give a new or empty folder with --out")
        return run

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out of the folder."""
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.path, wait=False))
            except BlockingIOError:
                raise UserError(
                    f"another novakind is at work in {self.path}: wait for it, or give another folder with --out"
                ) from None
            yield

    def began(self) -> bool:
        """Whether the folder holds settings that `settle` wrote, not just any config.toml."""
        try:
            return b"\ndigest = " in read_whole(self.config_file, SMALL)
        except UnreadableError:
            return False

    def is_left_over(self, names: set[str]) -> bool:
        """Whether these files in it are a run's whose settings are lost."""
        return names <= {*FILES, EDITS} and bool(names & {"state.pt", "metrics.jsonl", "model.safetensors", DECISIONS})

    def clear(self) -> None:
        """Remove what a run writes, and nothing else; the store stays, for it knows by itself what is still valid.

        What a person decided is never deleted: it is set aside, since a new run has other categories.
        """
        for name in FILES:
            remove(self.path / name)
        edits = self.path / EDITS
        if edits.exists():
            free = (self.path / f"edits-{number}.jsonl" for number in itertools.count(1))
            rename(edits, next(place for place in free if not place.exists()))

    def settle(self, settings: dict[str, Any]) -> None:
        """Write down the settings; refuse to go on with a run that had others, once it has trained an epoch."""
        text = to_toml(settings)
        if (self.path / "state.pt").exists():
            if not self.config_file.exists():
                raise damaged(self.config_file, "it is gone", FRESH)
            earlier, present = essence(self.settings()), essence(read_toml(text))
            for key in {**present, **earlier}:
                if earlier.get(key) != present.get(key):
                    name = key.removeprefix("data.").removeprefix("reading.")
                    what = (
                        f"{name} = {earlier.get(key)!r}, not {present.get(key)!r}" if name != "digest" else "other data"
                    )
                    raise UserError(
                        f"{self.path} holds a run that was begun with {what}: "
                        "give another folder with --out, or --fresh to begin it anew"
                    )
        write_atomic(self.config_file, text.encode(errors="surrogateescape"))

    @property
    def config_file(self) -> Path:
        return self.path / "config.toml"

    @property
    def model_file(self) -> Path:
        return self.path / "model.safetensors"

    def settings(self) -> dict[str, Any]:
        """The settings as the run began with them."""
        if not self.config_file.exists():
            raise UserError(
                f"{self.path} is no run folder, it has no config.toml: give a folder that novakind discover wrote"
            )
        return read_settings(self.config_file)

    def source(self) -> Source:
        """Where the run's data come from."""
        settings = self.settings()
        try:
            given = {key: value for key, value in settings["data"].items() if key != "digest"}
            reading = KINDS[given["kind"]].Reading(**given.pop("reading", {}))
            if (self.path / DECISIONS).exists():
                given["decisions"] = str(self.path / DECISIONS)  # wherever the folder is now
            return Source(**given, reading=reading)
        except (KeyError, TypeError, UserError) as error:  # a setting that is gone, not known, or out of range
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"{self.config_file} was written by another version of novakind, or damaged ({reason}): "
                "use that version, or run novakind discover again with --fresh"
            ) from None

    def checkpoint(self, state: dict[str, Any]) -> None:
        """All that training needs to go on from the end of an epoch."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_atomic(self.path / "state.pt", buffer.getvalue())

    def restore(self) -> dict[str, Any] | None:
        """The last checkpoint, or None at the start."""
        return read_state(self.path / "state.pt")

    def log(self, line: dict[str, Any]) -> None:
        """Append one epoch to metrics.jsonl."""
        append(self.path / "metrics.jsonl", f"{json.dumps(line)}\n".encode())

    def history(self, epochs: int) -> list[dict[str, Any]]:
        """The first `epochs` lines of metrics.jsonl; later ones, which the checkpoint does not cover, are removed."""
        file = self.path / "metrics.jsonl"
        history = read_history(file)[:epochs]
        numbers = [line.get("epoch") for line in history if "seconds" in line]
        if numbers != list(range(1, epochs + 1)):
            raise damaged(file, f"it does not hold the {epochs} epochs that state.pt has", FRESH)
        write_atomic(file, "".join(f"{json.dumps(line)}\n" for line in history).encode())
        return history

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        write_atomic(self.path / name, json.dumps(content, indent=1).encode())

    def write_csv(self, name: str, header: list[str], rows: Iterable[Iterable[Any]]) -> None:
        write_csv(self.path / name, header, rows)


def essence(settings: dict[str, Any]) -> dict[str, Any]:
    """What tells runs apart, by dotted names; settings unknown to an older version are taken as by default."""
    data = settings.get("data", {})
    kind = KINDS.get(data.get("kind", ""))
    learnt = learnt_kind(kind.kind, data.get("published", {})) if kind else None
    default = as_tables(Config(views=learnt.Views() if learnt else None))
    default["data"] = asdict(Source()) | {"reading": asdict(kind.Reading())} if kind else {}
    complete = flatten(default) | flatten(settings)
    return {key: value for key, value in complete.items() if key not in MOVABLE}


def flatten(tables: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted names."""
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        flat |= flatten(value, f"{above}{key}.") if isinstance(value, dict) else {f"{above}{key}": value}
    return flat
