"""A join of two relations that together are larger than memory (Tao et al. 2005).

    join.py     the stages: rows arrive, memory overflows, nothing arrives, all has come
    books.py    what is where, what arrives, what tasks on disk would find
    history.py  what has been found before, so that no pair is reported twice
    merge.py    the progressive sort-merge join of runs on disk
    store.py    where rows lie: what a host has to do

Which rows leave memory and what is done in silence are policies (`optimize.progressive`): RPJ, XJoin, HMJ and
the others are this code with other policies.
"""
