"""The verbs: demo, discover, predict, report, export, data."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from novakind import __version__
from novakind.config import PRESETS, Config
from novakind.demo import run_demo
from novakind.discovery import Discovery
from novakind.errors import UserError
from novakind.fetch import DataCommand, show_data
from novakind.source import Source
from novakind.verbs import draw_again, sort_new_items, take_away
from novakind.workflow import run_discover


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
    preset: Literal["default", "glyphs", "paper"] = "default"
    """Settings to start from: default, for photographs and vectors; glyphs: digits, letters, symbols;
    paper, the choices of the paper."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The run folder; by default runs/ and the name of the data."""
    fresh: bool = False
    """Begin anew, even if the run folder holds an earlier run."""
    quiet: bool = False
    """Print nothing but the result."""


@dataclass(frozen=True)
class PredictCommand:
    """Sort new files with a trained model: a table of path, category and probability.

    novakind predict runs/photos new_photos/ --out sorted.csv
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    items: Annotated[tyro.conf.Positional[list[Path]], tyro.conf.arg(metavar="ITEM [ITEM ...]")]
    """Files or folders of pictures, .csv manifests with a column path, or .npz files with an array X."""
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
    data = Path(command.source.data)
    path = command.out or Path("runs") / (data.resolve().stem if data.exists() else data.name)
    _, _, results = run_discover(command.source, command.config, path, command.fresh, command.quiet)
    print(Discovery.load(path).table())
    print()
    for name, value in results["metrics"].items():
        kind, split, protocol = name.split("/")
        if kind.endswith("_acc") and protocol == "agnostic" and (split != "val" or kind == "known_acc"):
            what = {"known_acc": "known classes recognised", "novel_acc": "new categories right"}[kind]
            where = {"train": "items trained on", "val": "items kept aside", "test": "test items"}[split]
            print(f"{what + ', ' + where:42} {100 * value:5.1f} %   {name}")
    print(f"look at it:   {path / 'report.html'}  (opens in a browser)")
    print(f"take it away: novakind export {path} --out sorted")


def show_predict(command: PredictCommand) -> None:
    sort_new_items(command.run, command.items, command.out)


def show_report(command: ReportCommand) -> None:
    print(draw_again(command.run))


def show_export(command: ExportCommand) -> None:
    print(take_away(command.run, command.out, command.to, command.link, command.everything))


COMMANDS: dict[str, tuple[type, Callable[[Any], None]]] = {
    "demo": (DemoCommand, show_demo),
    "discover": (DiscoverCommand, show_discover),
    "predict": (PredictCommand, show_predict),
    "report": (ReportCommand, show_report),
    "export": (ExportCommand, show_export),
    "data": (DataCommand, show_data),
}


def main(arguments: list[str] | None = None) -> int:
    """Run a verb; 0 for success, 2 for a mistake that the user can mend, 130 after Ctrl-C."""
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
    try:
        act(parse(kind, words[0], words[1:]))
    except UserError as error:
        print(f"novakind: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    return 0


def parse(kind: type, verb: str, words: list[str]) -> Any:
    """The words of a command as its dataclass; a preset becomes the default of all other settings."""
    default: Any = None
    if kind is DiscoverCommand:
        if not words or {"-h", "--help"} & set(words):
            print(DISCOVER_HELP)
            raise SystemExit(0 if words else 2)
        words = ["--help" if word == "--help-all" else word for word in words]
        preset = option(words, "--preset") or "default"
        settings = PRESETS.get(preset, PRESETS["default"])()
        default = DiscoverCommand(config=settings)
    return tyro.cli(kind, prog=f"novakind {verb}", args=words, default=default)


def option(words: list[str], name: str) -> str | None:
    """The value of an option before the rest is parsed."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.removeprefix(f"{name}=")
    return None


DISCOVER_HELP = """\
novakind discover DATA --novel N [options]

Finds N new categories among unlabeled items, next to known classes.

DATA is one of
  a folder        one sub-folder for each known class, everything else in a sub-folder named unlabeled
  a .csv file     columns path and label; an empty label is an unlabeled item
  an .npz file    arrays X (vectors or pictures) and y (-1 = unlabeled)
  a name          digits, cifar10 or fashion-mnist, all labeled, for benchmarks; novakind data brings the last two

The options that matter most
  --novel 5            how many new categories to look for
  --prior 1/2,1/4,1/4  their shares, if you know them; by default all are equally large
  --preset glyphs      for digits, letters and symbols, which must not be mirrored (default: photographs, vectors)
  --out runs/photos    where to write; by default runs/ and the name of the data
  --epochs 50          longer or shorter training; by default chosen by the amount of data
  --seed 1             another, equally valid run
  --truth truth.csv    what the unlabeled items really are (path, label): scored, never trained on
  --fresh              begin anew in a folder that holds an earlier run

It writes a folder with report.html to look at, predictions.csv, and the model. The same command goes on with a run that
was interrupted. Then: novakind export runs/photos --to folders --out sorted

novakind discover --help-all lists every setting."""


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
