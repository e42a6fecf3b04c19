"""Joins of sliding windows by nested loops, one row at a time (Golab & Özsu 2003).

    arrival.py        rows, and the order in which they arrive
    window.py         windows of time, as one list or as hash buckets
    count_window.py   windows of the last rows
    conditions.py     what belongs together: equal values, or any relation
    compute.py        the nested loops, the same for all
    drive.py          when they run: at every arrival, or every so often; and when rows expire
    algorithms.py     the paper's algorithms, put together from these

They are for reading, for counting what the paper counts, and for checking faster kernels: no batches, no
arrays, nothing compiled.
"""
