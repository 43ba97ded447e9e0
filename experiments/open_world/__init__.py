"""What is found where nothing is known: the number of novel classes, known ones among the unlabeled, shares.

python -m experiments.open_world runs what is not finished and writes experiments/results/open_world/. What development
saw, and the table did not, stands in `cases`.
"""
