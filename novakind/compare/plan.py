"""compare: every method on the same data, with the same encoder, views and budget; one table, two pictures.

Each method with each seed has its own run folder, a cell. What is finished stays finished: the same command continues
after an interruption, and other settings start a cell again from the beginning.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from novakind import encoders
from novakind.compare import curves
from novakind.compare.board import Cell, Scoreboard
from novakind.config import Config, as_tables
from novakind.data.source import Source
from novakind.datasets.gather import gather, placed
from novakind.disk import UnwritableError, make_folder, remove, write_atomic
from novakind.errors import UserError
from novakind.methods import METHODS
from novakind.progress import Reporter
from novakind.runs import record
from novakind.runs.complete import complete, early_checks
from novakind.runs.folder import FILES, Run, essence
from novakind.settings import change, first_change
from novakind.structure import misfit_table
from novakind.training.loop import budget_of

DEFAULT_METHODS = "ours,uno,supervised,kmeans"
VARIANTS: dict[str, dict[str, Any]] = {"ours-linear": {"method": "ours", "head": "linear"}}
UNTRAINED = ("kmeans",)
ASKED = ".asked.json"  # hidden, so that a folder which holds nothing else still counts as empty
CELL = "cell.json"
ANSWER: dict[str, Any] = {"asked": dict[str, Any], "metrics": dict[str, float], "minutes": float, "warnings": list[str]}


@dataclass(frozen=True)
class Plan:
    """What is compared: the same source and settings for every cell, except its method and seed."""

    source: Source
    config: Config
    out: Path
    digests: dict[str, str]
    """Of the items, and of the true classes, which the scores depend on."""
    tuned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What a search chose for a method, by the names of settings."""
    work: float = 0.0
    """What each cell may spend, in 10^12 operations; 0 where minutes are given."""
    least: int = 0
    """The epochs that ours takes for it, which no cell goes below: heads alone would use up the work of a small net."""

    def settings(self, cell: Cell) -> Config:
        config = replace(self.config, **choices()[cell.method], seed=cell.seed)
        config = replace(config, work=self.work, epochs=self.least) if self.work else config
        for name, value in self.tuned.get(cell.method, {}).items():
            config = change(config, name, value)
        return config

    def folder(self, cell: Cell) -> Path:
        return self.out / cell.method / str(cell.seed)

    def question(self, cell: Cell) -> dict[str, Any]:
        """What defines a cell's result, in plain values: each question is answered once."""
        return {"data": asdict(self.source) | self.digests} | as_tables(self.settings(cell))


def run_compare(
    source: Source,
    config: Config,
    methods: str,
    seeds: int,
    out: Path,
    command: str,
    quiet: bool = False,
    tuned: Mapping[str, Mapping[str, Any]] | None = None,
) -> Scoreboard:
    """Run every cell that is not finished; one that fails does not stop the others."""
    names = parse_methods(methods)
    check(source, config, seeds)
    source = placed(source)
    # Seed by seed, so that all methods are in the table early.
    cells = [Cell(method, seed) for seed in range(seeds) for method in names]
    with Reporter(quiet) as report, claim(out).alone():
        board, digests, work, least = look(source, config, out / "store", cells, command, report)
        plan = Plan(source, config, out, digests, tuned or {}, work, least)
        board.finished |= {cell: found for cell in cells if (found := earlier(plan, cell))}
        publish(plan, board)
        try:
            run_cells(plan, board, report)
        except KeyboardInterrupt:
            report.say(f"stopped; what is done is saved in {out}: the same command goes on from there")
            raise
    return board


def choices() -> dict[str, dict[str, Any]]:
    """Every name that --methods accepts, with the settings that it stands for."""
    return {name: {"method": name} for name in METHODS} | VARIANTS


def parse_methods(methods: str) -> list[str]:
    """Names with commas between them, or `all`."""
    if methods.strip() == "all":
        return list(choices())
    names = [name.strip() for name in methods.split(",")]
    for number, name in enumerate(names):
        if name not in choices():
            what = f'the unknown method "{name}"' if name else "an empty name"
            raise UserError(f'--methods "{methods}" holds {what}: choose from all, {", ".join(choices())}')
        if name in names[:number]:
            raise UserError(
                f'--methods "{methods}" holds "{name}" twice, but a method is run once per seed: name it once'
            )
    return names


def check(source: Source, config: Config, seeds: int) -> None:
    """Refuse what can be refused before any file is read."""
    if seeds < 1:
        raise UserError(f"--seeds {seeds} is out of range, it must be at least 1: give --seeds 3")
    if config.method != Config.method:
        raise UserError(f"--method {config.method} names a single method: give --methods {config.method}")
    if config.seed:
        raise UserError(f"--seed {config.seed} names a single run: give --seeds 3 for the seeds 0, 1 and 2")
    if not source.data:
        raise UserError("no data are given: name a folder, a manifest, an .npz file or a data set after compare")
    if not (source.known or source.truth):
        raise UserError(
            f"the true classes of the unlabeled items of {source.data} are not known, so no method can be scored: "
            "treat classes of labeled data as novel with --known 5, or give the true classes with --truth truth.csv"
        )
    early_checks(config, source)


def claim(out: Path) -> Run:
    """Make the folder, or continue in it; one that holds other files is refused."""
    try:
        make_folder(out)
        others = any(child.name != "store" and not child.name.startswith(".") for child in out.iterdir())
    except OSError as error:
        raise UserError(f"{out} cannot be read ({error.strerror}): give another folder with --out") from None
    if others and not (out / "compare.csv").exists():
        raise UserError(f"{out} holds other files than a comparison: give a new or empty folder with --out")
    return Run(out)


def look(
    source: Source, config: Config, store: Path, cells: list[Cell], command: str, report: Reporter
) -> tuple[Scoreboard, dict[str, str], float, int]:
    """Read the data, once for all runs: an empty scoreboard, the digests, the work that each run may take, the epochs
    that it takes at least; data that cannot be scored are refused."""
    collection, split = gather(source, store, config.val, report.decoding, report.embedding)
    novel = collection.truth >= len(collection.classes)
    part = next((name for name in ("test", "train") if novel[getattr(split, name)].any()), "")
    if not part:
        raise UserError(
            f"{collection.name} has no item of a novel class, so no method can be scored: give --known or --truth"
        )
    config = replace(config, novel=config.novel or len(collection.truth_classes) - len(collection.classes))
    config = replace(config, views=config.views or source.learnt.Views())
    early_checks(config, source)
    timed = config.minutes and not config.epochs
    work, least = (0.0, 0) if timed else budget_of(collection, split, config)
    truth = hashlib.sha256(repr(collection.truth_classes).encode() + collection.truth.tobytes())
    encoder = source.published.get("name") or encoders.chosen(config.encoder, len(collection.modality.shape))
    terms = f"split: {split.by}; {budget(config, work, least)}; encoder: {encoder}; batch: {config.batch}"
    terms += f"; {changed}" if (changed := first_change(source.reading)) else ""
    digests = {"digest": collection.digest(), "truth_digest": truth.hexdigest()[:16]}
    return Scoreboard(cells, collection.name, part, terms, command), digests, work, least


def budget(config: Config, work: float, least: int) -> str:
    """What each run may spend."""
    if not work:
        return f"{config.minutes:g} minutes each"
    return f"equal work: {work:g} x 10^12 operations each, as {least} epochs of ours, and no fewer epochs than these"


def earlier(plan: Plan, cell: Cell) -> dict[str, Any] | None:
    """The answer of an earlier command to the same question."""
    found = read_json(plan.folder(cell) / CELL)
    wrong = misfit_table(found, ANSWER, {})
    return found if not wrong and is_same(found["asked"], plan.question(cell)) else None


def is_same(earlier: Any, present: dict[str, Any]) -> bool:
    """Whether two questions differ in paths at most; digests show whether the data are the same."""
    try:
        return isinstance(earlier, dict) and essence(earlier) == essence(json.loads(json.dumps(present)))
    except (AttributeError, TypeError, KeyError):  # somebody has changed its structure
        return False


def read_json(file: Path) -> dict[str, Any]:
    """The content of a file; empty where it is missing or damaged."""
    try:
        content = record.read_json(file, "")
    except UserError:
        return {}
    return content if isinstance(content, dict) else {}


def run_cells(plan: Plan, board: Scoreboard, report: Reporter) -> None:
    waiting = [cell for cell in board.cells if cell not in board.finished]
    report.say(f"{len(board.cells)} runs on {board.data}, {len(waiting)} of them to do; writing to {plan.out}")
    begun = time.monotonic()
    for number, cell in enumerate(waiting, 1):
        report.say(f"run {board.cells.index(cell) + 1} of {len(board.cells)}: {cell}")
        try:
            board.finished[cell] = run_cell(plan, cell)
            result = board.line(cell)
        except UnwritableError:  # nor can any other run be written
            raise
        except Exception as error:  # when one method fails, the others are still worth running
            board.failed[cell] = reason(error)
            result = f"failed: {board.failed[cell]}"
        left = (time.monotonic() - begun) / number * (len(waiting) - number)
        report.say(f"  {result}" + (f"; about {duration(left)} left" if number < len(waiting) else ""))
        for warning in board.finished.get(cell, {}).get("warnings", ()):
            report.say(f"  warning: {warning}")
        publish(plan, board)


def publish(plan: Plan, board: Scoreboard) -> None:
    """The table and the pictures of the results so far; curves only where the validation items can be scored."""
    board.write(plan.out)
    courses = {
        method: [curve for cell, _ in board.of(method) if (curve := curves.read(plan.folder(cell)))]
        for method in board.methods()
        if METHODS[choices()[method]["method"]].joint
    }
    courses = {method: found for method, found in courses.items() if found}
    picture = plan.out / "curves.svg"
    if courses:
        title = f"{board.data}: known and novel classes over time, validation items"
        write_atomic(picture, curves.draw(title, board.terms, courses).encode(errors="replace"))
    else:  # one from an earlier comparison would show something else
        remove(picture)


def run_cell(plan: Plan, cell: Cell) -> dict[str, Any]:
    """Run a cell, or continue it if it was started with the same question; then write its answer into its folder."""
    path, question = plan.folder(cell), plan.question(cell)
    if not is_same(read_json(path / ASKED), question):
        Run.claim(path)
        for name in (CELL, *reversed(FILES)):  # the settings last: what is left after a kill still looks like a run
            remove(path / name)
        write_json(path / ASKED, question)
    _, _, results = complete(plan.source, plan.settings(cell), path, quiet=True, store=plan.out / "store")
    answer = {key: results[key] for key in ("metrics", "minutes", "warnings")}
    if not METHODS[
        plan.settings(cell).method
    ].joint:  # no answer over all classes is defined: what we made of it is ours
        answer["metrics"] = {name: score for name, score in answer["metrics"].items() if name.endswith("/aware")}
    write_json(path / CELL, cell._asdict() | answer | {"asked": question})
    return answer


def write_json(file: Path, content: dict[str, Any]) -> None:
    write_atomic(file, json.dumps(content, indent=1).encode())


def reason(error: Exception) -> str:
    """What went wrong, in one line."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    return text if isinstance(error, UserError) else f"{kind}: {text}" if text else kind


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
