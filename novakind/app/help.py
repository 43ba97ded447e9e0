"""The short help of the verbs that have more settings than a screen has lines."""

from __future__ import annotations

from novakind.compare.plan import DEFAULT_METHODS, choices

DISCOVER_HELP = """\
novakind discover DATA --novel N [options]

Finds N new categories among unlabeled items, next to known classes.

DATA is one of
  a folder        one sub-folder for each known class, everything else in a sub-folder named unlabeled;
                  pictures, videos, or recordings of sensors as CSV files
  a .csv file     columns path and label; an empty label is an unlabeled item
  an .npz file    arrays X (vectors, pictures or series) and y (-1 = unlabeled)
  a name          digits, cifar10, fashion-mnist, mobiact, usc-had or shar, all labeled, for benchmarks;
                  novakind data brings cifar10 and fashion-mnist

The options that matter most
  --novel 5            how many new categories to look for
  --prior 1/2,1/4,1/4  their shares, if you know them; by default all are equally large
  --preset glyphs      for digits, letters and symbols, which must not be mirrored
  --window 3s          cut recordings into windows of this length (with --hop 1.5s, --rate 50)
  --no-motion          for videos that are told apart by what they show; by default what moves in them counts
  --out runs/photos    where to write; by default runs/ and the name of the data
  --epochs 50          longer or shorter training; by default chosen by the amount of data
  --seed 1             another, equally valid run
  --truth truth.csv    what the unlabeled items really are (path, label): scored, never trained on
  --fresh              begin anew in a folder that holds an earlier run

It writes a folder with report.html to look at, predictions.csv, and the model. The same command goes on with a run that
was interrupted. Then: novakind export runs/photos --to folders --out sorted

novakind discover --help-all lists every setting."""

COMPARE_HELP = f"""\
novakind compare DATA --known N [options]

Runs several methods on the same data, with the same network, views and budget, and writes one table and two pictures.
The data are those of novakind discover, with a truth to score against.

The options that matter most
  --known 5            labeled data: the first five classes stay labeled, the others are hidden and looked for
  --truth truth.csv    or, with --novel 5: what the unlabeled items really are (path, label); scored, never trained on
  --methods ours,uno   which methods, by default {DEFAULT_METHODS}
  --seeds 3            how often each: with the seeds 0, 1 and 2
  --epochs 50          the budget of each run in passes over the unlabeled items,
  --minutes 10         or in minutes; by default epochs are chosen by the amount of data
  --test 0.2           score on items kept aside; without a test part, on the unlabeled items trained on
  --preset glyphs      for digits, letters and symbols, which must not be mirrored
  --out FOLDER         where to write; by default runs/compare- and the name of the data

The methods are {", ".join(choices())}.

It writes compare.csv, compare.md, compare.svg and curves.svg (scores over time) after every run, and each run into
FOLDER/method/seed. The same command goes on with a comparison that was interrupted. If a run fails the others go on,
and the exit code is 1.

novakind compare --help-all lists every setting."""
