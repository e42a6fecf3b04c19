"""What the experiments of all papers share: claims and verdicts, charts, pages, and how they are run.

A paper is a folder beside this one with a function `paper`, which lists its experiments. An experiment is
a function that returns figures, charts of them, and claims that are held against them. `bench` runs them
one by one and writes one page, its plots and its data.
"""
