"""The verbs: demo, discover, compare, predict, report, export, data."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from novakind import __version__
from novakind.app.demo import run_demo
from novakind.app.help import COMPARE_HELP, DISCOVER_HELP
from novakind.compare.plan import DEFAULT_METHODS, run_compare
from novakind.config import Config
from novakind.datasets.download import DataCommand, show_data
from novakind.datasets.source import Source, preset_for
from novakind.errors import UserError
from novakind.presets import PRESETS
from novakind.results.report import draw_report
from novakind.results.verbs import draw_again, sort_new_items, take_away
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery
from novakind.training.memory import keep_memory


@dataclass(frozen=True)
class DemoCommand:
    """See novakind at work: handwritten digits, 0-4 labeled, 5-9 found. Takes about a minute."""

    out: Path = Path("demo")
    """Where the pictures, the runs and the report go."""
    seed: int = 0
    """Another seed gives another, equally valid run."""


@dataclass(frozen=True)
class DiscoverCommand:
    """Find new categories among unlabeled items, next to known classes."""

    source: Annotated[Source, tyro.conf.arg(name="")] = field(default_factory=Source)
    config: Annotated[Config, tyro.conf.arg(name="")] = field(default_factory=Config)
    preset: Literal["auto", "default", "glyphs", "sensors", "videos", "fast", "paper"] = "auto"
    """Settings to start from: default, for photographs and vectors; glyphs: digits, letters, symbols; sensors:
    recordings; videos; fast: small photographs on CPUs; paper, the choices of the paper. auto: sensors for recordings,
    videos for videos, else default."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The run folder; by default runs/ and the name of the data."""
    fresh: bool = False
    """Begin anew, even if the run folder holds an earlier run."""
    quiet: bool = False
    """Print nothing but the result."""


@dataclass(frozen=True)
class CompareCommand:
    """Compare methods on the same data, with the same network and budget: one table."""

    source: Annotated[Source, tyro.conf.arg(name="")] = field(default_factory=Source)
    config: Annotated[Config, tyro.conf.arg(name="")] = field(default_factory=Config)
    preset: Literal["auto", "default", "glyphs", "sensors", "videos", "fast", "paper"] = "auto"
    """Settings to start from, the same for every method."""
    methods: str = DEFAULT_METHODS
    """Names of methods with commas between them, or all."""
    seeds: int = 3
    """How often each method runs: with the seeds 0, 1, ..."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Where the runs and the table go; by default runs/compare- and the name of the data."""
    quiet: bool = False
    """Print nothing but the table."""
    words: tyro.conf.Suppress[tuple[str, ...]] = ()
    """The command as it was typed, to be written under the table."""


@dataclass(frozen=True)
class PredictCommand:
    """Sort new files with a trained model: a table of path, category and probability.

    novakind predict runs/photos new_photos/ --out sorted.csv
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    items: Annotated[tyro.conf.Positional[list[Path]], tyro.conf.arg(metavar="ITEM [ITEM ...]")]
    """Files or folders of pictures, .csv or .parquet manifests with a column path, or .npz files with an array X."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """A .csv file to write; by default the table is printed."""


@dataclass(frozen=True)
class ReportCommand:
    """Write the page report.html of a run again."""

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""


@dataclass(frozen=True)
class ExportCommand:
    """Take the result away: files sorted into folders, a .csv table or .npz arrays.

    novakind export runs/photos --to folders --out sorted/
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    out: Path
    """The folder or file to write."""
    to: Literal["auto", "folders", "csv", "npz"] = "auto"
    """folders: files in one folder for each category; csv: path, label and probability; npz: arrays; auto: by the
    ending of --out."""
    link: bool = False
    """With folders: link to the files instead of copying them."""
    everything: bool = False
    """With folders: items that came with a label too."""


def show_demo(command: DemoCommand) -> None:
    run_demo(command.out, command.seed)


def show_discover(command: DiscoverCommand) -> None:
    path = command.out or Path("runs") / name_of(command.source)
    _, _, results = complete(command.source, command.config, path, command.fresh, command.quiet, draw=draw_report)
    print(Discovery.load(path).table())
    print()
    for name, value in results["metrics"].items():
        kind, split, protocol = name.split("/")
        if kind.endswith("_acc") and protocol == "agnostic" and (split != "val" or kind == "known_acc"):
            what = {"known_acc": "known classes recognised", "novel_acc": "new categories right"}[kind]
            where = {"train": "items trained on", "val": "items kept aside", "test": held_out(results["split"])}[split]
            print(f"{what + ', ' + where:54} {100 * value:5.1f} %   {name}")
    print(f"look at it:   {path / 'report.html'}  (opens in a browser)")
    print(f"take it away: novakind export {path} --out sorted")


def name_of(source: Source) -> str:
    """What a folder of results is called after."""
    data = Path(source.data)
    return data.resolve().stem if data.exists() else data.name


def show_compare(command: CompareCommand) -> int:
    out = command.out or Path("runs") / f"compare-{name_of(command.source)}"
    typed = shlex.join(["novakind", "compare", *command.words])
    board = run_compare(command.source, command.config, command.methods, command.seeds, out, typed, command.quiet)
    print(board.text())
    print(f"\n{out / 'compare.md'}, with compare.csv, compare.svg and curves.svg beside it")
    if board.failed:
        cell, reason = next(iter(board.failed.items()))
        print(
            f"novakind: {len(board.failed)} of {len(board.cells)} runs failed, the first {cell}: {reason}",
            file=sys.stderr,
        )
    return 1 if board.failed else 0


def held_out(split: str) -> str:
    """How the test items lie apart from the training items, which every number depends on."""
    return {"official": "official test items", "random": "test items at random"}.get(split, f"test items by {split}")


def show_predict(command: PredictCommand) -> None:
    sort_new_items(command.run, command.items, command.out)


def show_report(command: ReportCommand) -> None:
    print(draw_again(command.run))


def show_export(command: ExportCommand) -> None:
    print(take_away(command.run, command.out, command.to, command.link, command.everything))


COMMANDS: dict[str, tuple[type, Callable[[Any], int | None]]] = {
    "demo": (DemoCommand, show_demo),
    "discover": (DiscoverCommand, show_discover),
    "compare": (CompareCommand, show_compare),
    "predict": (PredictCommand, show_predict),
    "report": (ReportCommand, show_report),
    "export": (ExportCommand, show_export),
    "data": (DataCommand, show_data),
}
TRAINING = ("demo", "discover", "compare")


def main(arguments: list[str] | None = None) -> int:
    """Run a verb; 0 for success, 1 for a comparison with gaps, 2 for a mistake that can be mended, 130 after Ctrl-C."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0
    if words[0] == "--version":
        print(f"novakind {__version__}")
        return 0
    if words[0] not in COMMANDS:
        print(f'novakind: "{words[0]}" is no command: choose from {", ".join(COMMANDS)}', file=sys.stderr)
        return 2
    kind, act = COMMANDS[words[0]]
    if words[0] in TRAINING:
        keep_memory()
    try:
        return act(parse(kind, words[0], words[1:])) or 0
    except UserError as error:
        print(f"novakind: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0


def parse(kind: type, verb: str, words: list[str]) -> Any:
    """The words of a command as its dataclass; a preset becomes the default of all other settings."""
    default: Any = None
    if kind in (DiscoverCommand, CompareCommand):
        if not words or {"-h", "--help"} & set(words):
            print(DISCOVER_HELP if kind is DiscoverCommand else COMPARE_HELP)
            raise SystemExit(0 if words else 2)
        words = ["--help" if word == "--help-all" else word for word in words]
        preset = option(words, "--preset") or "auto"
        if preset == "auto":
            given = tyro.cli(kind, prog=f"novakind {verb}", args=words, default=kind())
            preset = preset_for(given.source)
        settings = PRESETS.get(preset, PRESETS["default"])()
        typed: dict[str, Any] = {"words": tuple(words)} if kind is CompareCommand else {}
        default = kind(config=settings, **typed)
    return tyro.cli(kind, prog=f"novakind {verb}", args=words, default=default)


def option(words: list[str], name: str) -> str | None:
    """The value of an option before the rest is parsed."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None


def overview() -> str:
    """One line a verb."""
    lines = [f"  {verb:10} {(kind.__doc__ or '').splitlines()[0]}" for verb, (kind, _) in COMMANDS.items()]
    return "\n".join(
        [
            "novakind finds the new kinds in half-labeled data.",
            "",
            *lines,
            "",
            "Begin with: novakind demo",
            "Then:       novakind discover photos --novel 5",
            "Options:    novakind discover --help",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
