"""What published encoders give, in numbers: `python -m experiments.pretrained pictures --seeds 3`.

pictures few photographs text vectors   the tables: which questions are asked of novakind
cases.py        what a question is, and how it is answered: ours through `complete`, baselines on the same vectors
baselines.py    k-means in several forms, and scores
reduced.py      parts of data sets, and made-up ones, under names of their own
mixtures.py learnt.py                   vectors that are drawn, and vectors that a supervised network has learnt
sheet.py        one JSON file per table, one Markdown file beside it; what is finished is not run again
curve.py        accuracy against the number of items, drawn

Settings are those of the presets, the same in every table: none was chosen by looking at these numbers.
"""
