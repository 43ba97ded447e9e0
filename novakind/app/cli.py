"""The verbs: demo, discover, compare, search, predict, report, recut, review, export, data."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from novakind import __version__
from novakind.app import terminal
from novakind.app.again import assemble_round
from novakind.app.asked import (
    CompareOptions,
    DataOptions,
    DemoOptions,
    DiscoverOptions,
    ExportOptions,
    PredictOptions,
    RecutOptions,
    ReportOptions,
    ReviewOptions,
    SearchOptions,
)
from novakind.app.demo import run_demo
from novakind.app.discover import assemble, every_setting, run_folder, sorts_files
from novakind.app.help import COMPARE_HELP, DISCOVER_HELP, every_option, help_of, overview
from novakind.app.options import Words, build, parsed, read_words
from novakind.compare.plan import run_compare
from novakind.compare.search import run_search, tuned
from novakind.datasets.download import download_data
from novakind.errors import LostError, UserError
from novakind.results.export import export
from novakind.results.onnx import to_onnx
from novakind.results.predict import predict_items
from novakind.results.report import draw_again, draw_report
from novakind.results.review.serve import serve
from novakind.results.watch import watch_items
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery
from novakind.runs.recut import recut
from novakind.runs.rounds import next_folder, said
from novakind.settings import Setting, settings_of
from novakind.training.distributed import is_first, joined, launched
from novakind.training.memory import keep_memory


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
    rest = others(words, DiscoverOptions)
    if options.after:
        source, config, decisions = assemble_round(plain[0], options.after, options.preset, rest, parsed)
        path = options.out or next_folder(options.after, decisions)
    else:
        source, config = assemble(plain[0], options.preset, rest, parsed)
        path, decisions = options.out or run_folder(source), None
    with joined():
        done = complete(source, config, path, options.fresh, options.quiet, draw=draw_report, decisions=decisions)
    if not is_first():
        return
    results = done.results
    shown = done.collection.before or done.collection
    display = shown.modality.display(lambda item: shown.items[item])
    print(Discovery.load(path).table(text=getattr(display, "text", None)))
    print()
    if options.after:
        print(said(results["round"]["changed"], str(options.after)))
    for name, value in results["metrics"].items():
        kind, split, protocol = name.split("/")
        if kind.endswith("_acc") and protocol == "agnostic" and (split != "val" or kind == "known_acc"):
            what = {"known_acc": "known classes recognised", "novel_acc": "new categories right"}[kind]
            where = {"train": "items trained on", "val": "validation items", "test": tested(results["split"])}[split]
            print(f"{what + ', ' + where:54} {100 * value:5.1f} %   {name}")
    print(f"look at it: {path / 'report.html'}  (opens in a browser)")
    ending = "" if sorts_files(source) else ".csv"  # what is no file cannot be sorted into folders
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
    chosen = tuned(options.tuned)
    board = run_compare(source, config, options.methods, options.seeds, out, typed, options.quiet, chosen)
    print(board.text())
    print(f"\n{out / 'compare.md'}, with compare.csv, compare.svg and curves.svg beside it")
    if board.failed:
        cell, reason = next(iter(board.failed.items()))
        print(
            f"novakind: {len(board.failed)} of {len(board.cells)} runs failed, the first {cell}: {reason}",
            file=sys.stderr,
        )
    return 1 if board.failed else 0


def search(plain: list[str], words: Words) -> None:
    keep_memory()
    options: SearchOptions = build(SearchOptions, words.options)
    source, config = assemble(plain[0], options.preset, others(words, SearchOptions), parsed)
    out = options.out or run_folder(source, "search-").with_suffix(".json")
    typed = shlex.join(["novakind", "search", *words.typed])
    for name, one in run_search(source, config, options.methods, out, typed, options.quiet)["methods"].items():
        print(f"{name:12} {', '.join(f'{key} {value}' for key, value in one['chosen'].items()) or 'as it is'}")
    print(f"{out}; use it with novakind compare ... --tuned {out}")


def predict(plain: list[str], words: Words) -> None:
    options: PredictOptions = build(PredictOptions, words.options)
    items = [Path(item) for item in plain[1:]]
    if options.watch:
        watch_items(Path(plain[0]), items, options.out)
    with joined():
        predict_items(Path(plain[0]), items, options.out, options.readers)


def report(plain: list[str], words: Words) -> None:
    print(draw_again(Path(plain[0])))


def recut_run(plain: list[str], words: Words) -> None:
    options: RecutOptions = build(RecutOptions, words.options)
    if not options.novel:
        raise UserError("recut needs a number of new categories: give --novel 7")
    print(recut(plain[0], options.novel).table())
    run = shlex.quote(plain[0])
    print(f"look at it: novakind review {run}, where it can be undone; novakind report {run} draws the page again")


def review(plain: list[str], words: Words) -> None:
    options: ReviewOptions = build(ReviewOptions, words.options)
    serve(Path(plain[0]), options.host, options.port, options.open)


def export_run(plain: list[str], words: Words) -> None:
    options: ExportOptions = build(ExportOptions, words.options)
    if options.out is None:
        raise UserError("export needs a place to write to: give --out sorted for folders, or --out result.csv")
    if options.to == "onnx" or (options.to == "auto" and options.out.suffix.lower() == ".onnx"):
        print(to_onnx(Path(plain[0]), options.out))
        return
    print(export(Path(plain[0]), options.out, options.to, options.link, options.everything, options.spreadsheet))


def data(plain: list[str], words: Words) -> None:
    download_data(plain[0], build(DataOptions, words.options).data_root)


VERBS = {
    "demo": Verb(DemoOptions, "", demo),
    "discover": Verb(DiscoverOptions, "DATA", discover, is_training=True),
    "compare": Verb(CompareOptions, "DATA", compare, is_training=True),
    "search": Verb(SearchOptions, "DATA", search, is_training=True),
    "predict": Verb(PredictOptions, "RUN ITEM...", predict),
    "report": Verb(ReportOptions, "RUN", report),
    "recut": Verb(RecutOptions, "RUN", recut_run),
    "review": Verb(ReviewOptions, "RUN", review),
    "export": Verb(ExportOptions, "RUN", export_run),
    "data": Verb(DataOptions, "NAME", data),
}
TOGETHER = ("discover", "predict")  # verbs that several processes do together
SHORT = {"discover": DISCOVER_HELP, "compare": COMPARE_HELP}


def main(arguments: list[str] | None = None) -> int:
    """Run a verb; 0 for success, 1 for a comparison with gaps, 2 for a mistake that can be mended, 130 after Ctrl-C."""
    terminal.prepare()
    try:
        code = answer(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except UserError as error:
        if is_first() or isinstance(error, LostError):
            print(f"novakind: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        terminal.silence()
        return 0
    except (OSError, MemoryError) as error:
        print(f"novakind: {terminal.sentence(error)}", file=sys.stderr)
        terminal.silence()
        return 2


def answer(words: list[str]) -> int:
    """Help where it is asked for, else what the verb does."""
    if not words or words[0] in ("-h", "--help"):
        print(overview({name: verb.options for name, verb in VERBS.items()}))
        return 0
    if words[0] == "--version":
        print(f"novakind {__version__}")
        return 0
    if words[0] not in VERBS:
        raise UserError(f'"{words[0]}" is no command: choose from {", ".join(VERBS)}')
    name, verb, rest = words[0], VERBS[words[0]], words[1:]
    if {"-h", "--help", "--help-all"} & set(rest) or (not rest and verb.plain):
        short = SHORT.get(name) if "--help-all" not in rest else every_option(name, verb.options)
        print(short or help_of(name, verb.plain, verb.options))
        return 0 if rest else 2
    terminal.check_names()
    typed = read_words(rest, verb.known())
    check_plain(name, verb, typed.plain)
    if launched() and name not in TOGETHER:
        raise UserError(f"novakind {name} runs in one process: leave torchrun out, it is for {' and '.join(TOGETHER)}")
    return verb.act(typed.plain, typed) or 0


def check_plain(name: str, verb: Verb, plain: list[str]) -> None:
    """Refuse more or fewer words than the verb takes."""
    wanted = verb.plain.split()
    if len(plain) < len(wanted):
        raise UserError(f"{name} needs {wanted[len(plain)].rstrip('.')}: write novakind {name} {verb.plain}")
    if len(plain) > len(wanted) and not verb.plain.endswith("..."):
        raise UserError(f"{name} does not know what {plain[len(wanted)]} means: write novakind {name} {verb.plain}")


if __name__ == "__main__":
    sys.exit(main())
