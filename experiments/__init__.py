"""The paper's tables and figures as declared data, run cell by cell: `python -m experiments table7 --scale cpu`.

paper.py              the paper's own numbers and claims
scales.py             the data sets, and how each is run at the scales smoke, cpu and paper
tables.py rows.py     tables 1-7, the figures, the supplement's settings and cases: rows x settings
exhibits.py cells.py  what a table and a cell are: a cell's settings follow from its row, data set and scale
matrix.py extract.py  run the cells that are not finished, and what is kept of a run
records.py index.py   one JSON file per cell, and the index of them
stamp.py              which code and which machine made a number
figures.py draw.py    pictures from the JSON files
write.py remarks.py   RESULTS.md from the JSON files and commentary.md; LOG.md is the lab notebook
pretrained/           what published encoders give, on pictures, photographs, texts and vectors

The other scripts here are experiments of their own, with results of their own.
"""
