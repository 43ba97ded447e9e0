"""Help: a screenful for each verb, and every setting for those who ask."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from novakind.compare.plan import DEFAULT_METHODS, choices
from novakind.config import Config
from novakind.data.source import Source
from novakind.modality import KINDS
from novakind.settings import Setting, settings_of

DISCOVER_HELP = """\
novakind discover DATA [options]

Finds new categories among unlabeled items, next to known classes.

DATA is one of
  a folder        one sub-folder per known class, everything else in a sub-folder named unlabeled;
                  pictures, videos, texts, or recordings of sensors as CSV files
  a table         a .csv, .parquet or .jsonl file, columns path and label; an empty label is an unlabeled item;
                  texts may stand in the table itself: columns text and label
  an .npz file    arrays X (vectors, pictures or series) and y (-1 = unlabeled)
  an .npy file    X alone, NAME.npy, read from disk as needed; y is NAME.labels.npy
  vectors         a .parquet, .arrow or .feather file, columns vector and label, perhaps id
  a name          digits, cifar10, fashion-mnist, clothing, mobiact, usc-had, shar, ucf101, mpsc-arl or clinc150: all
                  labeled, for benchmarks; novakind data downloads cifar10 and fashion-mnist

The options that matter most
  --novel 5            how many new categories to look for, or limits, 3-20; by default they are counted
  --prior 1/2,1/4,1/4  their shares, if you know them; by default all are equally large
  --mixed no           no unlabeled item is of a known class; by default it is estimated how many are, and
                       --known-share 0.5 tells it
  --encoder NAME       a published encoder to start from, such as efficientnet-lite2, minilm or hf:FOLDER; by default
                       photographs and texts have one, if it is installed; convnet learns pictures from scratch
  --tune partly        train its last layers too, or with whole all of it; by default it stays as it is
  --preset glyphs      for digits, letters and symbols, which must not be mirrored
  --window 3s          cut recordings into windows of this length (with --hop 1.5s, --rate 50)
  --no-motion          for videos that are told apart by what they show; by default what moves in them counts
  --out runs/photos    where to write; by default runs/ and the name of the data
  --epochs 50          longer or shorter training; by default chosen by the amount of data
  --seed 1             another, equally valid run
  --truth truth.csv    what the unlabeled items really are (path or text, label): scored, never trained on
  --after runs/photos  go on from that run and from what you decided in novakind review runs/photos
  --fresh              begin anew in a folder that holds an earlier run

It writes a folder with report.html to look at, predictions.csv, and the model. The same command goes on with a run that
was interrupted. Then: novakind export runs/photos --out sorted

novakind discover --help-all lists every setting."""

COMPARE_HELP = f"""\
novakind compare DATA --known N [options]

Runs several methods on the same data, with the same network and equal work, and writes one table and two pictures.
The data are those of novakind discover, with a truth to score against.

The options that matter most
  --known 5            labeled data: the first five classes stay labeled, the others become novel and are looked for
  --truth truth.csv    or, with --novel 5: what the unlabeled items really are (path, label); scored, never trained on
  --methods ours,uno   which methods, by default {DEFAULT_METHODS}
  --seeds 3            how often each: with the seeds 0, 1 and 2
  --epochs 50          the budget of each run: the operations that so many epochs of ours take; by default chosen by
                       the amount of data
  --minutes 10         or a budget in minutes, which depends on what else the machine does
  --tuned FILE         what novakind search chose for each method
  --test 0.2           score on test items; without a test part, on the unlabeled items trained on
  --preset glyphs      for digits, letters and symbols, which must not be mirrored
  --out FOLDER         where to write; by default runs/compare- and the name of the data

The methods are {", ".join(choices())}.

It writes compare.csv, compare.md, compare.svg and curves.svg (scores over time) after every run, and each run into
FOLDER/method/seed. The same command goes on with a comparison that was interrupted. If a run fails the others go on,
and the exit code is 1.

novakind compare --help-all lists every setting."""


def overview(verbs: Mapping[str, type]) -> str:
    """One line per verb."""
    lines = [f"  {verb:10} {(options.__doc__ or '').splitlines()[0]}" for verb, options in verbs.items()]
    return "\n".join(
        [
            "novakind finds the new kinds in half-labeled data.",
            "",
            *lines,
            "",
            "Begin with: novakind demo",
            "Then:       novakind discover photos",
            "Options:    novakind discover --help",
        ]
    )


def help_of(name: str, plain: str, options: type) -> str:
    """What a verb does and all that it takes."""
    head = " ".join(["novakind", name, *plain.split(), *(["[options]"] if settings_of(options) else [])])
    return "\n".join([head, "", (options.__doc__ or "").strip(), *section("Options", settings_of(options))])


def every_option(name: str, options: type) -> str:
    """Every setting of a run, by what it belongs to."""
    lines = [f"novakind {name} DATA [options]", *section("Options", settings_of(options))]
    lines += section("Data", {name: one for name, one in settings_of(Source).items() if name != "data"})
    for kind in KINDS.values():
        both = {**settings_of(kind.Reading), **settings_of(kind.Views, "views.")}
        lines += section(f"For {kind.noun}; presets: {', '.join(kind.presets)}", both)
    lines += section("Training", settings_of(Config))
    return "\n".join(lines)


def section(title: str, settings: Mapping[str, Setting]) -> list[str]:
    lines = ["", title] if settings else []
    for setting in settings.values():
        rule = "|".join(setting.choices) or (str(setting.range) if setting.range else "")
        default = f"default {setting.default}" if setting.default not in (None, "") else ""
        facts = "; ".join(filter(None, (rule, default)))
        lines.append(f"  {setting.option}" + (f"  ({facts})" if facts else ""))
        lines += textwrap.wrap(setting.doc, 112, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return lines
