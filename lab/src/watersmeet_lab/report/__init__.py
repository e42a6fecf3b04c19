"""One report for all papers: every experiment, every benchmark, one page.

papers.py       which papers there are, and what ran where
errata.py       mistakes in the papers that change a number
benchmarks.py   what is measured on Spark, and what the figures mean
machine.py      on what
page.py         the page, put together from the data files beside it
"""
