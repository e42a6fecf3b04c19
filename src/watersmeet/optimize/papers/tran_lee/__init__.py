"""Sequences and trees of one-way joins, by the formulas of the paper (Tran & Lee 2010, Sect. 4)."""
