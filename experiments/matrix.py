"""Runs cells: what is finished stays finished, what fails does not stop the others, and one JSON file holds each cell.

A cell is run once for each seed, each in a run folder of its own, so that an interrupted run goes on where it was. Its
file is read, extended and written whole after every run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any

from experiments.cells import Cell
from experiments.extract import confusion, courses, embedding_map, protocol
from experiments.records import cell_file, laid_out, record_of, slug
from experiments.scales import DATA
from experiments.stamp import code_digest, commit, machine
from experiments.tables import drawn
from novakind import __version__
from novakind.compare.plan import duration, read_json, reason
from novakind.data.source import data_root
from novakind.datasets.gather import gather
from novakind.disk import write_atomic
from novakind.errors import UserError
from novakind.progress import Reporter
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery
from novakind.runs.folder import Run

KEY = ".key"  # with a dot, so that a folder which holds nothing else still counts as empty
KINDS = ("known", "novel")
HEAVY = ("state.pt", "embeddings.npz")  # not needed once a run is over: the model gives the embeddings again


@dataclass
class Matrix:
    """The cells of a scale: where their files and their run folders are."""

    scale: str
    results: Path
    runs: Path
    report: Reporter = field(default_factory=lambda: Reporter(quiet=True))
    quiet: bool = True
    """Whether the epochs of a run go unreported."""
    keep_old: bool = False
    """Whether a number that older code has measured still counts as finished."""
    missing: dict[str, str] = field(default_factory=dict)
    """Data sets that were looked for: "" for one that is here, else why not."""

    def __post_init__(self) -> None:
        self.mapped = drawn("map", self.scale)

    def file(self, cell: Cell) -> Path:
        return cell_file(self.results, cell)

    def folder(self, cell: Cell, seed: int) -> Path:
        return self.runs / self.scale / slug(cell.title) / cell.id / str(seed)

    def finished(self, cell: Cell, seed: int) -> bool:
        """Whether this run is there, made with the same settings and, unless older ones may stay, by the same code."""
        run = record_of(self.results, cell).get("runs", {}).get(str(seed), {})
        complete = "metrics" in run and (seed > 0 or cell not in self.mapped or "map" in run)
        return complete and (self.keep_old or run["code"] == code_digest())

    def run(self, cells: Mapping[Cell, int], seeds: int) -> int:
        """Run what is not finished, seed by seed, so that every table is complete early; tells how many runs failed.

        `cells` gives the most seeds that each is to have.
        """
        asked = [(cell, seed) for seed in range(seeds) for cell, most in cells.items() if seed < most]
        waiting = [each for each in asked if not self.finished(*each)]
        self.report.say(f"scale {self.scale}: {len(asked)} runs, {len(asked) - len(waiting)} of them finished")
        waiting = [each for each in waiting if self.is_here(each[0])]
        taken: dict[str, list[float]] = {}
        failures = 0
        for number, (cell, seed) in enumerate(waiting, 1):
            self.report.say(f"run {number} of {len(waiting)}: {cell.question}, seed {seed} ({cell.id})")
            begun = time.monotonic()
            try:
                run = self.run_one(cell, seed)
                said = ", ".join(f"{kind} {100 * run['metrics'][f'{kind}_acc/test/agnostic']:.1f} %" for kind in KINDS)
            except Exception as error:  # whatever befalls one cell, the others are still worth running
                failures += 1
                run = {"failed": self.without_places(reason(error)), "code": code_digest(), "commit": commit()}
                said = f"failed: {run['failed']}"
            self.keep(cell, seed, run)
            taken.setdefault(cost(cell), []).append(time.monotonic() - begun)
            left = time_left((cell for cell, _ in waiting[number:]), taken)
            self.report.say(
                f"  {said}; {duration(taken[cost(cell)][-1])}" + (f"; about {duration(left)} left" if left else "")
            )
        return failures

    def is_here(self, cell: Cell) -> bool:
        """Whether the data set can be read on this machine, complete; each is looked at once."""
        if cell.data not in self.missing:
            source, config = cell.settings()
            try:
                collection, _ = gather(source, self.store(cell), config.val, self.report.decoding)
                there, wanted = len(collection.truth_classes), DATA[cell.data].count
                self.missing[cell.data] = "" if there == wanted else f"{there} classes are here, {wanted} are needed"
            except UserError as error:
                self.missing[cell.data] = str(error)
            if self.missing[cell.data]:
                self.report.say(f"{cell.data} is not run here: {self.missing[cell.data]}")
        return not self.missing[cell.data]

    def store(self, cell: Cell) -> Path:
        return self.runs / self.scale / "stores" / slug(cell.data)

    def run_one(self, cell: Cell, seed: int) -> dict[str, Any]:
        """Train, or go on training, and take out of the run folder all that tables and pictures need."""
        source, config = cell.settings()
        folder, key = self.folder(cell, seed), cell.key(code_digest())
        mark = folder / KEY
        if not mark.exists() or mark.read_text() != key:  # begun with another question, or by other code
            mark.unlink(missing_ok=True)
            Run.claim(folder).clear()
            mark.write_text(key)
        collection, split, results = complete(
            source, replace(config, seed=seed), folder, quiet=self.quiet, store=self.store(cell)
        )
        found = Discovery.load(folder)
        losses = courses(folder)
        run = {
            "code": code_digest(),
            "commit": commit(),
            "version": __version__,
            "machine": machine(),
            "minutes": results["minutes"],
            "epochs": max(map(len, losses.values()), default=0),
            "protocol": protocol(collection, split),
            "metrics": {name: round(value, 5) for name, value in results["metrics"].items()},
            "warnings": results["warnings"],
            "confusion": confusion(found),
            "losses": losses,
            "kl_weight": config.objective.kl,
        }
        if seed == 0 and cell in self.mapped:
            run["map"] = embedding_map(found, sphere=config.head == "prototype")
        for name in HEAVY:
            (folder / name).unlink(missing_ok=True)
        return run

    def keep(self, cell: Cell, seed: int, run: dict[str, Any]) -> None:
        """Add a run to its cell's file; runs with other settings, or by other code, do not stay beside it."""
        file = self.file(cell)
        earlier, settings = read_json(file), cell.essence()
        runs = earlier.get("runs", {}) if earlier.get("settings") == settings else {}
        runs = {name: each for name, each in runs.items() if self.keep_old or each["code"] == run["code"]}
        runs = dict(sorted((runs | {str(seed): run}).items(), key=lambda pair: int(pair[0])))
        record = {
            "cell": cell.question,
            "scale": self.scale,
            "data": cell.title,
            "settings": settings,
            "seeds": [int(name) for name, each in runs.items() if "metrics" in each],
            "runs": runs,
        }
        write_atomic(file, f"{laid_out(record)}\n".encode())

    def without_places(self, text: str) -> str:
        """What went wrong, without the names of this machine's folders."""
        for place, name in ((self.runs, "runs"), (data_root(), "the data root"), (Path.home(), "~")):
            for spelled in (str(place.resolve()), str(place)):
                text = text.replace(spelled, name) if len(spelled) > 1 else text
        return text


def cost(cell: Cell) -> str:
    """What takes about as long."""
    return f"{cell.data}; {cell.budget}"


def time_left(cells: Iterable[Cell], taken: Mapping[str, list[float]]) -> float:
    """Seconds, judged by runs on the same data, or else by what a run may take."""
    every = [seconds for kind in taken.values() for seconds in kind]
    return sum(mean(taken.get(cost(cell)) or [60 * cell.settings()[1].minutes or mean(every)]) for cell in cells)
